"""Finds loops over the pages of a list: the same steps on each page, with a page turn between pages.

The last round has no page turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

RoundSpan = tuple[int, int]
"""A round: its first index, and the index after the last."""
BEGINS_ALIKE = 0.6
"""Minimum share of pages that begin with the same step."""


def find_page_rounds(rows: Sequence[tuple[int, ...]]) -> dict[int, list[RoundSpan]] | None:
    """Return the rounds by row; None if there is no page loop.

    A page loop requires that the steps on each page begin with the same step (a page may have no steps), occur
    nowhere else in the row, and that the number of pages or their steps differ between rows.
    """
    turns: dict[int, Counter[int]] = {}
    for row in set(rows):
        for turn, heads in _spanned(row).items():
            turns.setdefault(turn, Counter()).update(heads)
    likely = sorted(
        turn for turn, heads in turns.items() if _find_usual_start(heads) is not None or not heads
    )
    found = [rounds for turn in likely if (rounds := _turned_by(rows, turn)) is not None]
    return max(found, key=_covered, default=None)


def _spanned(row: tuple[int, ...]) -> dict[int, list[int]]:
    """Return the symbols that occur between two equal symbols: only these can be page turns.

    Maps each of them to the symbols with which its pages can begin.
    """
    last = {symbol: at for at, symbol in enumerate(row)}
    if len(last) == len(row):
        return {}
    found: dict[int, list[int]] = {}
    reach = 0
    for at, symbol in enumerate(row):
        if at < reach:
            heads = found.setdefault(symbol, [])
            if at < last[symbol] and row[at + 1] != symbol:
                heads.append(row[at + 1])
        reach = max(reach, last[symbol])
    return found


def _turned_by(rows: Sequence[tuple[int, ...]], turn: int) -> dict[int, list[RoundSpan]] | None:
    inside = {symbol for row in rows for symbol in _on_pages(row, turn)}
    if not inside:
        return None
    rounds = {at: places for at, row in enumerate(rows) if (places := _rounds(row, turn, inside))}
    whole = {at: _covers(rows[at], places, inside | {turn}) for at, places in rounds.items()}
    if not all(whole.values()) or any(
        symbol in inside for at, row in enumerate(rows) if at not in rounds for symbol in row
    ):
        return None
    if not _begin_alike(rows, rounds, turn):
        return None
    contents = {rows[at]: [rows[at][begin:end] for begin, end in places] for at, places in rounds.items()}
    turned = [bodies for bodies in contents.values() if len(bodies) > 1]
    firsts, lasts = any(bodies[0] != (turn,) for bodies in turned), any(bodies[-1] for bodies in turned)
    return rounds if firsts and lasts and _differ(contents) else None


def _on_pages(row: tuple[int, ...], turn: int) -> Iterator[int]:
    """Yield the symbols between two turns, and those both before the first and after the last turn."""
    places = [at for at, symbol in enumerate(row) if symbol == turn]
    for one, other in pairwise(places):
        yield from row[one + 1 : other]
    if places:
        yield from set(row[: places[0]]) & set(row[places[-1] + 1 :])


def _rounds(row: tuple[int, ...], turn: int, inside: set[int]) -> list[RoundSpan]:
    """Return the rounds: from the first to the last step on pages, split after each turn."""
    places = [at for at, symbol in enumerate(row) if symbol == turn]
    begin = places[0] if places else next((at for at, each in enumerate(row) if each in inside), len(row))
    while places and begin > 0 and row[begin - 1] in inside:
        begin -= 1
    end = places[-1] + 1 if places else begin
    while end < len(row) and row[end] in inside:
        end += 1
    cuts = [begin, *(at + 1 for at in places)]
    return [*pairwise(cuts), (cuts[-1], end)] if end > begin else []


def _covers(row: tuple[int, ...], places: list[RoundSpan], symbols: set[int]) -> bool:
    """Whether the rounds contain all steps of the loop."""
    begin, end = places[0][0], places[-1][1]
    return all(symbol not in symbols for symbol in (*row[:begin], *row[end:]))


def _begin_alike(rows: Sequence[tuple[int, ...]], rounds: dict[int, list[RoundSpan]], turn: int) -> bool:
    """Whether most pages, first and last ones alike, begin with the same step; a few may begin differently."""
    begins: list[Counter[int]] = []
    for of in (slice(None), slice(1), slice(-1, None)):
        heads = [rows[at][begin] for at, places in rounds.items() for begin, end in places[of] if end > begin]
        begins.append(Counter(head for head in heads if head != turn))
    usual = {_find_usual_start(heads) for heads in begins}
    return len(usual) == 1 and None not in usual


def _find_usual_start(heads: Counter[int]) -> int | None:
    """Return the symbol that begins enough of the pages; None if there is none."""
    ranked = sorted(heads.items(), key=lambda item: (-item[1], item[0]))
    return ranked[0][0] if ranked and ranked[0][1] >= BEGINS_ALIKE * heads.total() else None


def _differ(contents: dict[tuple[int, ...], list[tuple[int, ...]]]) -> bool:
    """Whether the number or content of pages differs between rows."""
    if len({len(bodies) for bodies in contents.values()}) > 1:
        return True
    return any(len(set(each)) > 1 for each in zip(*contents.values(), strict=True))


def _covered(rounds: dict[int, list[RoundSpan]]) -> int:
    return sum(end - begin for places in rounds.values() for begin, end in places)
