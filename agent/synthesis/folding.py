"""Repeated stretches of a trace become loops before traces are aligned (DESIGN 6): loops of unequal
length do not align.

First stretches that repeat exactly, short ones first, so that inner loops are one symbol when the outer
ones are looked for. Then rounds that begin and end alike with more or less between: loops whose bodies
have optional steps or branches. Those need evidence that the rounds are rounds: their number, or what is
in them, differs from trace to trace. Steps that only recur are no loop.

What is done again after each turn of a page (`paging`) is a loop whose last round has no turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise

from agent.synthesis.paging import paged_rounds

MOST_FOLDED = 50
"""Loops that are looked for; a trace with more is no task."""
ENDS_ALIKE = 0.6
"""Share of rounds that must end with the same symbol."""
SHARED = 0.4
"""Share of a round that must be in every round."""
ENOUGH_ALONE = 3
"""Rounds that are needed where there is one trace only."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One step."""

    symbol: int
    index: int


@dataclass(frozen=True, slots=True)
class Fold:
    """A loop: its rounds, each a sequence of its own."""

    symbol: int
    """Of the loop as a whole; negative."""
    rounds: tuple[tuple[Leaf | Fold, ...], ...]
    told: bool = False
    """The task's sentence says that its rounds are rounds: it is a loop also where nobody went twice."""


Unit = Leaf | Fold
Row = tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Rounds per row as (begin, end) places, next to each other."""

    gain: int
    rounds: dict[int, list[tuple[int, int]]]


def fold_rows(rows: Sequence[Row], symbols: Iterator[int] | None = None) -> list[Row]:
    """The rows with their loops folded. `symbols` gives each loop a new one; what is inside of rounds is
    folded by folding these, with the same `symbols`.
    """
    numbers = fold_symbols() if symbols is None else symbols
    folded = list(rows)
    for _ in range(MOST_FOLDED):
        found = _best(folded)
        if found is None:
            break
        symbol = next(numbers)
        folded = [_replaced(row, found.rounds.get(at, []), symbol) for at, row in enumerate(folded)]
    return folded


def fold_symbols() -> Iterator[int]:
    """Symbols for loops: -1, -2, ..."""
    return count(-1, -1)


def _best(rows: Sequence[Row]) -> _Candidate | None:
    """What repeats exactly goes first, unless it is only a part of rounds that are alike: there it is found
    again, inside of a round or as several of them.
    """
    told = [_symbols(row) for row in rows]
    paged = paged_rounds(told)
    if paged is not None:
        covered = sum(end - begin for places in paged.values() for begin, end in places)
        return _Candidate(covered, paged)
    exact, alike = _exact(told), _alike(told)
    if exact is None or alike is None:
        return exact or alike
    part = _symbols_in(told, exact) <= _symbols_in(told, alike)
    return alike if part and alike.gain > exact.gain else exact


def _symbols_in(rows: Sequence[tuple[int, ...]], candidate: _Candidate) -> set[int]:
    return {
        symbol
        for at, places in candidate.rounds.items()
        for begin, end in places
        for symbol in rows[at][begin:end]
    }


def first_repeat(symbols: Sequence[int], *, most: int | None = None) -> tuple[int, int, int] | None:
    """The shortest stretch that is directly followed by itself: where, how long, how many times in a row.

    Of several that are equally short the first one.
    """
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


def _symbols(row: Row) -> tuple[int, ...]:
    return tuple(unit.symbol for unit in row)


def _exact(rows: Sequence[tuple[int, ...]]) -> _Candidate | None:
    """All occurrences, single ones included, of the shortest body that repeats anywhere."""
    bodies: set[tuple[int, ...]] = set()
    shortest: int | None = None
    for symbols in sorted(set(rows)):
        found = first_repeat(symbols, most=shortest)
        if found is not None:
            begin, length, _ = found
            bodies = {*(bodies if length == shortest else ()), symbols[begin : begin + length]}
            shortest = length
    candidates = []
    for body in sorted(bodies):
        rounds = {at: places for at, symbols in enumerate(rows) if (places := _places(symbols, body))}
        covered = {rows[at]: len(places) * len(body) for at, places in rounds.items()}
        candidates.append(_Candidate(sum(covered.values()) - len(set(body)), rounds))
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


def _alike(rows: Sequence[tuple[int, ...]]) -> _Candidate | None:
    """The best loop whose rounds begin and end alike."""
    heads = sorted({symbol for symbols in rows for symbol, times in Counter(symbols).items() if times > 1})
    found = [candidate for head in heads if (candidate := _headed(rows, head)) is not None]
    return max(found, key=lambda each: each.gain, default=None)


def _headed(rows: Sequence[tuple[int, ...]], head: int) -> _Candidate | None:
    """Rounds that begin with a symbol, where there is evidence that they are rounds."""
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
    return _Candidate(covered - len(set().union(*bodies)), rounds)


def _rounds(row: tuple[int, ...], begins: list[int], tail: int) -> list[tuple[int, int]]:
    """From each head to the next; the last one to the first tail behind its head."""
    rounds = [(begin, end) for begin, end in pairwise(begins) if row[end - 1] == tail]
    if len(rounds) != len(begins) - 1:  # something else stands between two rounds: no one loop
        return []
    last = next((at for at in range(begins[-1] + 1, len(row)) if row[at] == tail), None)
    return rounds if last is None else [*rounds, (begins[-1], last + 1)]


def _are_rounds(contents: dict[tuple[int, ...], list[tuple[int, ...]]]) -> bool:
    """Whether number or contents of the rounds differ in a way that straight steps do not explain."""
    counts = {len(bodies) for bodies in contents.values()}
    if max(counts) < 2:
        return False
    if len(contents) == 1:
        bodies = next(iter(contents.values()))
        return len(bodies) >= ENOUGH_ALONE and len(set(bodies)) < len(bodies)
    if len(counts) > 1:
        return True
    return any(len(set(each)) > 1 for each in zip(*contents.values(), strict=True))


def _replaced(row: Row, places: list[tuple[int, int]], symbol: int) -> Row:
    """A row with rounds that stand next to each other as one loop."""
    made: list[Unit] = []
    at = number = 0
    while number < len(places):
        begin, end = places[number]
        made += row[at:begin]
        rounds = [row[begin:end]]
        while number + 1 < len(places) and places[number + 1][0] == end:
            number += 1
            begin, end = places[number]
            rounds.append(row[begin:end])
        made.append(Fold(symbol, tuple(rounds)))
        at = end
        number += 1
    return (*made, *row[at:])
