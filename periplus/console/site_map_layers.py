"""The layout of a small website's map by layers: how many steps each screen is from the entry screen. Pure functions.

Also, which screens a navigation bar leads to: nearly every screen has a transition to them, and drawing these lines would hide all
others. Large websites are laid out by groups (`site_map_layout`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MOST_SCREENS = 120
"""Screens of a website that is drawn by layers."""
SHARE, FEWEST_SCREENS = 0.5, 5
"""A screen is in the navigation if this share of the other screens leads to it, and at least so many."""
MOST_ROWS = 24

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: its name, and its screens by column and row."""

    name: str
    columns: tuple[tuple[str, ...], ...]


def build_layers(
    depths: Mapping[str, int],
    screens: Iterable[str],
    pairs: Iterable[Pair],
    *,
    column: float,
    row: float,
    shape: float,
) -> list[Layer]:
    """Return the layers, the start first: the screens that no transition leads to, else the entry; those that are not reached last.

    A long layer has several columns: as many rows are used as bring the map closest to the aspect ratio `shape`. `column` and `row`:
    the size of one place with its gap.
    """
    by_depth: defaultdict[int | None, list[str]] = defaultdict(list)
    for screen in sorted(screens):
        by_depth[depths.get(screen)].append(screen)
    ordered = _order(by_depth, pairs)
    if not ordered:
        return []
    rows = min(
        range(1, MOST_ROWS + 1),
        key=lambda many: abs(
            math.log(
                sum(math.ceil(len(each) / many) for _, each in ordered)
                * column
                / (_tallest(ordered, many) * row)
                / shape
            )
        ),
    )
    return [Layer(_name(depth), tuple(_columns(own, rows))) for depth, own in ordered]


def find_navigation(pairs: Iterable[Pair], screens: int) -> dict[str, int]:
    """Return the screens that a navigation bar leads to, with the number of screens that lead there."""
    leading: defaultdict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        leading[target].add(source)
    least = max(FEWEST_SCREENS, SHARE * (screens - 1))
    return {target: len(own) for target, own in sorted(leading.items()) if len(own) >= least}


def fold_navigation(
    pairs: Sequence[Pair], navigation: Mapping[str, int], depths: Mapping[str, int]
) -> list[Pair]:
    """Return the pairs without those of the navigation, except the first one on the way from the entry to each screen of it."""
    first: dict[str, Pair] = {}
    for pair in sorted(pairs, key=lambda pair: (depths.get(pair[0], math.inf), pair)):
        if pair[1] in navigation and depths.get(pair[0], math.inf) < depths.get(pair[1], math.inf):
            first.setdefault(pair[1], pair)
    kept = set(first.values())
    return [pair for pair in pairs if pair[1] not in navigation or pair in kept]


def _order(
    by_depth: Mapping[int | None, list[str]], pairs: Iterable[Pair]
) -> list[tuple[int | None, list[str]]]:
    """Return the layers in their order, with screens near those of the layer before that lead to them."""
    known = sorted(depth for depth in by_depth if depth is not None)
    leading: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        leading[target].append(source)
    place: dict[str, float] = {}
    ordered: list[tuple[int | None, list[str]]] = []
    for depth in known:
        own = by_depth[depth]

        def middle(screen: str) -> tuple[float, str]:
            before = [place[each] for each in leading[screen] if each in place]
            return (sum(before) / len(before) if before else math.inf, screen)

        own = sorted(own, key=middle)
        place.update({screen: number / max(1, len(own) - 1) for number, screen in enumerate(own)})
        ordered.append((depth, own))
    if None in by_depth:
        ordered.append((None, by_depth[None]))
    return ordered


def _tallest(ordered: Sequence[tuple[int | None, list[str]]], rows: int) -> int:
    return max(min(rows, len(own)) for _, own in ordered)


def _columns(screens: Sequence[str], rows: int) -> Iterable[tuple[str, ...]]:
    """Return columns of nearly equal length, none longer than `rows`."""
    many = math.ceil(len(screens) / rows)
    size = math.ceil(len(screens) / many)
    return (tuple(screens[n : n + size]) for n in range(0, len(screens), size))


def _name(depth: int | None) -> str:
    if depth is None:
        return "Not reached"
    return "Start" if depth == 0 else f"{depth} step{'' if depth == 1 else 's'}"
