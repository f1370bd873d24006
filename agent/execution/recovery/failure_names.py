"""The names that rules use for an error (`kb_schema.error_handling.ERRORS`), from the error and the page.

One failure has several names; the most specific comes first. Beside the error count the fields that the page
rejects, its HTTP status, and whether the session is still signed in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.errors import NoKnownScreen, NoPath, StepFailed, StepRefused
from agent.page.errors import (
    ActionFailed,
    ActionMisused,
    ElementChanged,
    GateFailed,
    GatePoint,
    NavigationFailed,
    SelectorNotFilled,
    SelectorUnusable,
)
from agent.page.page_problems import NO_PAGE_PROBLEMS, PageProblems
from agent.session import BROWSERS_OWN_ERROR
from kb_schema import action_types
from kb_schema.graph_documents import ErrorState

INVALID = ("validation_failed", "validation_error", "validation_errors")
SIGNED_OUT = ("session_expired", "not_authenticated")
UNAUTHENTICATED = 401
SERVER_ERROR = 500
NOT_FOUND = 404

_POINTS: dict[GatePoint, tuple[str, ...]] = {
    GatePoint.NOT_FOUND: ("element_not_found",),
    GatePoint.NOT_VISIBLE: ("element_not_visible", "element_not_found"),
    GatePoint.NOT_UNIQUE: ("element_ambiguous", "element_not_found"),
    GatePoint.DISABLED: ("element_not_editable",),
    GatePoint.NOT_SCOPED: ("element_covered", "click_intercepted"),
    GatePoint.UNSTABLE: ("element_unstable",),
}
_OF_CONDITION = {
    "authenticated": SIGNED_OUT,
    "on_screen": ("wrong_screen", "navigation_failed"),
    "field_filled": INVALID,
    "all_required_fields_filled": INVALID,
    "form_valid": INVALID,
}
_BY_TYPE: dict[type[Exception], tuple[str, ...]] = {
    ElementChanged: ("element_changed", "element_not_found"),
    ActionFailed: ("action_failed",),
    NavigationFailed: ("navigation_failed",),
    NoPath: ("navigation_failed",),
    NoKnownScreen: ("screen_recognition_failed", "navigation_failed"),
    SelectorNotFilled: ("element_not_found",),
    SelectorUnusable: ("element_not_found",),
}
_BY_ACTION: dict[tuple[type[Exception], str], str] = {
    (ActionFailed, "select_option"): "option_not_found",
    (ActionMisused, "upload_file"): "file_not_found",
}
_SENDS = frozenset({"click", "press", "input_and_submit", "double_click", "right_click", "drag"})


@dataclass(frozen=True, slots=True)
class FailureSigns:
    """What the page shows after a failure."""

    url: str = ""
    screen_id: str | None = None
    complaints: PageProblems = NO_PAGE_PROBLEMS
    signed_out: bool = False
    """The page requires a signed-in session, and the session is signed out."""
    states: tuple[ErrorState, ...] = ()
    """The transition's `error_states` for this screen (KS 4.4)."""


def list_error_names(
    error: Exception, signs: FailureSigns, action_type: str | None = None
) -> tuple[str, ...]:
    """Return every name of an error, the most specific first. `action_type`: canonical, of the step."""
    found = dict.fromkeys(
        [*_by_edge(signs), *_by_page(error, signs, action_type), *_by_error(error, action_type)]
    )
    return tuple(name for name in found if name)


def _by_edge(signs: FailureSigns) -> Iterator[str]:
    return (state.reason for state in signs.states)


def _by_page(error: Exception, signs: FailureSigns, action_type: str | None) -> Iterator[str]:
    if signs.url.startswith(BROWSERS_OWN_ERROR):
        yield "connection_lost"
        return
    status = signs.complaints.status
    if status >= SERVER_ERROR:
        yield from ("server_error", f"http_{status}")
    elif status == NOT_FOUND:
        yield from ("not_found", f"http_{status}")
    elif signs.signed_out:
        yield from SIGNED_OUT
    if isinstance(error, GateFailed):
        return
    fields, sent = signs.complaints.fields, _may_send(action_type)
    if any(each.marked for each in fields) or (sent and (fields or signs.complaints.alerts)):
        yield from INVALID


def _may_send(action_type: str | None) -> bool:
    """Whether a form may have been sent: by an action type that does so, or by a website's own recipe."""
    return action_type is not None and (action_type in _SENDS or action_types.canonical(action_type) is None)


def _by_error(error: Exception, action_type: str | None) -> Iterator[str]:
    if isinstance(error, GateFailed):
        yield from _POINTS[error.point]
        yield from (error.point.value, "timeout")
    if isinstance(error, ActionFailed | ActionMisused):
        yield _BY_ACTION.get((type(error), error.action), "")
    yield from _BY_TYPE.get(type(error), ())
    if isinstance(error, StepRefused):
        yield from _by_refusal(error)
    if isinstance(error, StepFailed):
        yield from _OF_CONDITION.get(error.error, ())
        yield error.error
        if error.error in _OF_CONDITION:
            yield "precondition_failed"
        if error.error == "postcondition":
            if action_type == "navigate":
                yield "navigation_failed"
            yield "timeout"


def _by_refusal(error: StepRefused) -> Iterator[str]:
    if error.server_error:
        yield "server_error"
    elif error.status == UNAUTHENTICATED:
        yield from SIGNED_OUT
    else:
        yield from INVALID
    if error.status is not None:
        yield f"http_{error.status}"
