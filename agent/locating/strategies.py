"""The discovery strategies (PACTS 5): each a pure ranking over the index, one registered entry.

A strategy says which elements the words could mean and how well they fit. Which of them is meant is
decided in `ranking`; how an element is written down as a selector in `expressing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from agent.locating.index import IndexedElement, PageIndex, RegionKind, RootKind
from agent.locating.wanted import Reading
from agent.locating.words import Grade, grade


class Fit(IntEnum):
    """How well an element fits what is wanted. What is equally good is ambiguous."""

    NEIGHBOUR_BEGINS = 1
    IDENTITY = 2
    """Its id, name or test id says the words."""
    BEGINS = 3
    """What it says itself begins with the words."""
    ALONE = 4
    """The only thing of its kind in the region the words name."""
    NEIGHBOUR = 5
    """The words stand beside it: before it, or at the head of its column."""
    PLURAL = 6
    TITLE = 7
    """What it says when the pointer rests on it."""
    EXACT = 8
    """What it says itself."""


@dataclass(frozen=True, slots=True)
class Match:
    """An element a strategy takes for the one that is meant."""

    element: IndexedElement
    fit: Fit
    said: str
    """The text of the page that fitted."""


Ranking = Callable[[Reading, tuple[IndexedElement, ...], PageIndex], Iterator[Match]]


@dataclass(frozen=True, slots=True)
class DiscoveryStrategy:
    """One rung of the ladder."""

    name: str
    confidence: float
    """PACTS 5.1."""
    candidates: Ranking


STRATEGIES: dict[str, DiscoveryStrategy] = {}
"""By name, in PACTS's documented order."""

_FIELD_TAGS = ("input", "select", "textarea")
_OWN = {Grade.EXACT: Fit.EXACT, Grade.PLURAL: Fit.PLURAL, Grade.BEGINS: Fit.BEGINS}


def strategy(name: str, confidence: float) -> Callable[[Ranking], Ranking]:
    """Register a strategy. Raises `ValueError` where the name is taken."""

    def register(candidates: Ranking) -> Ranking:
        if name in STRATEGIES:
            raise ValueError(f"discovery strategy {name!r} is taken")
        STRATEGIES[name] = DiscoveryStrategy(name, confidence, candidates)
        return candidates

    return register


def _by_own(element: IndexedElement, words: str, *texts: str) -> Iterator[Match]:
    for text in texts:
        said = grade(words, text)
        if said is not Grade.NOT:
            yield Match(element, _OWN[said], text)


@strategy("label", 0.92)
def by_label(reading: Reading, pool: tuple[IndexedElement, ...], _index: PageIndex) -> Iterator[Match]:
    """Fields by what labels them (PACTS 5.2)."""
    for element in pool:
        if element.label:
            yield from _by_own(element, reading.words, element.label)


@strategy("placeholder", 0.88)
def by_placeholder(reading: Reading, pool: tuple[IndexedElement, ...], _index: PageIndex) -> Iterator[Match]:
    """Fields by their placeholder (PACTS 5.3)."""
    for element in pool:
        if element.placeholder:
            yield from _by_own(element, reading.words, element.placeholder)


@strategy("role_name", 0.95)
def by_role_and_name(
    reading: Reading, pool: tuple[IndexedElement, ...], _index: PageIndex
) -> Iterator[Match]:
    """Anything by its accessible name, its text or its title (PACTS 5.4)."""
    for element in pool:
        yield from _by_own(element, reading.words, element.name, element.text)
        title = element.attributes.get("title", "")
        if title and grade(reading.words, title) is Grade.EXACT:
            yield Match(element, Fit.TITLE, title)


@strategy("relational_css", 0.85)
def by_relation(reading: Reading, pool: tuple[IndexedElement, ...], index: PageIndex) -> Iterator[Match]:
    """By what stands beside it: its column, the text before it; or as the only one in a region."""
    if not reading.words:
        if len(pool) == 1:
            yield Match(pool[0], Fit.ALONE, "")
        return
    for element in pool:
        if element.label or element.tag not in _FIELD_TAGS:
            continue  # it says itself what it is
        beside = (element.near.column, element.near.before, element.near.after if _ticked(element) else "")
        for text in beside:
            said = grade(reading.words, text)
            if said is Grade.EXACT:
                yield Match(element, Fit.NEIGHBOUR, text)
            elif said is not Grade.NOT:
                yield Match(element, Fit.NEIGHBOUR_BEGINS, text)
    yield from _alone_in_region(reading, pool, index)


def _ticked(element: IndexedElement) -> bool:
    return element.checked is not None


def _alone_in_region(reading: Reading, pool: tuple[IndexedElement, ...], index: PageIndex) -> Iterator[Match]:
    """A nameless field in a region the words name: the list below a heading, the box in a row."""
    by_region: dict[int, list[IndexedElement]] = {}
    for element in pool:
        if element.region is not None and not element.name and element.tag in _FIELD_TAGS:
            by_region.setdefault(element.region, []).append(element)
    for at, fields in by_region.items():
        region = index.regions[at]
        names = (
            (region.name, *region.texts)
            if region.kind in (RegionKind.ROW, RegionKind.ITEM)
            else (region.name,)
        )
        if len(fields) == 1 and any(grade(reading.words, name) is Grade.EXACT for name in names):
            yield Match(fields[0], Fit.ALONE, region.name)


@strategy("shadow_pierce", 0.80)
def by_piercing(reading: Reading, pool: tuple[IndexedElement, ...], index: PageIndex) -> Iterator[Match]:
    """What stands in shadow roots, by whatever it says."""
    for element in pool:
        if index.roots[element.root].kind is RootKind.SHADOW:
            yield from _by_own(element, reading.words, element.name, element.text, element.label)


@strategy("fallback_css", 0.70)
def by_identity(reading: Reading, pool: tuple[IndexedElement, ...], _index: PageIndex) -> Iterator[Match]:
    """By an id, a test id or a field name that says the words."""
    for element in pool:
        for text in element.identities:
            if grade(reading.words, text) is Grade.EXACT:
                yield Match(element, Fit.IDENTITY, text)


DEFAULT_ORDER = tuple(STRATEGIES)
"""PACTS 5.1. A website may have its own (`Website.strategy_order`)."""
