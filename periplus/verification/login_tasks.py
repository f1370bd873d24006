"""Runs a login task of the knowledge base, and builds a plan of it for a generated fixture.

The actions of the task are repeated on a fresh page, where each element's locator is proven. Only proven
locators go into the fixture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError, UnknownToKnowledge
from agent.events import ActionDone, Event, OverlayDismissed, StepStarted
from agent.execution.task_runner import TaskRunner
from agent.execution.values.secret_vaults import secret_variable_name
from agent.healing.identity_check import take_sighting
from agent.page.errors import PageError
from agent.playwright_locators.expression_candidates import list_locator_candidates
from agent.playwright_locators.locator_proof import select_proven_expression, to_locator
from agent.redaction import REDACTED
from agent.session import Session
from agent.verification.page_checks import VerificationPage, execute_step, open_first_page
from agent.verification.page_checks.page_identity import read_page_identity
from kb_schema.execution_traces import element_id_of
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import Expression
from kb_schema.run_records import RunResult, RunStatus
from kb_schema.selectors import Selector
from kb_schema.verification import (
    ExecutedStep,
    ExpectedOutcome,
    PlanCheck,
    PlanStep,
    Requirement,
    RequirementStep,
    VerificationPlan,
)
from periplus.errors import UserError

_TEMPLATE = re.compile(r"\{(\w+)\}")
_PREPARING = frozenset({"focus", "hover", "scroll", "scroll_to"})
"""Preparing actions of the task runner; Playwright's own actions do this themselves."""
_AS_REQUIRED = {"type_text": "fill", "click_submit": "click"}
"""The actions as PACTS requirements name them."""


class LoginFailed(UserError):
    """Signing in failed on the site: requirements that need the login cannot be verified."""


@dataclass(slots=True, eq=False)
class LoginAction:
    """One action on the page."""

    event: ActionDone
    task_id: str
    step_id: str
    secret: str | None = None
    """The input that was typed, if it is secret."""
    aside: bool = False
    """It closed an overlay, such as a notice or an advertisement."""
    url_after: str = ""
    """The URL after the task was over; set on the last action."""


@dataclass(slots=True)
class LoginActionListener:
    """Collects the actions of a task from its events."""

    done: list[LoginAction] = field(default_factory=list)
    _at: tuple[str, str] = ("", "")

    def __call__(self, event: Event) -> None:
        """Handle an event of the bus."""
        match event:
            case StepStarted(task_id=task_id, step_id=step_id):
                self._at = (task_id, step_id)
            case ActionDone(error=None, action_type=kind) if kind not in _PREPARING:
                self.done.append(LoginAction(event, *self._at))
            case OverlayDismissed() if self.done:
                self.done[-1].aside = True


async def run_login_task(session: Session, task_id: str) -> list[LoginAction]:
    """Run the login task and return its actions. Raises `UserError` if it does not succeed."""
    doings = LoginActionListener()
    session.bus.listen(doings)
    result = await _run_task(session, task_id)
    if not result.complete:
        kind = UserError if result.status is RunStatus.NEEDS_PERSON else LoginFailed
        raise kind(
            f"the login task {task_id!r} failed: {result.error or result.status}",
            fix=result.hint or f"try it alone: periplus run {task_id}",
        )
    for each in doings.done:
        each.secret = await _find_typed_secret(session, each)
        each.url_after = session.page.url
    return doings.done


async def _run_task(session: Session, task_id: str) -> RunResult:
    """Run the task. Raises `UserError` if it is unknown, and `LoginFailed` if it cannot be run."""
    try:
        await session.knowledge.task(task_id)
    except UnknownToKnowledge as exc:
        raise UserError(f"no task or requirement {task_id!r}", fix=exc.hint) from exc
    try:
        return await TaskRunner(session).run_task(task_id, {})
    except AgentError as exc:
        raise LoginFailed(f"the login task {task_id!r} failed: {exc}", fix=exc.hint) from exc


async def _find_typed_secret(session: Session, done: LoginAction) -> str | None:
    if done.event.args.get("value") != REDACTED and done.event.args.get("text") != REDACTED:
        return None
    task = await session.knowledge.task(done.task_id)
    secret = {each.name for each in task.io_spec.inputs if each.secret}
    step = next((each for each in task.steps if each.step_id == done.step_id), None)
    named = _TEMPLATE.findall(step.action.model_dump_json()) if step is not None else []
    return next((name for name in named if name in secret), None)


