"""When a way is taken, by what was on the pages before it (MA *beyond*: branch conditions are inferred).

Asked in this order: is the thing that is acted on there exactly where it was acted on; does a sign of
the page separate the pages, also those that were held back when it was chosen (leave one out); does an
input separate the runs. What none of them tells is not decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.synthesis.pages import Pages
from kb_schema.conditions import Combined, Condition, ContextEquals, ElementVisible
from kb_schema.pages.candidates import IndicatorCandidate, SketchBook
from kb_schema.pages.sketch import Sketch
from kb_schema.selectors import Selector, SessionStrategy

MOST_PAGES = 12
"""Pages of a side that are looked at; more only repeat themselves."""
LEAVE_ONE_OUT = 2
"""Pages that each side needs: one to hold back, one to choose by."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A page at the moment of a decision."""

    html: str
    url: str | None


@dataclass(frozen=True, slots=True)
class Decision:
    """A condition that separates, and what that rests on."""

    condition: Condition
    source: str
    """`target`, `page` or `input`."""
    evidence: str


class Deciding:
    """Looks for conditions on the pages of traces."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def by_target(self, target: Selector, taken: Sequence[Sight], other: Sequence[Sight]) -> Decision | None:
        """The element is there where it was acted on, and nowhere else."""
        if not taken or not other or not usable(target):
            return None
        here, there = self._sightings(target, taken), self._sightings(target, other)
        if not all(here) or any(there):
            return None
        told = f"its element was there in {len(here)} of {len(here)} and in 0 of {len(there)} others"
        return Decision(ElementVisible(type="element_visible", element=target), "target", told)

    def ignored(self, target: Selector, other: Sequence[Sight]) -> bool:
        """Whether it was there for all those who did not act on it."""
        return bool(other) and usable(target) and all(self._sightings(target, other))

    def by_page(self, taken: Sequence[Sight], other: Sequence[Sight]) -> Decision | None:
        """A sign that every page of one side shows and no page of the other, those held back included."""
        here, there = self._sketches(taken), self._sketches(other)
        if min(len(here), len(there)) < LEAVE_ONE_OUT:
            return None
        found = _separator(here, there)
        if found is not None and _survives(here, there):
            return _decided(found.condition, found, len(here), len(there))
        # What only the others show tells as well.
        opposite = _separator(there, here)
        if opposite is None or not _survives(there, here):
            return None
        condition = Combined(type="none_of", conditions=(opposite.condition,))
        return _decided(condition, opposite, len(there), len(here))

    def by_input(
        self, taken: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]
    ) -> Decision | None:
        """An input has one value in all runs of one side and in none of the other."""
        if min(len(taken), len(other)) < LEAVE_ONE_OUT:
            return None
        names = set.intersection(*(set(data) for data in taken))
        for name in sorted(names):
            values = [data[name] for data in taken]
            plain = isinstance(values[0], str | int | bool) and values[0] not in ("", None)
            if plain and all(each == values[0] for each in values):
                if any(data.get(name) == values[0] for data in other):
                    continue
                told = (
                    f"{name} is {values[0]!r} in these {len(taken)} runs and in none of {len(other)} others"
                )
                return Decision(
                    ContextEquals(type="context_equals", name=name, value=values[0]), "input", told
                )
        return None

    def _sightings(self, target: Selector, sights: Sequence[Sight]) -> list[bool]:
        pages = (self._pages.get(sight.html, sight.url) for sight in _few(sights))
        return [page.shows(target) for page in pages if page is not None]

    def _sketches(self, sights: Sequence[Sight]) -> list[Sketch]:
        found = (self._pages.sketch(sight.html, sight.url) for sight in _few(sights))
        return [each for each in found if each is not None]


def usable(target: Selector) -> bool:
    """Whether a page can be asked for it."""
    return any(not isinstance(each, SessionStrategy) for each in target.strategies)


def _few(sights: Sequence[Sight]) -> Iterable[Sight]:
    return sorted(dict.fromkeys(sights), key=lambda each: (each.html, each.url or ""))[:MOST_PAGES]


def _separator(taken: Sequence[Sketch], other: Sequence[Sketch]) -> IndicatorCandidate | None:
    book = SketchBook([*taken, *other])
    return book.separator(range(len(taken)), range(len(taken), len(taken) + len(other)))


def _survives(taken: Sequence[Sketch], other: Sequence[Sketch]) -> bool:
    """Whether what is chosen without a page is right about that page, for every page."""
    for number, held_back in enumerate(taken):
        chosen = _separator([*taken[:number], *taken[number + 1 :]], other)
        if chosen is None or not any(map(held_back.shows, chosen.signs)):
            return False
    for number, held_back in enumerate(other):
        chosen = _separator(taken, [*other[:number], *other[number + 1 :]])
        if chosen is None or any(map(held_back.shows, chosen.signs)):
            return False
    return True


def _decided(condition: Condition, found: IndicatorCandidate, showing: int, others: int) -> Decision:
    said = ", ".join(f"{sign.kind} {sign.text!r}" for sign in found.signs)
    told = f"{said} on {showing} of {showing} pages and on 0 of {others}; each page held back was told right"
    return Decision(condition, "page", told)
