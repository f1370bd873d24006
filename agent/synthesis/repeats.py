"""Loops of alignments that were made elsewhere and came without them."""

from __future__ import annotations

from collections.abc import Iterable

from agent.synthesis.alignment import AlignedLoop, AlignedTraceSet, AlignmentType, RowKey
from agent.synthesis.folding import first_repeat
from agent.synthesis.symbols import tokens_of


def loops_left(aligned: AlignedTraceSet) -> Iterable[AlignedLoop]:
    """Repeats among positions that all traces have, of an alignment made elsewhere (MA `_detect_loops`).

    Looked for again behind each loop: no position belongs to two (MA's known bug).
    """
    numbers: dict[frozenset[str], int] = {}
    signs = []
    for position in aligned.positions:
        told = frozenset().union(*(tokens_of(step) for step in position.observed))
        whole = all(step is not None for step in position.steps.values())
        same = position.alignment_type is not AlignmentType.VARIABLE
        unique = -1 - position.index
        signs.append(numbers.setdefault(told, len(numbers)) if whole and same and told else unique)
    at = 0
    while (found := first_repeat(signs[at:])) is not None:
        begin, length, times = found
        start = at + begin
        rounds: dict[RowKey, int] = {(trace, ()): times for trace in aligned.trace_ids}
        yield AlignedLoop(start, start + length - 1, rounds, start + times * length - 1)
        at = start + times * length