def name_secret_variables(
    done: list[LoginAction], website_id: str, values: Mapping[str, str], known: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment variable each secret input is read from in a test: one that the requirements
    use already, or the one that `periplus run` reads.
    """
    found = {}
    for name in {each.secret for each in done if each.secret is not None}:
        value = values.get(name)
        same = next((told for told, own in known.items() if own == value), None)
        found[name] = same or secret_variable_name(f"{website_id}_{name}")
    return found


async def build_login_plan(
    bench: VerificationPage,
    task_id: str,
    done: Sequence[LoginAction],
    base_url: str,
    variables: Mapping[str, str],
) -> VerificationPlan | str:
    """Build the plan of a fixture, executing every step; or return why that is not possible."""
    actions = [each for each in done if isinstance(each.event.target, dict)]
    if not actions:
        return "the task did nothing on the page"
    start = urlsplit(actions[0].event.url_before).path or "/"
    intents = [_intent(each, variables) for each in actions]
    requirement = Requirement(
        req_id=_req_id(task_id), title=f"Sign in ({task_id})", url=start, steps=tuple(intents)
    )
    if (undone := await open_first_page(bench, start)) is not None:
        return undone.evidence.message
    # The last step waits for the URL after the login: otherwise the fixture would continue too early.
    end = ExpectedOutcome(kind="url", said="", value=bench.path_of(actions[-1].url_after))
    end = end.model_copy(update={"said": f"url:{end.value}"})
    steps: list[PlanStep] = []
    for index, (each, intent) in enumerate(zip(actions, intents, strict=True)):
        selector = Selector.model_validate(each.event.target)
        try:
            place = await read_page_identity(bench)
            expression, known = await _prove_login_plan(bench, selector)
            called = intent
        except (PageError, PlaywrightError, LookupError) as exc:
            return f"{intent.element}: {exc}"
        if known is not None and (known.label or known.name):
            name = known.label or known.name or ""
            called = intent.model_copy(update={"intent": name, "element": name})
        leaves = each is actions[-1] and end.value != place.path
        step = PlanStep(
            step_idx=index,
            intent=called,
            selector=selector,
            expression=expression,
            fingerprint=known,
            name=called.element,
            confidence=1.0,
            strategy="knowledge",
            page_url=place.path,
            page_title=place.title,
            page_heading=place.heading,
            password=each.secret is not None,
            checks=(PlanCheck(outcome=end, url=end.value),) if leaves else (),
        )
        executed = await execute_step(bench, step)
        if not isinstance(executed, ExecutedStep):
            return f"{intent.element}: {executed.evidence.message}"
        steps.append(step)
    return VerificationPlan(requirement=requirement, base_url=base_url, steps=tuple(steps))


async def _prove_login_plan(
    bench: VerificationPage, selector: Selector
) -> tuple[Expression, Fingerprint | None]:
    """Return the proven expression of an element, and its fingerprint."""
    page = bench.page
    rough = await select_proven_expression(page, selector, list_locator_candidates(selector, None))
    if not rough:
        return (), None
    seen = await take_sighting(page, await to_locator(page, rough).element_handle())
    if seen is None:
        return rough, None
    return await select_proven_expression(
        page, selector, list_locator_candidates(selector, seen.fingerprint)
    ) or rough, seen.fingerprint


def _intent(done: LoginAction, variables: Mapping[str, str]) -> RequirementStep:
    event = done.event
    value = event.args.get("value", event.args.get("text"))
    if done.secret is not None:
        value = f"{{secret:{variables[done.secret]}}}"
    element = str(element_id_of(event.metadata) or _words(event.target)).rpartition(".")[2]
    name = element.replace("_", " ").strip() or event.action_type
    return RequirementStep(
        intent=name,
        element=name,
        action=_AS_REQUIRED.get(event.action_type, event.action_type),
        value=None if value is None else str(value),
    )


def _words(target: object) -> str:
    """Return the accessible name of an element that the knowledge base does not name."""
    strategies = target.get("strategies", []) if isinstance(target, dict) else []
    return next((str(each["name"]) for each in strategies if each.get("name")), "")


def _req_id(task_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", task_id).lstrip("_.-")[:100] or "login"
