"""The presenter, who talks and points while the engine works.

Which segment comes next, and what belongs to it, is `agent.presenting.player`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.calls import is_idempotent
from agent.engine.companion import Companion
from agent.events import ActionDone, Event
from agent.page.acting import Pace
from agent.page.errors import PageError
from agent.page.gate import pass_gate
from agent.presenting.leading import Leads
from agent.presenting.stage import MOVE_MS
from agent.presenting.telling import Telling
from kb_schema.calls import ActionCall
from kb_schema.marks import names_of, read_marks
from kb_schema.presentation import NarrativeHook, Segment
from kb_schema.selectors import Selector
from kb_schema.tasks import Task, TaskStep

__all__ = ["Manner", "Presenter", "Telling"]

SLOWEST_KEY_S, FASTEST_KEY_S = 0.14, 0.03
"""Bounds of a human's typing; within them a field takes as long as what is said about it. An
authored speed takes the place of the fastest."""
LONGEST_TYPING_S = 8.0
"""Of one field, whatever is said meanwhile: as long at most waits a visitor who interrupts."""
POINT_TIMEOUT_S = 2.0
"""For an element to be pointed at; then the action's own gate says what is wrong."""
EARLY_WORDS = 4
"""A mark on one of the first words leaves no time to bring the pointer there."""
TYPING = frozenset({"fill", "append_text", "input_and_submit"})
FILLING = TYPING | {"select_option", "check", "uncheck", "upload_file"}
PRESSING = frozenset({"click", "double_click", "check", "uncheck"})
PREPARING = frozenset({"focus", "hover", "clear", "scroll", "scroll_to_element"})
"""What an action's own recipe may begin with (KS 4.2)."""
NEAR_PX = 6.0
UNPOINTED = frozenset({"navigate", "wait", "wait_for", "run_task", "execute_iterator"})
"""What has its word waited for before the step: nothing is pointed at."""
NOTES = ("help_text", "description", "purpose")
"""Of an element's metadata: what its author says about it."""


