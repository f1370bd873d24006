"""The discovery strategies (PACTS 5): functions of the page index, registered by name.

A strategy yields the elements that the words could mean and how well each fits. `candidate_ranking`
decides which element is meant; `selector_strategies` writes its selector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from agent.locators.element_descriptions import DescriptionReading
from agent.locators.element_texts import ElementTexts
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind, RootKind
from agent.locators.word_comparison import WordFit, compare_words


class DiscoveryFit(IntEnum):
    """How well an element fits the description. Elements with the same best fit are ambiguous."""

    NEIGHBOUR_BEGINS = 1
    """The text beside it begins with the words."""
    IDENTITY = 2
    """Its id, name or test id equals the words."""
    BEGINS = 3
    """Its own text begins with the words."""
    ALONE = 4
    """It is the only element of its kind in the region that the words name."""
    NEIGHBOUR = 5
    """The text beside it equals the words: the text before it, or the header of its column."""
    PLURAL = 6
    """Its own text equals the words except for a plural."""
    TITLE = 7
    """Its tooltip equals the words."""
    EXACT = 8
    """Its own text equals the words."""


@dataclass(frozen=True, slots=True)
class DiscoveryMatch:
    """An element that a strategy found."""

    element: IndexedElement
    fit: DiscoveryFit
    matched_text: str
    """The text on the page that matched the words."""


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """The elements that may be meant, filtered by action, region and role."""

    index: PageIndex
    texts: ElementTexts
    elements: tuple[IndexedElement, ...]
    among: frozenset[int] | None
    """Positions of `elements` in the index; None if no element was filtered out."""


Ranking = Callable[[DescriptionReading, CandidatePool], Iterator[DiscoveryMatch]]


@dataclass(frozen=True, slots=True)
class DiscoveryStrategy:
    """A registered discovery strategy."""

    name: str
    confidence: float
    """Confidence in its results, 0 to 1 (PACTS 5.1)."""
    candidates: Ranking


STRATEGIES: dict[str, DiscoveryStrategy] = {}
"""The strategies by name, in the order of PACTS 5.1."""

_FIELD_TAGS = ("input", "select", "textarea")
_BESIDE = {
    WordFit.EXACT: DiscoveryFit.NEIGHBOUR,
    WordFit.PLURAL: DiscoveryFit.NEIGHBOUR_BEGINS,
    WordFit.BEGINS: DiscoveryFit.NEIGHBOUR_BEGINS,
}
_OWN = {
    WordFit.EXACT: DiscoveryFit.EXACT,
    WordFit.PLURAL: DiscoveryFit.PLURAL,
    WordFit.BEGINS: DiscoveryFit.BEGINS,
}


def register_discovery_strategy(name: str, confidence: float) -> Callable[[Ranking], Ranking]:
    """Return a decorator that registers a strategy. Raises `ValueError` for a name that is registered already."""

    def register(candidates: Ranking) -> Ranking:
        if name in STRATEGIES:
            raise ValueError(f"discovery strategy {name!r} is already registered; choose another name")
        STRATEGIES[name] = DiscoveryStrategy(name, confidence, candidates)
        return candidates

    return register


def _by_text(
    kind: str, reading: DescriptionReading, pool: CandidatePool, fits: Mapping[WordFit, DiscoveryFit] = _OWN
) -> Iterator[DiscoveryMatch]:
    for element, text, fit in pool.texts.find(kind, reading.words, pool.among):
        if fit in fits:
            yield DiscoveryMatch(element, fits[fit], text)


@register_discovery_strategy("label", 0.92)
def find_by_label(reading: DescriptionReading, pool: CandidatePool) -> Iterator[DiscoveryMatch]:
    """Find fields by their label (PACTS 5.2)."""
    return _by_text("label", reading, pool)


@register_discovery_strategy("placeholder", 0.88)
def find_by_placeholder(reading: DescriptionReading, pool: CandidatePool) -> Iterator[DiscoveryMatch]:
    """Find fields by their placeholder (PACTS 5.3)."""
    return _by_text("placeholder", reading, pool)


@register_discovery_strategy("role_name", 0.95)
def find_by_role_and_name(reading: DescriptionReading, pool: CandidatePool) -> Iterator[DiscoveryMatch]:
    """Find elements by accessible name, text or title (PACTS 5.4)."""
    yield from _by_text("own", reading, pool)
    yield from _by_text("title", reading, pool, {WordFit.EXACT: DiscoveryFit.TITLE})


@register_discovery_strategy("relational_css", 0.85)
def find_by_relation(reading: DescriptionReading, pool: CandidatePool) -> Iterator[DiscoveryMatch]:
    """Find fields by their column header or the text before them, or as the only field in a region."""
    if not reading.words:
        if len(pool.elements) == 1:
            yield DiscoveryMatch(pool.elements[0], DiscoveryFit.ALONE, "")
        return
    for match in _by_text("beside", reading, pool, _BESIDE):
        element = match.element
        if element.tag in _FIELD_TAGS and element.role != "button" and not element.label:
            yield match  # other elements have a text of their own
    yield from _alone_in_region(reading, pool)


def _alone_in_region(reading: DescriptionReading, pool: CandidatePool) -> Iterator[DiscoveryMatch]:
    """Find a field without a name in a region that the words name: a list below a heading, a checkbox in a row."""
    by_region: dict[int, list[IndexedElement]] = {}
    for element in pool.elements:
        if not element.name and element.region is not None and element.tag in _FIELD_TAGS:
            by_region.setdefault(element.region, []).append(element)
    for at, fields in by_region.items():
        region = pool.index.regions[at]
        texts = region.texts if region.kind in (RegionKind.ROW, RegionKind.ITEM) else ()
        if len(fields) == 1 and any(
            compare_words(reading.words, name) is WordFit.EXACT for name in (region.name, *texts)
        ):
            yield DiscoveryMatch(fields[0], DiscoveryFit.ALONE, region.name)


@register_discovery_strategy("shadow_pierce", 0.80)
def find_in_shadow_roots(reading: DescriptionReading, pool: CandidatePool) -> Iterator[DiscoveryMatch]:
    """Find elements in shadow roots by accessible name, text or label."""
    roots = pool.index.roots
    if any(root.kind is RootKind.SHADOW for root in roots):
        for kind in ("own", "label"):
            for match in _by_text(kind, reading, pool):
                if roots[match.element.root].kind is RootKind.SHADOW:
                    yield match


@register_discovery_strategy("fallback_css", 0.70)
def find_by_identity(reading: DescriptionReading, pool: CandidatePool) -> Iterator[DiscoveryMatch]:
    """Find elements whose id, test id or field name equals the words."""
    return _by_text("identity", reading, pool, {WordFit.EXACT: DiscoveryFit.IDENTITY})


DEFAULT_ORDER = tuple(STRATEGIES)
"""The order of PACTS 5.1. A website may have its own (`Website.strategy_order`)."""
