"""Parses descriptions of elements in plain words into readings.

Examples: "Save", "Save@LoginForm", "Delete@row Bob", "row Bob", "the Save button in the LoginForm region".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agent.locators.page_index import RegionKind
from agent.locators.role_hints import ROLE_WORDS
from agent.locators.scan_query import LEAST_LETTERS, ScanQuery
from agent.locators.word_comparison import build_letter_key, normalize_words

_IN_REGION = re.compile(
    r"^(?:the )?(?P<words>.+?) (?:in|of|on) (?:the )?(?P<region>.+?) region$", re.IGNORECASE
)

KIND_WORDS: dict[str, frozenset[RegionKind]] = {
    "form": frozenset({RegionKind.FORM}),
    "dialog": frozenset({RegionKind.DIALOG}),
    "modal": frozenset({RegionKind.DIALOG}),
    "popup": frozenset({RegionKind.DIALOG}),
    "section": frozenset({RegionKind.SECTION, RegionKind.GROUP, RegionKind.LANDMARK}),
    "group": frozenset({RegionKind.GROUP, RegionKind.FIELD}),
    "panel": frozenset({RegionKind.GROUP, RegionKind.SECTION, RegionKind.LANDMARK}),
    "card": frozenset({RegionKind.GROUP, RegionKind.SECTION, RegionKind.LANDMARK}),
    "table": frozenset({RegionKind.TABLE}),
    "row": frozenset({RegionKind.ROW, RegionKind.ITEM}),
    "item": frozenset({RegionKind.ITEM, RegionKind.ROW}),
}
"""Words before or after a region's name, and the kinds of regions they mean."""


@dataclass(frozen=True, slots=True)
class RegionDescription:
    """Words that name a region. `kinds` is None if no word names a kind."""

    words: str
    kinds: frozenset[RegionKind] | None = None


@dataclass(frozen=True, slots=True)
class ElementDescription:
    """An element described in plain words."""

    words: str
    """As written; `normalize_words` makes it comparable."""
    action: str | None = None
    """Name or alias of the action to perform on the element; None: no particular action."""
    region: str | None = None
    """The region that contains it, as written; None: `words` may name it after an `@`."""

    def __str__(self) -> str:
        return f"{self.words}@{self.region}" if self.region else self.words


@dataclass(frozen=True, slots=True)
class DescriptionReading:
    """One interpretation of a description."""

    words: str
    """Normalized words of the element; empty: any fitting element of the region."""
    roles: frozenset[str] | None = None
    """The roles that the last word means; None: any role."""
    regions: tuple[RegionDescription, ...] = ()
    """Interpretations of the region; empty: the whole page."""


def list_readings(wanted: ElementDescription) -> Iterator[DescriptionReading]:
    """Yield the interpretations of a description, the most literal first."""
    words, region = wanted.words.strip(), wanted.region
    if region is None:
        yield from _with_nouns(DescriptionReading(normalize_words(words)))
        named = _IN_REGION.match(words)
        if named:
            words, region = named["words"], named["region"]
        elif "@" in words:
            words, _, region = words.rpartition("@")
        elif normalize_words(words).split(" ")[0] in KIND_WORDS:
            words, region = "", words
        else:
            return
    regions = tuple(_region_readings(region))
    if regions:
        yield from _with_nouns(
            DescriptionReading(normalize_words(words) if words.strip() else "", regions=regions)
        )


def build_scan_query(wanted: Sequence[ElementDescription]) -> ScanQuery | None:
    """Return the query for a page scan that finds all these elements; None if the scan must read everything."""
    readings = [reading for each in wanted for reading in list_readings(each)]
    if any(len(build_letter_key(reading.words)) < LEAST_LETTERS for reading in readings):
        return None
    return ScanQuery(frozenset(each.words for each in readings), any(each.regions for each in readings))


def _with_nouns(reading: DescriptionReading) -> Iterator[DescriptionReading]:
    """Yield the words as they are, then without an article and without a last word that means a role."""
    yield reading
    words = reading.words.removeprefix("the ")
    for noun, roles in ROLE_WORDS.items():
        if words == noun and reading.regions:
            yield replace(reading, words="", roles=roles)
        elif words.endswith(f" {noun}"):
            yield replace(reading, words=words.removesuffix(f" {noun}"), roles=roles)
    if words != reading.words:
        yield replace(reading, words=words)


def _region_readings(region: str) -> Iterator[RegionDescription]:
    words = normalize_words(region).removeprefix("the ").removesuffix(" region")
    if not words:
        return
    yield RegionDescription(words)
    first, _, rest = words.partition(" ")
    if rest and first in KIND_WORDS:
        yield RegionDescription(rest, KIND_WORDS[first])
    start, _, last = words.rpartition(" ")
    if start and last in KIND_WORDS:
        yield RegionDescription(start, KIND_WORDS[last])
