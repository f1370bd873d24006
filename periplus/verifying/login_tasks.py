"""A task of the knowledge base that signs in: done by the engine, then told as a test would do it.

What the engine did is done once more on a fresh page, where each element's locator is proven: only that
goes into a generated fixture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from agent.engine.engine import Engine
from agent.events import ActionDone, Event, OverlayDismissed, StepStarted
from agent.healing.identity import sight
from agent.inputs.vaults import variable
from agent.page.errors import PageError
from agent.playwright_python.choosing import candidates
from agent.playwright_python.proving import proven, to_locator
from agent.redaction import REDACTED
from agent.session import Session
from agent.verifying.bench import Bench, execute_step
from agent.verifying.bench.places import place_of
from kb_schema.fingerprints import Fingerprint
from kb_schema.playwright_calls import Expression
from kb_schema.runs import RunStatus
from kb_schema.selectors import Selector
from kb_schema.verification import Check, ExecutedStep, Intent, Outcome, Plan, PlanStep, Requirement
from periplus.errors import UserError

_TEMPLATE = re.compile(r"\{(\w+)\}")
_PREPARING = frozenset({"focus", "hover", "scroll", "scroll_to"})
"""What the engine does before it acts; a test's own actions do so themselves."""
_AS_REQUIRED = {"type_text": "fill", "click_submit": "click"}
"""The vocabulary of requirements is PACTS's."""


class LoginFailed(UserError):
    """Signing in did not come off on the site: whoever needs it cannot be verified."""


@dataclass(slots=True, eq=False)
class Done:
    """One action on the page."""

    event: ActionDone
    task_id: str
    step_id: str
    secret: str | None = None
    """The input that was typed, where it is secret."""
    aside: bool = False
    """It closed something that was in the way: a notice, an advertisement."""
    url_after: str = ""
    """Where one was once the task was over; of the last one."""


@dataclass(slots=True)
class Doings:
    """Listens to the engine."""

    done: list[Done] = field(default_factory=list)
    _at: tuple[str, str] = ("", "")

    def __call__(self, event: Event) -> None:
        """The bus's listener."""
        match event:
            case StepStarted(task_id=task_id, step_id=step_id):
                self._at = (task_id, step_id)
            case ActionDone(error=None, action_type=kind) if kind not in _PREPARING:
                self.done.append(Done(event, *self._at))
            case OverlayDismissed() if self.done:
                self.done[-1].aside = True


async def do_task(session: Session, task_id: str) -> list[Done]:
    """Sign in. Raises `UserError` where that does not work."""
    doings = Doings()
    session.bus.listen(doings)
    result = await Engine(session).run_task(task_id, {})
    if result.status is not RunStatus.SUCCESS:
        kind = UserError if result.status is RunStatus.NEEDS_PERSON else LoginFailed
        raise kind(
            f"signing in by the task {task_id!r} does not work: {result.error or result.status}",
            fix=result.hint or f"try it alone: periplus run {task_id}",
        )
    for each in doings.done:
        each.secret = await _secret_typed(session, each)
        each.url_after = session.page.url
    return doings.done


async def _secret_typed(session: Session, done: Done) -> str | None:
    if done.event.args.get("value") != REDACTED and done.event.args.get("text") != REDACTED:
        return None
    task = await session.knowledge.task(done.task_id)
    secret = {each.name for each in task.io_spec.inputs if each.secret}
    step = next((each for each in task.steps if each.step_id == done.step_id), None)
    named = _TEMPLATE.findall(step.action.model_dump_json()) if step is not None else []
    return next((name for name in named if name in secret), None)


def secret_variables(
    done: list[Done], website_id: str, values: Mapping[str, str], known: Mapping[str, str]
) -> dict[str, str]:
    """The environment variable each secret input is read from in a test: one that the requirements read
    already, or the one in which `periplus run` looks for it.
    """
    found = {}
    for name in {each.secret for each in done if each.secret is not None}:
        value = values.get(name)
        same = next((told for told, own in known.items() if own == value), None)
        found[name] = same or variable(f"{website_id}_{name}")
    return found


async def told_as_test(
    bench: Bench, task_id: str, done: Sequence[Done], base_url: str, variables: Mapping[str, str]
) -> Plan | str:
    """The plan of a fixture, every step of which came off just now; or why there is none."""
    actions = [each for each in done if isinstance(each.event.target, dict)]
    if not actions:
        return "it did nothing on the page"
    start = urlsplit(actions[0].event.url_before).path or "/"
    intents = [_intent(each, variables) for each in actions]
    requirement = Requirement(
        req_id=_req_id(task_id), title=f"Sign in ({task_id})", url=start, steps=tuple(intents)
    )
    if (undone := await bench.start(start)) is not None:
        return undone.evidence.message
    # The last step ends where one is signed in: a fixture that does not see that goes on too early.
    end = Outcome(kind="url", said="", value=bench.path_of(actions[-1].url_after))
    end = end.model_copy(update={"said": f"url:{end.value}"})
    steps: list[PlanStep] = []
    for index, (each, intent) in enumerate(zip(actions, intents, strict=True)):
        selector = Selector.model_validate(each.event.target)
        try:
            place = await place_of(bench)
            expression, known = await _proven(bench, selector)
            called = intent
        except (PageError, PlaywrightError, LookupError) as exc:
            return f"{intent.element}: {exc}"
        if known is not None and (known.label or known.name):
            name = known.label or known.name or ""
            called = intent.model_copy(update={"intent": name, "element": name})
        leaves = each is actions[-1] and end.value != place.path
        step = PlanStep(
            step_idx=index, intent=called, selector=selector, expression=expression, fingerprint=known,
            name=called.element, confidence=1.0, strategy="knowledge", page_url=place.path,
            page_title=place.title, page_heading=place.heading, password=each.secret is not None,
            checks=(Check(outcome=end, url=end.value),) if leaves else (),
        )  # fmt: skip
        executed = await execute_step(bench, step)
        if not isinstance(executed, ExecutedStep):
            return f"{intent.element}: {executed.evidence.message}"
        steps.append(step)
    return Plan(requirement=requirement, base_url=base_url, steps=tuple(steps))


async def _proven(bench: Bench, selector: Selector) -> tuple[Expression, Fingerprint | None]:
    """How a test says it, and what is known of the element."""
    page = bench.page
    rough = await proven(page, selector, candidates(selector, None))
    if not rough:
        return (), None
    seen = await sight(page, await to_locator(page, rough).element_handle())
    if seen is None:
        return rough, None
    return await proven(page, selector, candidates(selector, seen.fingerprint)) or rough, seen.fingerprint


def _intent(done: Done, variables: Mapping[str, str]) -> Intent:
    event = done.event
    value = event.args.get("value", event.args.get("text"))
    if done.secret is not None:
        value = f"{{secret:{variables[done.secret]}}}"
    element = str((event.metadata or {}).get("element") or _words(event.target)).rpartition(".")[2]
    name = element.replace("_", " ").strip() or event.action_type
    return Intent(
        intent=name, element=name, action=_AS_REQUIRED.get(event.action_type, event.action_type),
        value=None if value is None else str(value),
    )  # fmt: skip


def _words(target: object) -> str:
    """What people call an element that the knowledge does not name."""
    strategies = target.get("strategies", []) if isinstance(target, dict) else []
    return next((str(each["name"]) for each in strategies if each.get("name")), "")


def _req_id(task_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", task_id).lstrip("_.-")[:100] or "login"