Repeatable = Callable[[TaskStep], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a segment's task is told."""

    silence_s: float = 3.0
    """While a field is typed into, nobody is silent for longer: what its author says about it is told, and
    where there is nothing, it is typed the faster."""
    explain_fields: bool = False
    """Something is said about every field, if there is anything to say."""
    own_words: bool = True
    """A step about which the flow says nothing is told in its own narration."""
    notes: bool = True
    """What the knowledge says of steps and fields may be told: it is in the language that is spoken."""


@dataclass(slots=True)
class _LetGo:
    """An action that was let go, and when."""

    kind: str
    at_s: float
    typing_s: float = 0.0


class Presenter(Companion):
    """Talks and points while the engine carries out a segment's task.

    Before its first step that is not repeatable a visitor's detour leaves the task at once; later it is
    kept until the task is done, which then goes without words.
    """

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._segment: Segment | None = None
        self._manner = Manner()
        self._repeatable: Repeatable = _by_its_action
        self._values: dict[str, Any] = {}
        self._begun: set[str] = set()
        self._step: TaskStep | None = None
        self._noted: set[str] = set()
        self._pointed: dict[str, float] | None = None
        self._ringed = False
        self._ahead: asyncio.Task[None] | None = None
        self._leads = Leads()
        self._let_go: _LetGo | None = None
        telling.session.bus.listen(self._learn)

    def begin(
        self,
        segment: Segment,
        values: Mapping[str, Any],
        *,
        manner: Manner | None = None,
        repeatable: Repeatable | None = None,
    ) -> None:
        """A segment's task starts. `repeatable`: how the engine judges a step."""
        self._telling.forget()
        self._segment, self._values, self._begun, self._noted = segment, dict(values), set(), set()
        self._manner, self._repeatable = manner or Manner(), repeatable or _by_its_action

    def end(self) -> None:
        """Its task is over: a detour that was kept is raised at the next safe point."""
        self._segment, self._step, self._telling.holding = None, None, False
        if self._ahead is not None:
            self._ahead.cancel()

    # -- around steps --------------------------------------------------------------------------------

    async def before_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """What belongs before the step, to its end; then what is said during it, or the step's own
        narration: it begins, then the step does. A second attempt says nothing again.

        Raises `Detoured` where nothing was done yet that cannot be done again.
        """
        segment, telling = self._segment, self._telling
        if segment is None:
            return
        await telling.safe_point()
        self._step, self._pointed = step, None
        if task.task_id == segment.task_id and step.step_id not in self._begun:
            await self._tell(segment, task, step, values)
        if step.action.canonical_type in UNPOINTED:
            await self._word(names_of(step.action, step.step_id))
        if not telling.holding and step.action.canonical_type != "run_task":
            telling.holding = not await self._repeatable(step)

    async def _tell(self, segment: Segment, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        first = not self._begun
        self._begun.add(step.step_id)
        self._values |= values
        if first:
            self._prepare(segment, task)
        await self._aside(_hooks(segment, "before", step.step_id))
        during = _hooks(segment, "during", None) if first else []
        texts = [hook.narration for hook in (*during, *_hooks(segment, "during", step.step_id))]
        if self._manner.own_words and not texts:
            texts = list(filter(None, [step.action.narration]))
        if not texts and self._manner.explain_fields and step.action.canonical_type in FILLING:
            texts = list(filter(None, [await self._note(step.action)]))
        for text in texts:
            if _early(text, step):
                await self._telling.finished()
                await self._show_beforehand(step)
            await self._telling.say(text, self._values)

    def _prepare(self, segment: Segment, task: Task) -> None:
        """Have everything this task is told with synthesised while its first words are heard."""
        texts = [hook.narration for hook in segment.narrative_hooks]
        texts += [step.action.narration for step in task.ordered_steps if step.action.narration]
        self._ahead = asyncio.create_task(self._telling.prepare(texts, self._values), name="synthesis")

    async def after_step(self, task: Task, step: TaskStep, values: Mapping[str, Any]) -> None:
        """What belongs after the step; nobody goes on while told what was done."""
        await self._ring(None)
        segment = self._segment
        if segment is not None and task.task_id == segment.task_id:
            self._values = {**self._values, **values}
            await self._aside(_hooks(segment, "after", step.step_id))

    async def _aside(self, hooks: Iterable[NarrativeHook]) -> None:
        """Say something while nothing is done."""
        for hook in hooks:
            await self._telling.say(hook.narration, self._values)
            await self._telling.finished()

    # -- around actions ------------------------------------------------------------------------------

    async def before_action(self, call: ActionCall, selector: Selector | None) -> None:
        """Bring the pointer to the element, so that a viewer sees what is about to happen; then wait for
        the word it belongs to. Raises `Detoured` as `before_step` does.
        """
        telling, stage = self._telling, self._telling.stage
        if self._segment is not None:
            await telling.safe_point()
        if call.canonical_type in TYPING:
            await self._fill_silence(call)
        names = names_of(call, None if self._step is None else self._step.step_id)
        await self._point_to(selector, names)
        await self._ring(self._pointed if call.canonical_type in FILLING else None)
        if not self._prepares(call):
            await self._word(names, lead_s=self._leads[call.canonical_type])
        self._let_go = _LetGo(call.canonical_type, telling.narrator.now)
        if stage is not None and selector is not None and call.canonical_type in PRESSING:
            await stage.press()

    def _learn(self, event: Event) -> None:
        """How long an action took to be over, once it was let go."""
        if isinstance(event, ActionDone) and self._let_go is not None:
            let_go, self._let_go = self._let_go, None
            if event.error is None:
                took_s = event.duration_ms / 1000
                begun_s = self._telling.narrator.now - took_s
                self._leads.note(
                    let_go.kind,
                    begun_s - let_go.at_s,
                    took_s - let_go.typing_s,
                    typing=let_go.kind in TYPING,
                )

    def _prepares(self, call: ActionCall) -> bool:
        """Whether this only leads up to what its step is about: nobody would see it happen on a word."""
        own = None if self._step is None else self._step.action.canonical_type
        return call.canonical_type in PREPARING and call.canonical_type != own

    async def _word(self, names: Iterable[str], *, lead_s: float = 0.0) -> None:
        """Wait until the word with one of these marks is about to be heard; a visitor is attended to
        meanwhile.
        """
        telling, names = self._telling, tuple(names)
        while not telling.hurried and (mark := telling.narrator.due(names)) is not None:
            if await telling.narrator.at(mark, lead_s=lead_s):
                return
            await telling.safe_point()

    async def _point_to(self, selector: Selector | None, names: Iterable[str]) -> None:
        telling = self._telling
        if telling.stage is None or selector is None or telling.hurried:
            return
        try:
            gated = await pass_gate(telling.session.page, selector, timeout_s=POINT_TIMEOUT_S)
            box = await gated.pointer.bounding_box()
        except (PageError, PlaywrightError):
            return  # the action's own gate will say what is wrong
        if box is None or self._points_there(dict(box)):  # type: ignore[arg-type]  # a TypedDict of floats
            return
        self._pointed = dict(box)  # type: ignore[arg-type]  # a TypedDict of floats
        left_s = telling.narrator.until(names)
        milliseconds = MOVE_MS / telling.speed
        if left_s is not None:
            milliseconds = min(milliseconds, left_s * 1000)
        await telling.stage.point_to(self._pointed, milliseconds=milliseconds)

    def _points_there(self, box: dict[str, float]) -> bool:
        """Whether the hand is on that element already: a border may have grown meanwhile."""
        there = self._pointed
        if there is None:
            return False
        sides = (("x", "width"), ("y", "height"))
        return all(abs(there[a] + there[s] / 2 - box[a] - box[s] / 2) <= NEAR_PX for a, s in sides)

    async def _ring(self, box: dict[str, float] | None) -> None:
        """Put a ring around the field that is being filled; None takes away what is there."""
        stage = self._telling.stage
        if stage is not None and (box is not None or self._ringed):
            self._ringed = box is not None
            await stage.ring(box)

    async def _show_beforehand(self, step: TaskStep) -> None:
        """Point at a step's element before the words that name it at once: the hand is there in time."""
        if not isinstance(step.action.target, str):
            return
        element = (await self._telling.session.elements()).get(step.action.target)
        if element is not None and not element.selector.parameterized:
            await self._point_to(element.selector, ())

    # -- typing --------------------------------------------------------------------------------------

    def pace(self, call: ActionCall, usual: Pace) -> Pace:
        """Type as long as is being spoken, at a human speed; never in silence for long."""
        telling = self._telling
        if telling.instant or telling.hurried or not isinstance(call.value, str) or not call.value:
            return usual
        seconds = self._typing_s(call, quiet_s=self._manner.silence_s)
        if self._let_go is not None:
            self._let_go.typing_s = seconds
        return Pace(key_delay_s=seconds / len(call.value))

    def _typing_s(self, call: ActionCall, quiet_s: float | None = None) -> float:
        """Seconds a field takes; at most `quiet_s` longer than what is being said."""
        telling, keys = self._telling, len(str(call.value))
        remaining = telling.narrator.remaining_s
        fastest = call.speed / 1000 if isinstance(call.speed, int | float) else FASTEST_KEY_S
        fastest, slowest = fastest * keys / telling.speed, SLOWEST_KEY_S * keys / telling.speed
        seconds = min(slowest, LONGEST_TYPING_S, max(fastest, remaining))
        return seconds if quiet_s is None else min(seconds, remaining + quiet_s)

    async def _fill_silence(self, call: ActionCall) -> None:
        """Say what is known of a field that takes longer to type into than anybody is speaking."""
        telling = self._telling
        if telling.instant or telling.hurried or self._segment is None or not isinstance(call.value, str):
            return
        if self._typing_s(call) - telling.narrator.remaining_s <= self._manner.silence_s:
            return
        note = await self._note(call)
        if note:
            await self._telling.say(note, self._values)

    async def _note(self, call: ActionCall) -> str:
        """What its author says about a field, once a segment: narration that was not spoken, or a note."""
        step, segment = self._step, self._segment
        if not self._manner.notes:
            return ""
        own = "" if step is None else step.action.narration or ""
        if step is not None and segment is not None and own and own not in self._noted:
            self._noted.add(own)
            if _hooks(segment, "during", step.step_id):  # they were spoken in its place
                return own
        if not isinstance(call.target, str) or call.target in self._noted:
            return ""
        element = (await self._telling.session.elements()).get(call.target)
        notes = {} if element is None else element.metadata
        self._noted.add(call.target)
        return next((note for name in NOTES if isinstance(note := notes.get(name), str) and note), "")


async def _by_its_action(step: TaskStep) -> bool:
    """Whether a step may be done again, where no engine says so."""
    return is_idempotent(step.action, None) if step.repeatable is None else step.repeatable


def _hooks(segment: Segment, when: str, step_id: str | None) -> list[NarrativeHook]:
    return [h for h in segment.narrative_hooks if h.hook_type == when and h.step_id == step_id]


def _early(text: str, step: TaskStep) -> bool:
    names = names_of(step.action, step.step_id)
    return any(name in names and at < EARLY_WORDS for name, at in read_marks(text).marks)
