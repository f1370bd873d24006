"""Finds repeated sequences of steps and folds them into loops, before traces are aligned.

Loops with different numbers of rounds could not be aligned otherwise. Exact repetitions are folded first, the
shortest before longer ones, so that an inner loop is one symbol in the outer loop. Then follow rounds with
equal first and last steps and different steps between: loops with optional steps or branches. These need
evidence: the number of rounds or their content must differ between traces. Steps that merely recur are no loop.

Loops over pages (`pagination_loops`) have no page turn in the last round. `find_remaining_loops` finds loops
in alignments that were made without loop detection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise

from agent.synthesis.alignment.aligned_traces import AlignedLoop, AlignedTraceSet, AlignmentType, RowKey
from agent.synthesis.alignment.pagination_loops import find_page_rounds
from agent.synthesis.alignment.step_equivalence import compute_step_tokens

MOST_FOLDED = 50
"""Maximum number of loops that are folded."""
ENDS_ALIKE = 0.6
"""Minimum share of rounds that end with the same symbol."""
SHARED = 0.4
"""Minimum share of a round's symbols that occur in every round."""
ENOUGH_ALONE = 3
"""Minimum number of rounds if there is only one trace."""


@dataclass(frozen=True, slots=True)
class StepLeaf:
    """One step."""

    symbol: int
    index: int


@dataclass(frozen=True, slots=True)
class FoldedLoop:
    """A loop with its rounds; each round is a sequence."""

    symbol: int
    """Symbol of the loop as a whole; negative."""
    rounds: tuple[tuple[StepLeaf | FoldedLoop, ...], ...]
    told: bool = False
    """The task description lists the items, so this is a loop even if no trace has two rounds."""


FoldedUnit = StepLeaf | FoldedLoop
FoldedRow = tuple[FoldedUnit, ...]


@dataclass(frozen=True, slots=True)
class _LoopCandidate:
    """Adjacent rounds per row, as (begin, end) indices."""

    gain: int
    rounds: dict[int, list[tuple[int, int]]]


def fold_rows(rows: Sequence[FoldedRow], symbols: Iterator[int] | None = None) -> list[FoldedRow]:
    """Return the rows with their outermost loops folded.

    `symbols` gives each loop a new symbol. To fold loops inside rounds, call this again on the rounds with the
    same `symbols`.
    """
    numbers = fold_symbols() if symbols is None else symbols
    folded = list(rows)
    for _ in range(MOST_FOLDED):
        found = _choose_best_loop(folded)
        if found is None:
            break
        symbol = next(numbers)
        folded = [_replace_rounds(row, found.rounds.get(at, []), symbol) for at, row in enumerate(folded)]
    return folded


def fold_symbols() -> Iterator[int]:
    """Yield the symbols for loops: -1, -2, ..."""
    return count(-1, -1)


def _choose_best_loop(rows: Sequence[FoldedRow]) -> _LoopCandidate | None:
    """Return the best loop: a page loop, else an exact one, unless it is only a part of similar rounds.

    In that case it is found again later, inside the rounds.
    """
    told = [_symbols(row) for row in rows]
    paged = find_page_rounds(told)
    if paged is not None:
        paged = _begin_after_opening(told, paged)
        covered = sum(end - begin for places in paged.values() for begin, end in places)
        return _LoopCandidate(covered, paged)
    exact, alike = _find_exact_loop(told), _find_similar_loop(told)
    if exact is None or alike is None:
        return exact or alike
    part = _symbols_in(told, exact) <= _symbols_in(told, alike)
    return alike if part and alike.gain > exact.gain else exact


def _begin_after_opening(
    rows: Sequence[tuple[int, ...]], rounds: dict[int, list[tuple[int, int]]]
) -> dict[int, list[tuple[int, int]]]:
    """Return the rounds without their opening, if every row ends with the opening alone.

    Open the list, (open a row, save it, open the list) for each row: no loop of which the last round only opens.
    """
    opening = {rows[at][slice(*places[-1])] for at, places in rounds.items()}
    first = opening.pop()
    length = len(first)
    whole = [rows[at][begin:end] for at, places in rounds.items() for begin, end in places[:-1]]
    if opening or not first or not whole:
        return rounds
    if any(each[:length] != first or len(each) <= length + 1 for each in whole):
        return rounds
    return {at: [(a + length, b + length) for a, b in places[:-1]] for at, places in rounds.items()}


def _symbols_in(rows: Sequence[tuple[int, ...]], candidate: _LoopCandidate) -> set[int]:
    return {
        symbol
        for at, places in candidate.rounds.items()
        for begin, end in places
        for symbol in rows[at][begin:end]
    }


def find_first_repeat(symbols: Sequence[int], *, most: int | None = None) -> tuple[int, int, int] | None:
    """Return start, length and count of the first shortest sequence that is directly followed by itself."""
    if len(set(symbols)) == len(symbols):
        return None
    longest = len(symbols) // 2 if most is None else min(most, len(symbols) // 2)
    for length in range(1, longest + 1):
        same = 0
        for at in range(len(symbols) - length):
            same = same + 1 if symbols[at] == symbols[at + length] else 0
            if same == length:
                begin = at - length + 1
                return begin, length, _times(symbols, begin, length)
    return None


def _times(symbols: Sequence[int], begin: int, length: int) -> int:
    body, times = symbols[begin : begin + length], 1
    while symbols[begin + times * length : begin + (times + 1) * length] == body:
        times += 1
    return times


def _symbols(row: FoldedRow) -> tuple[int, ...]:
    return tuple(unit.symbol for unit in row)


