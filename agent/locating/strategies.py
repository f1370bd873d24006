"""The discovery strategies (PACTS 5): each a pure ranking over the index, one registered entry.

A strategy says which elements the words could mean and how well they fit. Which of them is meant is
decided in `ranking`; how an element is written down as a selector in `expressing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from agent.locating.index import IndexedElement, PageIndex, RegionKind, RootKind
from agent.locating.texts import Texts
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


@dataclass(frozen=True, slots=True)
class Pool:
    """The elements that may be meant: what the action, the region and the role leave over."""

    index: PageIndex
    texts: Texts
    elements: tuple[IndexedElement, ...]
    among: frozenset[int] | None
    """Their places; None where nothing was left out."""


Ranking = Callable[[Reading, Pool], Iterator[Match]]


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
_BESIDE = {
    Grade.EXACT: Fit.NEIGHBOUR,
    Grade.PLURAL: Fit.NEIGHBOUR_BEGINS,
    Grade.BEGINS: Fit.NEIGHBOUR_BEGINS,
}
_OWN = {Grade.EXACT: Fit.EXACT, Grade.PLURAL: Fit.PLURAL, Grade.BEGINS: Fit.BEGINS}


def strategy(name: str, confidence: float) -> Callable[[Ranking], Ranking]:
    """Register a strategy. Raises `ValueError` where the name is taken."""

    def register(candidates: Ranking) -> Ranking:
        if name in STRATEGIES:
            raise ValueError(f"discovery strategy {name!r} is taken")
        STRATEGIES[name] = DiscoveryStrategy(name, confidence, candidates)
        return candidates

    return register


def _by_text(kind: str, reading: Reading, pool: Pool, fits: Mapping[Grade, Fit] = _OWN) -> Iterator[Match]:
    for element, text, said in pool.texts.fitting(kind, reading.words, pool.among):
        if said in fits:
            yield Match(element, fits[said], text)


@strategy("label", 0.92)
def by_label(reading: Reading, pool: Pool) -> Iterator[Match]:
    """Fields by what labels them (PACTS 5.2)."""
    return _by_text("label", reading, pool)


@strategy("placeholder", 0.88)
def by_placeholder(reading: Reading, pool: Pool) -> Iterator[Match]:
    """Fields by their placeholder (PACTS 5.3)."""
    return _by_text("placeholder", reading, pool)


@strategy("role_name", 0.95)
def by_role_and_name(reading: Reading, pool: Pool) -> Iterator[Match]:
    """Anything by its accessible name, its text or its title (PACTS 5.4)."""
    yield from _by_text("own", reading, pool)
    yield from _by_text("title", reading, pool, {Grade.EXACT: Fit.TITLE})


@strategy("relational_css", 0.85)
def by_relation(reading: Reading, pool: Pool) -> Iterator[Match]:
    """By what stands beside it: its column, the text before it; or as the only one in a region."""
    if not reading.words:
        if len(pool.elements) == 1:
            yield Match(pool.elements[0], Fit.ALONE, "")
        return
    for match in _by_text("beside", reading, pool, _BESIDE):
        element = match.element
        if element.tag in _FIELD_TAGS and element.role != "button" and not element.label:
            yield match  # the others say themselves what they are
    yield from _alone_in_region(reading, pool)


def _alone_in_region(reading: Reading, pool: Pool) -> Iterator[Match]:
    """A nameless field in a region the words name: the list below a heading, the box in a row."""
    by_region: dict[int, list[IndexedElement]] = {}
    for element in pool.elements:
        if not element.name and element.region is not None and element.tag in _FIELD_TAGS:
            by_region.setdefault(element.region, []).append(element)
    for at, fields in by_region.items():
        region = pool.index.regions[at]
        held = region.texts if region.kind in (RegionKind.ROW, RegionKind.ITEM) else ()
        if len(fields) == 1 and any(
            grade(reading.words, name) is Grade.EXACT for name in (region.name, *held)
        ):
            yield Match(fields[0], Fit.ALONE, region.name)


@strategy("shadow_pierce", 0.80)
def by_piercing(reading: Reading, pool: Pool) -> Iterator[Match]:
    """What stands in shadow roots, by whatever it says."""
    roots = pool.index.roots
    if any(root.kind is RootKind.SHADOW for root in roots):
        for kind in ("own", "label"):
            for match in _by_text(kind, reading, pool):
                if roots[match.element.root].kind is RootKind.SHADOW:
                    yield match


@strategy("fallback_css", 0.70)
def by_identity(reading: Reading, pool: Pool) -> Iterator[Match]:
    """By an id, a test id or a field name that says the words."""
    return _by_text("identity", reading, pool, {Grade.EXACT: Fit.IDENTITY})


DEFAULT_ORDER = tuple(STRATEGIES)
"""PACTS 5.1. A website may have its own (`Website.strategy_order`)."""
