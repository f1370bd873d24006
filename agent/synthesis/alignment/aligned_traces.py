"""The result of alignment: ordered positions, the steps at each of them, and loops over positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from kb_schema.execution_traces import ExecutionTrace, TraceStep

RowKey = tuple[str, tuple[int, ...]]
"""One pass through a sequence of positions: a trace id, and the round of each enclosing loop."""


class AlignmentType(Enum):
    """The kind of a position (MA 4)."""

    DETERMINISTIC = "deterministic"
    PARAMETERIZABLE = "parameterizable"
    VARIABLE = "variable"
    OPTIONAL = "optional"
    BRANCH_POINT = "branch_point"


@dataclass(frozen=True, slots=True)
class AlignedCell:
    """One step at a position, with its row and its index in the trace."""

    row: RowKey
    step_index: int
    step: TraceStep


@dataclass(frozen=True)
class AlignedPosition:
    """One position of the aligned traces (MA 4)."""

    index: int
    alignment_type: AlignmentType
    steps: Mapping[str, TraceStep | None]
    """Maps a trace id to its step here (in a loop, the first one), or None."""
    confidence: float = 1.0
    more: tuple[AlignedCell, ...] = ()
    """Every step here in all rounds of loops; empty if `steps` contains all of them."""

    @cached_property
    def cells(self) -> dict[RowKey, AlignedCell]:
        """Every step at this position, by row."""
        if self.more:
            return {cell.row: cell for cell in self.more}
        return {
            (trace, ()): AlignedCell((trace, ()), self.index, step)
            for trace, step in self.steps.items()
            if step is not None
        }

    @property
    def observed(self) -> list[TraceStep]:
        """Every step at this position."""
        return [cell.step for cell in self.cells.values()]


@dataclass(frozen=True)
class AlignedLoop:
    """A sequence of positions that is repeated."""

    start: int
    end: int
    """Index of the last position of the body."""
    rounds: Mapping[RowKey, int]
    """Number of rounds for each enclosing row; 0 if the row does not enter the loop."""
    span_end: int | None = None
    """Index of the last position of later rounds, if these have their own positions."""

    @property
    def last(self) -> int:
        """Index of the last position that belongs to the loop."""
        return self.end if self.span_end is None else self.span_end


@dataclass(frozen=True)
class AlignedTraceSet:
    """Aligned traces (MA 4)."""

    positions: tuple[AlignedPosition, ...]
    trace_ids: tuple[str, ...]
    alignment_score: float
    metadata: dict[str, Any] = field(default_factory=dict)
    loops: tuple[AlignedLoop, ...] = ()
    """Outer loops come before inner loops."""
    traces: Mapping[str, ExecutionTrace] = field(default_factory=dict)
    """The aligned traces: normalised, converted and cleaned up."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Maps a trace id to the trace with equal content. Copies count as evidence only once."""

    @property
    def distinct_ids(self) -> tuple[str, ...]:
        """The trace ids without copies."""
        return tuple(each for each in self.trace_ids if each not in self.copies)

    def rows(self, loop: AlignedLoop | None) -> Iterator[RowKey]:
        """Yield every pass through the body of a loop; without a loop, through the whole trace."""
        if loop is None:
            yield from ((trace, ()) for trace in self.trace_ids)
            return
        for (trace, outer), count in sorted(loop.rounds.items()):
            yield from ((trace, (*outer, number)) for number in range(count))
