"""The explanation of a failure: all causes found, most likely first, and what to try."""

from __future__ import annotations

from typing import Any

from kb_schema.run_records import StoredRun
from kb_schema.tool_answers import FailureCause, FailureExplanation
from mcp_server.document_text.detail_levels import working_document
from mcp_server.errors import UnknownName
from mcp_server.failures import error_recovery_strategies
from mcp_server.failures.failure_case import FailureCase
from mcp_server.failures.failure_causes import FINDERS, build_unknown_cause, may_have_taken_effect

MOST_CAUSES = 4


def explain(case: FailureCase, *, run: StoredRun | None = None) -> FailureExplanation:
    """Explain the failure, of a recorded run if one is given. There is always a cause, if only one that says which evidence is missing."""
    causes: dict[str, FailureCause] = {}
    for finder in FINDERS:
        for cause in finder(case):
            known = causes.get(cause.cause)
            if known is None or known.confidence < cause.confidence:
                causes[cause.cause] = cause
    ordered = sorted(causes.values(), key=lambda each: -each.confidence)[:MOST_CAUSES]
    return FailureExplanation(
        website_id=case.view.website_id,
        error=case.error,
        causes=tuple(ordered or [build_unknown_cause(case)]),
        strategy=_strategy(case, ordered),
        may_have_happened=may_have_taken_effect(case) and "already_done" not in causes,
        run_id=None if run is None else run.run_id,
        workflow_version=None if run is None else run.workflow_version,
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
"""Error names under which authors write the strategy for a cause."""


def _strategy(case: FailureCase, causes: list[FailureCause]) -> dict[str, Any] | None:
    """Return the knowledge base's strategy for the error, else for the most likely cause that has one."""
    names = [case.error, *(name for each in causes for name in (*_AS_ERRORS.get(each.cause, ()), each.cause))]
    screen = case.screen_id or case.expected_screen
    for name in dict.fromkeys(names):
        for action in dict.fromkeys((case.action_type, None)):  # the rules of a form belong to its fields
            try:
                found = error_recovery_strategies.find_strategy(
                    case.view, name, screen_id=screen, action_type=action, own=case.own_rules
                )
            except UnknownName:
                continue
            return working_document(found)
    return None
