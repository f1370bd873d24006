"""What the aligner gives: positions in order, loops over stretches of them, and what stands at each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from kb_schema.traces import ExecutionTrace, TraceStep

RowKey = tuple[str, tuple[int, ...]]
"""One pass through a stretch: a trace, and the round of each loop around it."""


class AlignmentType(Enum):
    """What a position is (MA 4)."""

    DETERMINISTIC = "deterministic"
    PARAMETERIZABLE = "parameterizable"
    VARIABLE = "variable"
    OPTIONAL = "optional"
    BRANCH_POINT = "branch_point"


@dataclass(frozen=True, slots=True)
class Cell:
    """One step at a position: the row it is of, and where in its trace it stands."""

    row: RowKey
    step_index: int
    step: TraceStep


@dataclass(frozen=True)
class AlignedPosition:
    """One position of the aligned traces (MA 4)."""

    index: int
    alignment_type: AlignmentType
    steps: Mapping[str, TraceStep | None]
    """Trace -> its step here, in a loop the first one; None where it has none."""
    confidence: float = 1.0
    more: tuple[Cell, ...] = ()
    """Every step here, all rounds of loops; empty where `steps` says it all."""

    @cached_property
    def cells(self) -> dict[RowKey, Cell]:
        """Every step here by its row."""
        if self.more:
            return {cell.row: cell for cell in self.more}
        return {
            (trace, ()): Cell((trace, ()), self.index, step)
            for trace, step in self.steps.items()
            if step is not None
        }

    @property
    def observed(self) -> list[TraceStep]:
        """Every step here."""
        return [cell.step for cell in self.cells.values()]


@dataclass(frozen=True)
class AlignedLoop:
    """A stretch of positions that repeats."""

    start: int
    end: int
    """The last position of the body."""
    rounds: Mapping[RowKey, int]
    """How often each row around it goes through it; 0 where it does not."""
    span_end: int | None = None
    """Where later rounds have positions of their own: the last of them."""

    @property
    def last(self) -> int:
        """The last position that belongs to the loop."""
        return self.end if self.span_end is None else self.span_end


@dataclass(frozen=True)
class AlignedTraceSet:
    """Aligned traces (MA 4)."""

    positions: tuple[AlignedPosition, ...]
    trace_ids: tuple[str, ...]
    alignment_score: float
    metadata: dict[str, Any] = field(default_factory=dict)
    loops: tuple[AlignedLoop, ...] = ()
    """Outer ones before those in them."""
    traces: Mapping[str, ExecutionTrace] = field(default_factory=dict)
    """Normalised, converted, tidied: what was aligned."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Trace -> the one it says the same as. Copies count, but decide nothing."""

    @property
    def distinct_ids(self) -> tuple[str, ...]:
        """Without copies."""
        return tuple(each for each in self.trace_ids if each not in self.copies)

    @cached_property
    def rows_around(self) -> dict[int, tuple[AlignedLoop, ...]]:
        """Position -> the loops around it, outermost first."""
        return {
            position.index: tuple(loop for loop in self.loops if loop.start <= position.index <= loop.end)
            for position in self.positions
        }

    def rows(self, loop: AlignedLoop | None) -> Iterator[RowKey]:
        """Every pass through a loop's body; through the whole where there is none."""
        if loop is None:
            yield from ((trace, ()) for trace in self.trace_ids)
            return
        for (trace, outer), count in sorted(loop.rounds.items()):
            yield from ((trace, (*outer, number)) for number in range(count))
