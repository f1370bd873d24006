"""Between normalising and converting: what a person did without meaning to is taken out of a trace.

Only what provably changes nothing: an action that failed or was skipped, a field's value that the
next steps replace, a click into a field that is then filled.
"""

from __future__ import annotations

from collections.abc import Iterable

from kb_schema.selectors import Selector
from kb_schema.traces import ExecutionTrace, TraceStep

FIELD_ACTIONS = frozenset({"fill", "clear", "select_option", "check", "uncheck", "upload_file"})
"""They set a field and do nothing else: of two on one field the later one counts, and on different
fields they may change places."""


def tidy(traces: Iterable[ExecutionTrace]) -> list[ExecutionTrace]:
    """The traces without such steps."""
    return [trace.model_copy(update={"steps": tidied(trace.steps)}) for trace in traces]


def tidied(steps: tuple[TraceStep, ...]) -> tuple[TraceStep, ...]:
    """The steps that count, in order."""
    happened = [step for step in steps if _happened(step)]
    return tuple(
        step
        for index, step in enumerate(happened)
        if not (_is_replaced(happened, index) or _only_enters(happened, index))
    )


def _happened(step: TraceStep) -> bool:
    return step.result is None or (step.result.success and not step.result.action_skipped)


def _is_replaced(steps: list[TraceStep], index: int) -> bool:
    step = steps[index]
    if step.action_type not in FIELD_ACTIONS:
        return False
    for later in steps[index + 1 :]:
        if later.action_type not in FIELD_ACTIONS:
            return False
        if _same_field(step, later):
            return True
    return False


def _only_enters(steps: list[TraceStep], index: int) -> bool:
    step, later = steps[index], steps[index + 1] if index + 1 < len(steps) else None
    if step.action_type not in ("click", "focus") or later is None:
        return False
    return later.action_type in ("fill", "clear") and _same_field(step, later)


def _same_field(one: TraceStep, other: TraceStep) -> bool:
    return isinstance(one.target, Selector) and one.target == other.target
