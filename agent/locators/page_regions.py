"""Finds the regions of a page that words mean: by name, content, id or kind."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from agent.locators.element_descriptions import RegionDescription
from agent.locators.page_index import IndexedElement, IndexedRegion, PageIndex, RegionKind
from agent.locators.word_comparison import WordFit, compare_words, normalize_words


class RegionFit(IntEnum):
    """How well a region fits the words of its description."""

    NOT = 0
    KIND = 1
    """The words only name its kind: `navigation`, `dialog`."""
    PIECE_BEGINS = 2
    """A text of a row or an item begins with the words."""
    BEGINS = 3
    PLURAL = 4
    IDENTITY = 5
    """Its id or test id equals the words."""
    NAMED = 6
    """Its name, or a text of a row or an item, equals the words."""


ROLE_NAMES = {
    "navigation": "navigation",
    "nav": "navigation",
    "main": "main",
    "banner": "banner",
    "header": "banner",
    "footer": "contentinfo",
    "search": "search",
    "sidebar": "complementary",
    "dialog": "dialog",
    "modal": "dialog",
    "form": "form",
    "table": "table",
}
"""Words for regions without a name, and their ARIA roles."""

_BY_GRADE = {
    WordFit.EXACT: RegionFit.NAMED,
    WordFit.PLURAL: RegionFit.PLURAL,
    WordFit.BEGINS: RegionFit.BEGINS,
}
_IDENTITIES = ("id", "name", "data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")


def find_regions(index: PageIndex, readings: tuple[RegionDescription, ...]) -> frozenset[int]:
    """Return the positions of the regions with the best fit; empty if no region fits."""
    best, found = RegionFit.NOT, set[int]()
    for at, region in enumerate(index.regions):
        fit = max(_fit(index, region, reading) for reading in readings)
        if fit > best:
            best, found = fit, {at}
        elif fit == best and fit is not RegionFit.NOT:
            found.add(at)
    return frozenset(found)


def stands_in(index: PageIndex, element: IndexedElement, regions: frozenset[int]) -> bool:
    """Return whether one of the regions contains the element."""
    at = element.region
    while at is not None:
        if at in regions:
            return True
        at = index.regions[at].parent
    return False


def _fit(index: PageIndex, region: IndexedRegion, reading: RegionDescription) -> RegionFit:
    if reading.kinds is not None and region.kind not in reading.kinds:
        return RegionFit.NOT
    return max(_fits(index, region, reading), default=RegionFit.NOT)


def _fits(index: PageIndex, region: IndexedRegion, reading: RegionDescription) -> Iterator[RegionFit]:
    element, words = index.elements[region.element], reading.words
    if region.name:
        yield _BY_GRADE.get(compare_words(words, region.name), RegionFit.NOT)
    for text in region.texts:
        fit = compare_words(words, text)
        yield RegionFit.NAMED if fit is WordFit.EXACT else _piece_fit(fit)
    if region.kind not in (RegionKind.SECTION, RegionKind.FIELD):
        if any(
            normalize_words(element.attributes[name]) == words
            for name in _IDENTITIES
            if name in element.attributes
        ):
            yield RegionFit.IDENTITY
        if ROLE_NAMES.get(words) == element.role:
            yield RegionFit.KIND


def _piece_fit(fit: WordFit) -> RegionFit:
    return RegionFit.PIECE_BEGINS if fit is not WordFit.NOT else RegionFit.NOT