def _find_exact_loop(rows: Sequence[tuple[int, ...]]) -> _LoopCandidate | None:
    """Return all occurrences, also single ones, of the shortest body that is repeated in some row."""
    bodies: set[tuple[int, ...]] = set()
    shortest: int | None = None
    for symbols in sorted(set(rows)):
        found = find_first_repeat(symbols, most=shortest)
        if found is not None:
            begin, length, _ = found
            bodies = {*(bodies if length == shortest else ()), symbols[begin : begin + length]}
            shortest = length
    candidates = []
    for body in sorted(bodies):
        rounds = {at: places for at, symbols in enumerate(rows) if (places := _places(symbols, body))}
        covered = {rows[at]: len(places) * len(body) for at, places in rounds.items()}
        candidates.append(_LoopCandidate(sum(covered.values()) - len(set(body)), rounds))
    return max(candidates, key=lambda each: each.gain, default=None)


def _places(symbols: tuple[int, ...], body: tuple[int, ...]) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    at = 0
    while at <= len(symbols) - len(body):
        if symbols[at : at + len(body)] == body:
            places.append((at, at + len(body)))
            at += len(body)
        else:
            at += 1
    return places


def _find_similar_loop(rows: Sequence[tuple[int, ...]]) -> _LoopCandidate | None:
    """Return the best loop whose rounds have equal first and last symbols."""
    heads = sorted({symbol for symbols in rows for symbol, times in Counter(symbols).items() if times > 1})
    found = [candidate for head in heads if (candidate := _find_headed_loop(rows, head)) is not None]
    return max(found, key=lambda each: each.gain, default=None)


def _find_headed_loop(rows: Sequence[tuple[int, ...]], head: int) -> _LoopCandidate | None:
    """Return the loop whose rounds begin with `head`, if there is evidence for it."""
    begins = [[at for at, symbol in enumerate(row) if symbol == head] for row in rows]
    whole = [
        row[begin:end] for row, places in zip(rows, begins, strict=True) for begin, end in pairwise(places)
    ]
    tail, times = min(Counter(each[-1] for each in whole).items(), key=lambda item: (-item[1], item[0]))
    if tail == head or times < ENDS_ALIKE * len(whole):
        return None
    rounds = {
        at: _rounds(row, places, tail)
        for at, (row, places) in enumerate(zip(rows, begins, strict=True))
        if places
    }
    rounds = {at: places for at, places in rounds.items() if places}
    contents = {at: [rows[at][begin:end] for begin, end in places] for at, places in rounds.items()}
    bodies = [body for each in contents.values() for body in each]
    if not bodies or not _are_rounds({rows[at]: bodies for at, bodies in contents.items()}):
        return None
    shared = set(bodies[0]).intersection(*bodies)
    if len(shared) < 2 or sum(len(shared) / len(set(body)) for body in bodies) < SHARED * len(bodies):
        return None
    distinct = {rows[at]: bodies for at, bodies in contents.items()}
    covered = sum(len(body) for bodies in distinct.values() for body in bodies)
    return _LoopCandidate(covered - len(set().union(*bodies)), rounds)


def _rounds(row: tuple[int, ...], begins: list[int], tail: int) -> list[tuple[int, int]]:
    """Return the rounds: from each head to the next; the last one ends at the first tail after its head."""
    rounds = [(begin, end) for begin, end in pairwise(begins) if row[end - 1] == tail]
    if len(rounds) != len(begins) - 1:  # other steps between two rounds: not one loop
        return []
    last = next((at for at in range(begins[-1] + 1, len(row)) if row[at] == tail), None)
    return rounds if last is None else [*rounds, (begins[-1], last + 1)]


def _are_rounds(contents: dict[tuple[int, ...], list[tuple[int, ...]]]) -> bool:
    """Whether the number or content of the rounds differs in a way that a plain sequence does not explain."""
    counts = {len(bodies) for bodies in contents.values()}
    if max(counts) < 2:
        return False
    if len(contents) == 1:
        bodies = next(iter(contents.values()))
        return len(bodies) >= ENOUGH_ALONE and len(set(bodies)) < len(bodies)
    if len(counts) > 1:
        return True
    return any(len(set(each)) > 1 for each in zip(*contents.values(), strict=True))


def _replace_rounds(row: FoldedRow, places: list[tuple[int, int]], symbol: int) -> FoldedRow:
    """Return a row with adjacent rounds folded into one loop."""
    made: list[FoldedUnit] = []
    at = number = 0
    while number < len(places):
        begin, end = places[number]
        made += row[at:begin]
        rounds = [row[begin:end]]
        while number + 1 < len(places) and places[number + 1][0] == end:
            number += 1
            begin, end = places[number]
            rounds.append(row[begin:end])
        made.append(FoldedLoop(symbol, tuple(rounds)))
        at = end
        number += 1
    return (*made, *row[at:])


def find_remaining_loops(aligned: AlignedTraceSet) -> Iterable[AlignedLoop]:
    """Yield repetitions among positions that all traces have, for alignments without loops (MA `_detect_loops`).

    The search continues after each loop, so that no position belongs to two loops.
    """
    numbers: dict[frozenset[str], int] = {}
    signs = []
    for position in aligned.positions:
        told = frozenset().union(*(compute_step_tokens(step) for step in position.observed))
        whole = all(step is not None for step in position.steps.values())
        same = position.alignment_type is not AlignmentType.VARIABLE
        unique = -1 - position.index
        signs.append(numbers.setdefault(told, len(numbers)) if whole and same and told else unique)
    at = 0
    while (found := find_first_repeat(signs[at:])) is not None:
        begin, length, times = found
        start = at + begin
        rounds: dict[RowKey, int] = {(trace, ()): times for trace in aligned.trace_ids}
        yield AlignedLoop(start, start + length - 1, rounds, start + times * length - 1)
        at = start + times * length
