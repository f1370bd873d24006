"""Loops that turn pages: the same is done on each page, then the next one is turned to, and the last page
has no next one. A turn stands between what it turns to and from; the last round ends without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

Place = tuple[int, int]
"""A round, as places from and up to."""
BEGINS_ALIKE = 0.6
"""Share of pages that must begin with the same step."""


def paged_rounds(rows: Sequence[tuple[int, ...]]) -> dict[int, list[Place]] | None:
    """The rounds of each row that has some; None where nothing says that pages are turned.

    What is done on a page begins alike on all pages (nothing may be done on some), is done in no other part
    of a row, and the number of pages, or what is done on them, differs from row to row.
    """
    turns: dict[int, Counter[int]] = {}
    for row in set(rows):
        for turn, heads in _spanned(row).items():
            turns.setdefault(turn, Counter()).update(heads)
    likely = sorted(turn for turn, heads in turns.items() if _mostly(heads) is not None or not heads)
    found = [rounds for turn in likely if (rounds := _turned_by(rows, turn)) is not None]
    return max(found, key=_covered, default=None)


def _spanned(row: tuple[int, ...]) -> dict[int, list[int]]:
    """What stands between two that are the same: only that can be a turn. With what pages begin with then,
    as far as each stands between two turns.
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


def _turned_by(rows: Sequence[tuple[int, ...]], turn: int) -> dict[int, list[Place]] | None:
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
    """What stands between two turns, or both before the first and behind the last."""
    places = [at for at, symbol in enumerate(row) if symbol == turn]
    for one, other in pairwise(places):
        yield from row[one + 1 : other]
    if places:
        yield from set(row[: places[0]]) & set(row[places[-1] + 1 :])


def _rounds(row: tuple[int, ...], turn: int, inside: set[int]) -> list[Place]:
    """From the first step that is done on pages to the last one, cut behind each turn."""
    places = [at for at, symbol in enumerate(row) if symbol == turn]
    begin = places[0] if places else next((at for at, each in enumerate(row) if each in inside), len(row))
    while places and begin > 0 and row[begin - 1] in inside:
        begin -= 1
    end = places[-1] + 1 if places else begin
    while end < len(row) and row[end] in inside:
        end += 1
    cuts = [begin, *(at + 1 for at in places)]
    return [*pairwise(cuts), (cuts[-1], end)] if end > begin else []


def _covers(row: tuple[int, ...], places: list[Place], symbols: set[int]) -> bool:
    """Whether all steps of the loop are in it."""
    begin, end = places[0][0], places[-1][1]
    return all(symbol not in symbols for symbol in (*row[:begin], *row[end:]))


def _begin_alike(rows: Sequence[tuple[int, ...]], rounds: dict[int, list[Place]], turn: int) -> bool:
    """Whether most pages begin with the same step, the first ones as the last ones: somebody may have done
    something else first.
    """
    begins: list[Counter[int]] = []
    for of in (slice(None), slice(1), slice(-1, None)):
        heads = [rows[at][begin] for at, places in rounds.items() for begin, end in places[of] if end > begin]
        begins.append(Counter(head for head in heads if head != turn))
    usual = {_mostly(heads) for heads in begins}
    return len(usual) == 1 and None not in usual


def _mostly(heads: Counter[int]) -> int | None:
    """What most begin with; None where nothing is that usual."""
    ranked = sorted(heads.items(), key=lambda item: (-item[1], item[0]))
    return ranked[0][0] if ranked and ranked[0][1] >= BEGINS_ALIKE * heads.total() else None


def _differ(contents: dict[tuple[int, ...], list[tuple[int, ...]]]) -> bool:
    """Whether number or contents of pages differ from row to row."""
    if len({len(bodies) for bodies in contents.values()}) > 1:
        return True
    return any(len(set(each)) > 1 for each in zip(*contents.values(), strict=True))


def _covered(rounds: dict[int, list[Place]]) -> int:
    return sum(end - begin for places in rounds.values() for begin, end in places)
