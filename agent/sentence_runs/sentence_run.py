"""Runs a job in words: a model chooses one act after the other, and each is checked, bounded, journalled and recorded like a step.

What the model reads of a page can only lead to an act that the sentence and its plan imply (`act_permissions`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, Field

from agent.dangers.danger_words import find_harm_in_words
from agent.dangers.press_surroundings import read_surroundings
from agent.errors import AgentError
from agent.events import TaskEnded, TaskStarted
from agent.execution.navigation_tasks import reach_screen
from agent.execution.replanning.model_replanner import choose_page_text
from agent.execution.replanning.suggested_actions import ShownPage
from agent.execution.single_actions import TASK as SINGLE_ACTION
from agent.execution.single_actions import perform_single_action
from agent.execution.task_runner import TaskRunner
from agent.inferencer import InferenceFailed, ModelInferencer
from agent.language_models.prompt_files import load_prompt, mark_page_text
from agent.locators.control_cards import NO_CARD, ControlCard, read_cards
from agent.locators.control_names import call_control
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import IndexedElement
from agent.locators.page_outline import RefNames, list_alike, outline_page, tell_places
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.page.errors import PageError, PageGone, ScriptFailed
from agent.page.page_readings import wait_for_suggestions
from agent.page.page_writes import watch_writes
from agent.sentence_runs.act_permissions import (
    ACTIONS,
    PRESSES,
    TYPED,
    ActJudgement,
    ActPermissions,
)
from agent.sentence_runs.change_evidence import ChangeEvidence, wait_for_answer
from agent.sentence_runs.held_requests import RequestHold, hold_requests
from kb_schema.run_records import EvidenceLevel, RunResult, RunStatus, StepRecord
from kb_schema.selectors import Selector
from kb_schema.sentence_plans import SentencePlan
from kb_schema.sentence_quotes import list_quotes
from web_pages.page_limits import PageRefused

SENTENCE = "sentence"
"""The task id of such a run."""
MOST_REFUSALS = 3
"""Acts that were refused or not found, one after the other, after which the run ends."""
OUTLINE_CHARACTERS = 9_000
"""Length of the outline that a model gets; about 2,500 tokens."""
OUTLINE_ROWS = 25
"""Rows of each list in it; rows with a text that the plan enters or shows are always there."""
MOST_TOLD = 12
"""Answers of the page that the model is reminded of."""
LAYER = " (dialog)"
_YES = frozenset({"yes", "y"})


class NextAct(BaseModel):
    """What a model answers."""

    kind: Literal["act", "go_to", "done", "give_up"]
    element: str | None = Field(default=None, max_length=20)
    action: str | None = Field(default=None, max_length=40)
    value: str | None = Field(default=None, max_length=2_000)
    screen: str | None = Field(default=None, max_length=200)
    why: str = Field(default="", max_length=1_000)


@dataclass(frozen=True, slots=True)
class SentenceBudget:
    """What a run may use beside its budget for the model."""

    acts: int = 40
    """Acts and answers of the model in sum."""
    seconds: float = 900.0


class _Stopped(Exception):
    """Ends the loop with a status."""

    def __init__(self, status: RunStatus, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.hint = status, reason, hint


@dataclass(slots=True)
class SentenceRun:
    """One run. `run` may be called once."""

    engine: TaskRunner
    model: ModelInferencer
    plan: SentencePlan
    permissions: ActPermissions
    budget: SentenceBudget = field(default_factory=SentenceBudget)
    page_text: bool = True
    """Whether the model gets the page's texts; False: only roles and names of controls."""
    _names: RefNames = field(default_factory=RefNames)
    _done: list[str] = field(default_factory=list)
    _answers: list[str] = field(default_factory=list)
    _steps: list[StepRecord] = field(default_factory=list)
    _cards: Mapping[int, ControlCard] = field(default_factory=dict)
    """Of the controls that are called alike, on the page that was looked at last."""
    _failed: int = 0
    _asked_for: ActJudgement | None = None
    """The last act that needs a yes."""
    _held: RequestHold = field(init=False)

    async def run(self) -> RunResult:
        """Do the job; return the result with its evidence. Raises as `TaskRunner.run_task` before the first act."""
        session, started_at, started = self.engine.session, datetime.now(UTC), time.monotonic()
        evidence = ChangeEvidence(self.plan, self.permissions.sentence)
        await self._begin()
        session.bus.tell(TaskStarted(SENTENCE, self.permissions.sentence, 0))
        seen: Sequence[str] = ()
        status, error, hint = RunStatus.UNVERIFIED, None, None
        try:
            async with hold_requests(session.page, self.permissions, lent=session.lent) as self._held:
                await perform_single_action(self.engine, "navigate", url=session.page.url)
                await self._loop(evidence, started + self.budget.seconds)
                session.end = await session.snapshot()  # the trace ends here
                with self._held.led_by_knowledge():
                    held, seen = await evidence.judge(self.engine)
            status = RunStatus.SUCCESS if held else RunStatus.UNVERIFIED
            late, asked = self._held.take(), self._asked_for
            unanswered = "" if held or asked is None or not late.may else f"a yes is needed: {asked.reason}"
            hints = [unanswered, *([] if held else seen), late.reason]
            hint = "; ".join(filter(None, hints)) or None
        except _Stopped as stop:
            status, error, hint = stop.status, stop.reason, stop.hint
        except InferenceFailed as exc:
            status, error, hint = RunStatus.FAILURE, str(exc), exc.hint
        except (AgentError, PageError) as exc:
            status, error, hint = RunStatus.FAILURE, str(exc), getattr(exc, "hint", None)
        session.bus.tell(TaskEnded(SENTENCE, status, 0))
        level = EvidenceLevel.VERIFIED if status is RunStatus.SUCCESS else EvidenceLevel.UNVERIFIED
        if self._steps and seen:
            self._steps[-1] = self._steps[-1].model_copy(
                update={"evidence": tuple(map(session.context.redact, seen))}
            )
        complete = status.complete
        return RunResult(
            run_id=session.context.run_id,
            website_id=session.website.website_id,
            task_id=SENTENCE,
            goal=session.context.redact(self.permissions.sentence),
            status=status,
            evidence=level,
            started_at=started_at,
            duration_ms=(time.monotonic() - started) * 1_000,
            steps=tuple(self._steps),
            error=None if error is None else session.context.redact(error),
            hint=None if hint is None else session.context.redact(hint),
            completion_percentage=100.0 if complete else 0.0,
            completed_steps=len(self._steps),
            total_steps=len(self._steps),
            confidence_score=1.0 if status is RunStatus.SUCCESS else 0.0,
        )

    async def _begin(self) -> None:
        """Go to the first page, and sign in as the website says if the run has the values for it."""
        if self.plan.start_screen is not None:
            result = await reach_screen(self.engine, self.plan.start_screen)
            if not result.complete:
                raise AgentError(
                    f"the first screen {self.plan.start_screen!r} was not reached: {result.error}",
                    hint=result.hint,
                )
            return
        session = self.engine.session
        await self.engine.guide.arrive()
        login = session.website.login_task_id
        if login is None or await session.signed_in() is not False or not await self._knows_account(login):
            return
        result = await self.engine.run_task(login)
        if not result.complete:
            raise AgentError(f"not signed in: {result.error}", hint=result.hint)

    async def _knows_account(self, login: str) -> bool:
        """Whether the run has the values for signing in, apart from secrets, which may be in the vault."""
        inputs = (await self.engine.session.knowledge.task(login)).io_spec.inputs
        known = self.engine.session.context.known_values()
        return all(each.name in known for each in inputs if each.required and not each.secret)

    async def _loop(self, evidence: ChangeEvidence, ends_at: float) -> None:
        """Ask and act until the model says that it is done. Raises `_Stopped`, `InferenceFailed`."""
        for number in range(self.budget.acts):
            self.engine.stop.check()
            await self._tell_held()
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                raise self._spent(f"{self.budget.seconds:g} seconds")
            shown = await self._look()
            await evidence.note_page(self.engine.session.page)
            evidence.switches.note_page(shown.index.url, shown.index)
            try:
                async with asyncio.timeout(left_s):
                    act = await self._ask(shown, self.budget.acts - number)
            except TimeoutError as exc:
                raise self._spent(f"{self.budget.seconds:g} seconds") from exc
            except InferenceFailed as exc:
                self._failed += 1
                if not exc.retriable or self._failed >= MOST_REFUSALS:
                    raise
                self._answers.append(
                    "your last answer could not be read: answer with one act in the form that is asked for"
                )
                continue
            if act.kind == "done" and not await self._tell_held():
                return
            if act.kind == "done":  # it did not know
                continue
            if act.kind == "give_up":
                raise _Stopped(RunStatus.FAILURE, f"the model gave up: {act.why or 'it said no reason'}")
            told = await (self._go_to(act) if act.kind == "go_to" else self._act(act, shown, evidence))
            if told is None:
                self._failed = 0
            else:
                self._note_refusal(told)
        raise self._spent(f"{self.budget.acts} acts")

    async def _tell_held(self) -> bool:
        """Tell the model what was held back since its last act; return whether there was something. Raises `_Stopped`."""
        judged = self._held.take()
        if not judged.may:
            self._note_refusal(await self._ask_for(judged))
        return not judged.may

    def _note_refusal(self, told: str) -> None:
        self._failed += 1
        self._answers.append(told)
        if self._failed >= MOST_REFUSALS:
            raise self._refused(told)

    def _spent(self, what: str) -> _Stopped:
        return _Stopped(
            RunStatus.FAILURE,
            f"the budget of the run is spent: {what}; {len(self._done)} acts were done",
            "look on the website what is done; PERIPLUS_MODEL_MAX_ACTS and _MAX_SECONDS set the budget",
        )

    def _refused(self, told: str) -> _Stopped:
        asked = self._asked_for
        if asked is None:
            return _Stopped(
                RunStatus.FAILURE, f"{MOST_REFUSALS} acts in a row could not be done; the last: {told}"
            )
        hint = f"if that is meant, run it again with --allow {asked.allow!r}" if asked.allow else None
        return _Stopped(RunStatus.NEEDS_PERSON, f"a yes is needed: {asked.reason}", hint)

    async def _look(self) -> ShownPage:
        session = self.engine.session
        try:
            index = await scan_page(session.page)
        except (PageGone, ScriptFailed) as exc:
            raise AgentError(f"the page does not answer: {exc}", hint="run it again") from exc
        await session.look()
        wanted = [*self.plan.entered, *self.plan.evidence, *list_quotes(self.permissions.sentence)]
        alike = [each.at for group in list_alike(index) for each in group]
        try:
            self._cards = await read_cards(session.page, index, alike)
        except (PageGone, ScriptFailed) as exc:
            raise AgentError(f"the page does not answer: {exc}", hint="run it again") from exc
        outline = outline_page(
            index, self._names, OUTLINE_CHARACTERS, rows=OUTLINE_ROWS, wanted=wanted, tells_apart=True, cards=self._cards,
            sentence=self.permissions.sentence,
        )  # fmt: skip
        return ShownPage(index, outline)

    async def _ask(self, shown: ShownPage, left: int) -> NextAct:
        session, prompt = self.engine.session, load_prompt("next_act")
        answers = "\n".join(self._answers[-MOST_TOLD:]) if self.page_text else ""
        text = prompt.render(
            sentence=self.permissions.sentence,
            plan=self.plan.describe(),
            done=mark_page_text("\n".join(self._done) or "nothing"),
            answers=mark_page_text(answers or "none"),
            screen=session.screen_id or "unknown",
            screens=", ".join(self.plan.named_screens) or "none",
            page=mark_page_text(choose_page_text(shown.outline.text, page_text=self.page_text)),
            actions=", ".join(ACTIONS),
            left=left,
        )
        return await self.model.infer_as(text, NextAct, label=prompt.label)

    async def _go_to(self, act: NextAct) -> str | None:
        """Go to a known screen; return why not, or None."""
        if act.screen not in self.plan.named_screens:
            return f"the plan does not name the screen {act.screen!r}"
        with self._held.led_by_knowledge():
            result = await reach_screen(self.engine, str(act.screen))
        return self._note(result, f"go to {act.screen}")

    async def _act(self, act: NextAct, shown: ShownPage, evidence: ChangeEvidence) -> str | None:
        """Do one act; return why it was not done, or None. Raises `_Stopped` if it is not certain whether it happened."""
        found = await self._find_target(act, shown)
        if isinstance(found, str):
            return found
        element, selector = found
        session, action = self.engine.session, act.action or ""
        presses, url = action in PRESSES, session.page.url
        changes = {}
        try:
            if presses:
                await evidence.before_press(session.page)
                changes = await evidence.controls.look(session.page, shown.index, element)
            self._held.begin(call_control(element))
            result = await perform_single_action(
                self.engine,
                action,
                selector,
                value=act.value if action in TYPED else None,
                fingerprint=PageFingerprints(shown.index).of(element.at),
            )
            if presses:
                await wait_for_answer(session.page)
            elif action == "fill" and element.role == "combobox":
                await wait_for_suggestions(session.page)
        except (AgentError, PageError) as exc:
            return f"{action}: {exc}"
        value = f" {act.value!r}" if action in TYPED else ""
        told = self._note(result, f"{action} {_describe(element)}{value}")
        if result.status is RunStatus.NEEDS_PERSON:
            raise _Stopped(RunStatus.NEEDS_PERSON, told or "a person is needed", result.hint)
        if told is None and act.value is not None and action in TYPED:
            evidence.note_entry(act.value)
        held, accepted = self._held.take(), bool(session.presses.accepted)
        if presses and told is None and (held.may or accepted):
            if accepted or element.role != "link":
                sent = accepted or bool(watch_writes(session.page).writes)
                self.permissions.note_press(
                    element, _place(shown, url), sent=sent, known=len(self._names.names)
                )
            if accepted:
                evidence.controls.note(changes)
            await evidence.after_press(session.page, accepted=accepted)
        return told if held.may else await self._ask_for(held)

    async def _find_target(self, act: NextAct, shown: ShownPage) -> tuple[IndexedElement, Selector] | str:
        """Return the element of an act and its selector, or why the act may not be done."""
        at = shown.outline.refs.get(act.element or "")
        if at is None or act.action not in ACTIONS:
            return (
                f"there is no element {act.element!r} on the page"
                if at is None
                else f"no action {act.action!r}"
            )
        session, element = self.engine.session, shown.index.elements[at]
        try:
            (choice,) = await choose_selectors(session.page, shown.index, [at], secrets=session.secret_fields)
            if choice.selector is None:
                return f"{act.element} cannot be found again"
            around = await read_surroundings(session.page, choice.selector)
            card = (await read_cards(session.page, shown.index, [at])).get(at, NO_CARD)
        except (PageGone, ScriptFailed, PageRefused) as exc:
            return f"the page does not answer: {exc}"
        if around is None:
            return f"{act.element} cannot be found again"
        judged = self.permissions.judge(
            element,
            act.action,
            act.value,
            _place(shown, session.page.url),
            around,
            card,
            int((act.element or "e0")[1:]),
        )
        if judged.may and act.action in PRESSES:
            judged = self._judge_place(element, shown)
        if not judged.may and not await self._person_says_yes(judged):
            return self._refuse(judged)
        return element, choice.selector

    def _judge_place(self, element: IndexedElement, shown: ShownPage) -> ActJudgement:
        """Return whether the control may be pressed among those of the page that are called like it."""
        name, places = call_control(element), tell_places(shown.index, self._cards)
        alike = (shown.index.elements[at] for at in places if at != element.at)
        others = [each.at for each in alike if (each.role, call_control(each)) == (element.role, name)]
        told = {
            at: self._cards.get(at, NO_CARD).texts or (places.get(at, ""),) for at in (element.at, *others)
        }
        judged = self.permissions.judge_place(name, told[element.at], [told[at] for at in others])
        harm = find_harm_in_words(name)
        if not judged.may or harm is None:
            return judged
        called = [
            call_control(each)
            for each in shown.index.interactive
            if each.at != element.at and each.role == element.role and not each.behind
        ]
        same = [each for each in called if (does := find_harm_in_words(each)) and does[0] == harm[0]]
        return self.permissions.judge_name(name, same)

    async def _ask_for(self, judged: ActJudgement) -> str:
        """Ask for a yes to what was not sent; return what the model is told: a yes counts for its next act."""
        if await self._person_says_yes(judged):
            return f"not sent, but allowed now: {judged.reason}"
        return self._refuse(judged)

    def _refuse(self, judged: ActJudgement) -> str:
        self._asked_for = judged
        return f"not done, a person's yes is needed: {judged.reason}"

    async def _person_says_yes(self, judged: ActJudgement) -> bool:
        asker = self.engine.session.context.asker
        if asker is None or not judged.allow:
            return False
        answer = await asker.ask("yes", f"{judged.reason}. Do it? (yes or no)", secret=False)
        if (answer or "").strip().casefold() not in _YES:
            return False
        self.permissions.allow(judged.allow)
        return True

    def _note(self, result: RunResult, what: str) -> str | None:
        """Keep the steps of an act; return what went wrong, or None."""
        number = len(self._done) + 1
        own = [each for each in result.steps if each.task_id == SINGLE_ACTION] or list(result.steps)
        self._steps += [
            each.model_copy(update={"step_id": f"{number}_{each.step_id}", "task_id": SENTENCE})
            for each in own
        ]
        if not result.complete:
            return f"{what}: {result.error}"
        self._done.append(what)
        return None


def _describe(element: IndexedElement) -> str:
    return f"{element.role or element.tag} {call_control(element)!r}"


def _place(shown: ShownPage, url: str) -> str:
    """Return where a control is pressed: the address, and whether it lies over the page. A button of a dialog may be called like
    the one that opened it.
    """
    layered = any(each.behind for each in shown.index.elements)
    return f"{url.partition('#')[0].partition('?')[0]}{LAYER if layered else ''}"
