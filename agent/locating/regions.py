"""Finds the regions of a page that words mean: by name, by what they hold, by id, by kind."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from agent.locating.index import IndexedElement, IndexedRegion, PageIndex, RegionKind
from agent.locating.wanted import RegionWords
from agent.locating.words import Grade, grade, plain


class RegionFit(IntEnum):
    """How well a region fits its words."""

    NOT = 0
    KIND = 1
    """The words only say what it is: `navigation`, `dialog`."""
    PIECE_BEGINS = 2
    BEGINS = 3
    PLURAL = 4
    IDENTITY = 5
    """Its id or test id says the words."""
    NAMED = 6
    """Its name, or one text of a row or an item, is the words."""


ROLE_NAMES = {
    "navigation": "navigation", "nav": "navigation", "main": "main", "banner": "banner", "header": "banner",
    "footer": "contentinfo", "search": "search", "sidebar": "complementary", "dialog": "dialog",
    "modal": "dialog", "form": "form", "table": "table",
}  # fmt: skip
"""Words for regions that have no name."""

_BY_GRADE = {Grade.EXACT: RegionFit.NAMED, Grade.PLURAL: RegionFit.PLURAL, Grade.BEGINS: RegionFit.BEGINS}
_IDENTITIES = ("id", "name", "data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")


def meant_regions(index: PageIndex, readings: tuple[RegionWords, ...]) -> frozenset[int]:
    """Positions of the regions that fit best, equally well; empty where none fits."""
    best, found = RegionFit.NOT, set[int]()
    for at, region in enumerate(index.regions):
        fit = max(_fit(index, region, reading) for reading in readings)
        if fit > best:
            best, found = fit, {at}
        elif fit == best and fit is not RegionFit.NOT:
            found.add(at)
    return frozenset(found)


def stands_in(index: PageIndex, element: IndexedElement, regions: frozenset[int]) -> bool:
    """Whether an element stands in one of the regions."""
    at = element.region
    while at is not None:
        if at in regions:
            return True
        at = index.regions[at].parent
    return False


def _fit(index: PageIndex, region: IndexedRegion, reading: RegionWords) -> RegionFit:
    if reading.kinds is not None and region.kind not in reading.kinds:
        return RegionFit.NOT
    return max(_fits(index, region, reading), default=RegionFit.NOT)


def _fits(index: PageIndex, region: IndexedRegion, reading: RegionWords) -> Iterator[RegionFit]:
    element, words = index.elements[region.element], reading.words
    if region.name:
        yield _BY_GRADE.get(grade(words, region.name), RegionFit.NOT)
    for text in region.texts:
        said = grade(words, text)
        yield RegionFit.NAMED if said is Grade.EXACT else _piece_begins(said)
    if region.kind not in (RegionKind.SECTION, RegionKind.FIELD):
        if any(
            plain(element.attributes[name]) == words for name in _IDENTITIES if name in element.attributes
        ):
            yield RegionFit.IDENTITY
        if ROLE_NAMES.get(words) == element.role:
            yield RegionFit.KIND


def _piece_begins(said: Grade) -> RegionFit:
    return RegionFit.PIECE_BEGINS if said is not Grade.NOT else RegionFit.NOT
