"""The causes a failure may have. To add one, write a function that yields a `FailureCause` and decorate it.

Confidence states how often such evidence means that cause: 0.9 and above was observed on the page, 0.6 follows from
the error alone, 0.3 is a guess that is cheap to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kb_schema import action_types
from kb_schema.conditions import Authenticated, BaseCondition, OnScreen
from kb_schema.probes import ElementProbe, VerdictStatus
from kb_schema.selectors import Selector
from kb_schema.tool_answers import FailureCause, SuggestedCall
from mcp_server.document_text import condition_text
from mcp_server.failures.error_names import UNKNOWN
from mcp_server.failures.failure_case import FailureCase

CauseFinder = Callable[[FailureCase], Iterator[FailureCause]]
FINDERS: list[CauseFinder] = []

LOW_RELIABILITY = 0.7
"""Below this reliability the transition itself is a possible cause."""
ENOUGH_OBSERVATIONS = 3


def register_finder(finder: CauseFinder) -> CauseFinder:
    """Register a function that looks for a cause."""
    FINDERS.append(finder)
    return finder


@register_finder
def _already_done(case: FailureCase) -> Iterator[FailureCause]:
    conditions = () if case.task is None else case.task.already_done_when
    judged = case.judged(conditions)
    if judged and all(verdict.held for verdict in judged):
        yield FailureCause(
            cause="already_done",
            message=f"what {case.told.task_id!r} is for has happened already",
            confidence=0.95,
            evidence=tuple(f"{condition_text.describe_condition(each)} holds" for each in conditions),
            next=(SuggestedCall(tool="get_next_step", arguments=_step(case), why="go on, do not repeat it"),),
        )


@register_finder
def _signed_out(case: FailureCase) -> Iterator[FailureCause]:
    login = case.view.website.login_task_id
    entry = case.view.places.begins.get(login or "")
    at_login = case.found is not None and entry is not None and case.found.screen_id == entry
    expected_there = case.expected_screen == entry
    needs = any(isinstance(each, Authenticated) and each.expected for each in _required(case))
    told = case.error in ("session_expired", "not_authenticated")
    if expected_there or not (at_login or told or (case.signed_out and needs)):
        return
    evidence = [f"the page is {entry}"] if at_login else []
    evidence += ["the page shows that no user is signed in"] if case.signed_out else []
    evidence += [f"the error says {case.error}"] if told else []
    evidence += ["the step needs one to be signed in"] if needs else []
    call = SuggestedCall(tool="get_task_definition", arguments={"task_id": login}, why="sign in, then repeat")
    yield FailureCause(
        cause="signed_out",
        message="the user is not signed in, or no longer",
        confidence=0.95 if at_login or case.signed_out else 0.7,
        evidence=tuple(evidence),
        next=(call,) if login else (),
    )


@register_finder
def _wrong_screen(case: FailureCase) -> Iterator[FailureCause]:
    expected = case.expected_screen
    if case.found is None or expected is None or case.found.screen_id == expected:
        return
    actual = case.found.screen_id
    if actual is None:
        yield FailureCause(
            cause="unknown_screen",
            message=f"the page is no known screen, {expected!r} was expected",
            confidence=0.8,
            evidence=tuple(f"not {each.screen_id}: {each.because}" for each in case.found.candidates[:2]),
            next=(SuggestedCall(tool="find_global_recovery_paths", arguments={"screen_id": expected}),),
        )
        return
    path = {"from_screen": actual, "to_screen": expected}
    yield FailureCause(
        cause="wrong_screen",
        message=f"the page is {actual!r}, the action belongs to {expected!r}",
        confidence=0.9,
        evidence=(f"identified with confidence {case.found.confidence:.2f}",),
        next=(SuggestedCall(tool="find_path", arguments=path, why="get there, then repeat"),),
    )


@register_finder
def _precondition(case: FailureCase) -> Iterator[FailureCause]:
    conditions = [each for each in _required(case) if not isinstance(each, Authenticated | OnScreen)]
    for condition, verdict in zip(conditions, case.judged(conditions), strict=False):
        if verdict.status is not VerdictStatus.NOT_HELD:
            continue
        fix = condition.remediation_task_id
        call = SuggestedCall(tool="get_task_definition", arguments={"task_id": fix}, why="makes it hold")
        yield FailureCause(
            cause="precondition",
            message=f"what must hold first does not: {condition_text.describe_condition(condition)}",
            confidence=0.9 if condition.hard_dependency else 0.75,
            evidence=(verdict.evidence,) if verdict.evidence else (),
            next=(call,) if fix else (),
        )


@register_finder
def _element(case: FailureCase) -> Iterator[FailureCause]:
    """What the page shows of the element: missing, several, hidden, disabled."""
    wrong_place = case.found is not None and case.expected_screen not in (None, case.found.screen_id)
    if case.selector is None or wrong_place:
        return
    answer = case.looked_up(case.selector)
    if answer is None:
        return
    name = case.element_id or condition_text.describe_selector(case.selector)
    if answer.present == 0:
        yield _missing(case, case.selector, name)
    elif answer.visible == 0:
        yield _cause_on_page(case, "element_hidden", f"{name!r} is on the page but cannot be seen", 0.85)
    elif answer.visible > 1:
        many = f"{answer.visible} visible elements fit {name!r}"
        yield _cause_on_page(case, "element_not_unique", many, 0.85)
    elif answer.enabled is False:
        yield _cause_on_page(
            case, "element_disabled", f"{name!r} is disabled: something is missing before it", 0.9
        )


def _missing(case: FailureCase, selector: Selector, name: str) -> FailureCause:
    tried = []
    for strategy in selector.ordered:
        alone = Selector(strategies=(strategy,), frame=selector.frame)
        found = case.ask(ElementProbe(selector=alone))
        count = "cannot be told" if found is None else f"{found.present} found"
        tried.append(f"{condition_text.describe_selector(alone)}: {count}")
    arguments = {"screen_id": case.expected_screen or case.screen_id, "detail": "full"}
    return FailureCause(
        cause="element_missing",
        message=f"nothing on the page fits {name!r}: the page has changed, or is not ready",
        confidence=0.9,
        evidence=tuple(tried),
        next=(
            SuggestedCall(tool="get_screen", arguments=arguments, why="what the element looked like"),
            SuggestedCall(tool="propose_change", why="once it is found in another way, with the run's id"),
        ),
    )


def _cause_on_page(case: FailureCase, cause: str, message: str, confidence: float) -> FailureCause:
    arguments = {"error": cause} | ({"screen_id": case.screen_id} if case.screen_id else {})
    call = SuggestedCall(tool="get_error_recovery_strategy", arguments=arguments)
    return FailureCause(
        cause=cause, message=message, confidence=confidence, next=(call,) if _known(case, cause) else ()
    )


@register_finder
def _overlay(case: FailureCase) -> Iterator[FailureCause]:
    """Overlays that the website is known to show."""
    overlays = case.view.website.overlays
    told = case.error == "element_covered"
    for overlay in overlays:
        verdict = next(iter(case.judged([overlay.present_when])), None)
        seen = verdict is not None and verdict.held
        said = overlay.overlay_id.partition("_")[0] in (case.told.error or "").lower()
        if not (seen or (told and said)) or (
            verdict is not None and verdict.status is VerdictStatus.NOT_HELD
        ):
            continue
        why = f"`overlays` says how {overlay.overlay_id} is dismissed: {condition_text.describe_call(overlay.dismiss)}"
        yield FailureCause(
            cause="covered_by_overlay",
            message=f"{overlay.overlay_id!r} lies over the page",
            confidence=0.95 if seen and told else 0.85 if told else 0.4,
            evidence=("it is on the page",) if seen else ("the error speaks of it",),
            next=(SuggestedCall(tool="get_website", why=why),),
        )


@register_finder
def _validation(case: FailureCase) -> Iterator[FailureCause]:
    submits = case.action_type in ("click", "press", "input_and_submit", None)
    told = case.error == "validation_error"
    if not told and not (submits and case.invalid_fields):
        return
    evidence = (
        [f"{case.invalid_fields} visible fields are invalid, or required and empty"]
        if case.invalid_fields
        else []
    )
    evidence += [f"the page says: {case.message}"] if case.message else []
    evidence += [f"{name!r} is required and empty" for name in _empty_required(case)]
    arguments = {"screen_id": case.screen_id} if case.screen_id else {}
    yield FailureCause(
        cause="validation",
        message="the page does not accept what was filled in",
        confidence=0.9 if told and evidence else 0.75 if evidence else 0.6,
        evidence=tuple(evidence),
        next=(SuggestedCall(tool="get_available_actions", arguments=arguments, why="what is required"),)
        if arguments
        else (),
    )


@register_finder
def _page_message(case: FailureCase) -> Iterator[FailureCause]:
    if case.message and not case.invalid_fields and case.error != "validation_error":
        yield FailureCause(
            cause="page_message",
            message=f"the page says: {case.message}",
            confidence=0.5,
            next=(),
        )


_BY_ERROR = {
    "element_not_found": (
        "element_missing",
        "the element was not found: another screen, a changed page, or too early",
    ),
    "element_not_unique": ("element_not_unique", "the selector fits several elements"),
    "element_covered": ("element_covered", "something covers the element"),
    "element_disabled": ("element_disabled", "the element is disabled: something is missing before it"),
    "element_not_visible": ("element_hidden", "the element cannot be seen"),
    "element_unstable": ("element_unstable", "the element moves or is being replaced"),
    "server_error": ("server_error", "the site itself failed"),
    "network_error": ("network", "the site cannot be reached"),
    "page_not_found": ("page_not_found", "there is nothing at this address"),
    "navigation_failed": ("navigation_failed", "the way did not lead where it should"),
    "timeout": ("too_slow", "it took longer than allowed"),
}


@register_finder
def _named_error(case: FailureCase) -> Iterator[FailureCause]:
    if case.error not in _BY_ERROR:
        return
    cause, message = _BY_ERROR[case.error]
    call = None
    if case.page is None:
        why = "with the page: find out which screen it is, and call explain_failure again with it"
        call = SuggestedCall(tool="identify_current_screen", why=why)
    said = " ".join((case.told.error or "").split())[:160]
    yield FailureCause(
        cause=cause,
        message=message,
        confidence=0.6,
        evidence=(f"the error says: {said}",),
        next=() if call is None else (call,),
    )


@register_finder
def _shaky_transition(case: FailureCase) -> Iterator[FailureCause]:
    if case.transition is None:
        return
    seen = case.view.learned.seen(case.transition)
    reliability = case.view.learned.reliability(case.transition)
    if reliability >= LOW_RELIABILITY or (seen is not None and seen.seen < ENOUGH_OBSERVATIONS):
        return
    arguments = {
        "from_screen": case.transition.from_screen,
        "to_screen": case.transition.to_screen,
        "avoid": {"transitions": [case.transition.local_id]},
    }
    yield FailureCause(
        cause="unreliable_transition",
        message=f"{case.transition.local_id!r} often fails (reliability {reliability:.2f})",
        confidence=0.5,
        evidence=() if seen is None else (f"seen {seen.seen} times",),
        next=(SuggestedCall(tool="find_path", arguments=arguments, why="another way"),),
    )


@register_finder
def _may_be_late(case: FailureCase) -> Iterator[FailureCause]:
    state = None if case.page is None else case.page.snapshot.ready_state
    if state in ("loading", "interactive"):
        yield FailureCause(
            cause="too_early",
            message="the page had not loaded completely",
            confidence=0.6,
            evidence=(f"its state was {state!r}",),
        )


def build_unknown_cause(case: FailureCase) -> FailureCause:
    """The fallback if no other cause was found: collect more evidence, or recover."""
    calls = []
    if case.page is None:
        calls.append(SuggestedCall(tool="identify_current_screen", why="with the page as it is now"))
    known = case.screen_id or case.expected_screen
    calls.append(
        SuggestedCall(tool="find_global_recovery_paths", arguments={"screen_id": known} if known else {})
    )
    missing = [
        name for name, value in (("the page", case.page), ("the error's text", case.told.error)) if not value
    ]
    advice = f"; {' and '.join(missing)} would tell more" if missing else ""
    return FailureCause(
        cause=UNKNOWN,
        message=f"nothing that is known explains it{advice}",
        confidence=0.1,
        next=tuple(calls),
    )


def may_have_taken_effect(case: FailureCase) -> bool:
    """Whether the action may have happened although it was reported as failed (KS 9.7)."""
    action = case.view.knowledge.actions.get(case.told.action_type or "")
    basic = action_types.action_type(case.action_type or "")
    idempotent = action.idempotent if action else basic.idempotent if basic else True
    return not idempotent and case.error in (
        "timeout",
        "network_error",
        "server_error",
        "navigation_failed",
        UNKNOWN,
    )


def _required(case: FailureCase) -> list[BaseCondition]:
    """The preconditions of the step, of its element's affordance, or of the transition."""
    found: list[BaseCondition] = list(case.step.preconditions) if case.step else []
    found += list(case.transition.conditions.required) if case.transition else []
    for affordance in case.element.affordances if case.element else ():
        if case.action_type in (
            None,
            action_types.canonical(affordance.action_type) or affordance.action_type,
        ):
            found += list(affordance.preconditions)
    return found


def _empty_required(case: FailureCase) -> Iterator[str]:
    for element_id, element in case.view.elements.get(case.screen_id or "", {}).items():
        if any(each.required for each in element.affordances) and not element.selector.parameterized:
            answer = case.looked_up(element.selector)
            if answer is not None and answer.visible and not (answer.value or "").strip():
                yield element_id


def _known(case: FailureCase, error: str) -> bool:
    return error in case.known_errors


def _step(case: FailureCase) -> dict[str, str]:
    found = {"task_id": case.told.task_id, "after_step": case.told.step_id}
    return {name: value for name, value in found.items() if value is not None}
