"""The explanation of a failure: every cause that is found, the likeliest first, and what to try."""

from __future__ import annotations

from typing import Any

from kb_schema.answers import Cause, Explanation
from mcp_server import strategies
from mcp_server.details import working
from mcp_server.errors import UnknownName
from mcp_server.failures.case import Case
from mcp_server.failures.causes import FINDERS, may_have_happened, nothing_found

MOST_CAUSES = 4


def explain(case: Case, *, run_id: str | None = None) -> Explanation:
    """Why it failed. There is always a cause, if only one that says what would tell more."""
    causes: dict[str, Cause] = {}
    for finder in FINDERS:
        for cause in finder(case):
            known = causes.get(cause.cause)
            if known is None or known.confidence < cause.confidence:
                causes[cause.cause] = cause
    ordered = sorted(causes.values(), key=lambda each: -each.confidence)[:MOST_CAUSES]
    return Explanation(
        website_id=case.view.website_id,
        error=case.error,
        causes=tuple(ordered or [nothing_found(case)]),
        strategy=_strategy(case, ordered),
        may_have_happened=may_have_happened(case) and "already_done" not in causes,
        run_id=run_id,
        task_id=case.told.task_id,
        step_id=case.told.step_id,
        screen_id=case.screen_id,
    )


_AS_ERRORS = {
    "signed_out": ("session_expired", "not_authenticated"),
    "validation": ("validation_error",),
    "element_missing": ("element_not_found",),
    "element_hidden": ("element_not_visible", "element_not_found"),
}
"""Error names under which authors write what to do about a cause."""


def _strategy(case: Case, causes: list[Cause]) -> dict[str, Any] | None:
    """The knowledge's own strategy for the error, else for the likeliest cause that has one."""
    names = [case.error, *(name for each in causes for name in (*_AS_ERRORS.get(each.cause, ()), each.cause))]
    screen = case.screen_id or case.expected_screen
    for name in dict.fromkeys(names):
        for action in dict.fromkeys((case.action_type, None)):  # a form's rules stand at its fields
            try:
                found = strategies.strategy(
                    case.view, name, screen_id=screen, action_type=action, own=case.own_rules
                )
            except UnknownName:
                continue
            return working(found)
    return None
