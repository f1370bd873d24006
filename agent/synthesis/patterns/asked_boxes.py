"""Boxes that a person decides about: of two demonstrations that differ in nothing else, one ticks the box.

Then nothing on the page and no value decides it, so it becomes an optional yes-or-no input: the box is ticked only if that is asked for.
Between demonstrations that differ in more, the box may depend on something that only the person knew.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignedTraceSet, RowKey
from kb_schema.selectors import Selector

TICKING = frozenset({"check", "uncheck"})
"""Actions that set a box."""


def is_only_difference(
    position: AlignedPosition,
    aligned: AlignedTraceSet,
    takers: AbstractSet[RowKey],
    others: AbstractSet[RowKey],
) -> bool:
    """Whether a trace with this step and one without it have the same other steps, values and input data."""
    if position.observed[0].action_type not in TICKING or any(rounds for _, rounds in (*takers, *others)):
        return False
    taking, idle = (
        [_describe_trace(aligned, trace, position.index) for trace in sorted({row[0] for row in rows})]
        for rows in (takers, others)
    )
    return any(each in idle for each in taking)


def _describe_trace(aligned: AlignedTraceSet, trace: str, besides: int) -> tuple[Any, ...]:
    """Return all that a trace did but at one position, comparable."""
    did = [
        (each.index, row[1], cell.step.action_type, cell.step.args or {}, _describe_target(cell.step.target))
        for each in aligned.positions
        if each.index != besides
        for row, cell in sorted(each.cells.items())
        if row[0] == trace
    ]
    known = aligned.traces.get(trace)
    return did, {} if known is None else known.input_data or {}


def _describe_target(target: object) -> object:
    return target.to_json() if isinstance(target, Selector) else target
