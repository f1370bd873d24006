"""Between normalising and converting: what a person did without meaning to is taken out of a trace.

Only what provably changes nothing: an action that failed or was skipped, a field's value that the
next steps replace, a click into a field that is then filled, a menu that is opened and closed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kb_schema.selectors import Selector
from kb_schema.traces import ExecutionTrace, TraceStep

_FRAMEWORK_ID = re.compile(r' __id__="[^"]*"')
FIELD_ACTIONS = frozenset({"fill", "clear", "select_option", "check", "uncheck", "upload_file"})
"""They set a field and do nothing else: of two on one field the later one counts, and on different
fields they may change places."""


def tidy(traces: Iterable[ExecutionTrace]) -> list[ExecutionTrace]:
    """The traces without such steps."""
    return [trace.model_copy(update={"steps": tidied(trace.steps)}) for trace in traces]


def tidied(steps: tuple[TraceStep, ...]) -> tuple[TraceStep, ...]:
    """The steps that count, in order."""
    happened = _without_asides([step for step in steps if _happened(step)])
    return tuple(
        step
        for index, step in enumerate(happened)
        if not (_is_replaced(happened, index) or _only_enters(happened, index))
    )


def _happened(step: TraceStep) -> bool:
    return step.result is None or (step.result.success and not step.result.action_skipped)


def _without_asides(steps: list[TraceStep]) -> list[TraceStep]:
    """The steps without two on one element, of which the second puts the page back as it was."""
    kept: list[TraceStep] = []
    at = 0
    while at < len(steps):
        if _comes_to_nothing(*steps[at : at + 3]):
            at += 2
            continue
        kept.append(steps[at])
        at += 1
    return kept


def _comes_to_nothing(
    first: TraceStep, second: TraceStep | None = None, then: TraceStep | None = None
) -> bool:
    if second is None or {first.action_type, second.action_type} - {"click", "press"}:
        return False
    if not _same_field(first, second) or first.source_url != second.source_url:
        return False
    behind = second.html_after if then is None or then.html_before is None else then.html_before
    before, between, after = (_bare(each) for each in (first.html_before, second.html_before, behind))
    same_place = then is None or then.source_url == first.source_url
    return before is not None and same_place and before == after and between not in (None, before)


def _bare(html: str | None) -> str | None:
    """A page without the ids that each look at it gives anew."""
    return None if html is None else _FRAMEWORK_ID.sub("", html)


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
