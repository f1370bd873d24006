"""What somebody asks for in plain words, and the ways to read it.

"Save", "Save@LoginForm", "Delete@row Bob", "row Bob", "the Save button in the LoginForm region".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agent.locating.asking import LEAST_LETTERS, Question
from agent.locating.index import RegionKind
from agent.locating.roles import ROLE_WORDS
from agent.locating.words import core, plain

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
"""What a word before or behind a region's name says of its kind."""


@dataclass(frozen=True, slots=True)
class RegionWords:
    """A region as it was called; `kinds` None where no word said one."""

    words: str
    kinds: frozenset[RegionKind] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """An element as somebody calls it."""

    words: str
    """As written; `plain` makes it comparable."""
    action: str | None = None
    """What is to be done to it, by any name the vocabulary knows; None: nothing in particular."""
    region: str | None = None
    """Where it is, as written; else it may stand in `words` behind an `@`."""

    def __str__(self) -> str:
        return f"{self.words}@{self.region}" if self.region else self.words


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand what is wanted."""

    words: str
    """Plain words of the element; empty: whatever the region has that fits."""
    roles: frozenset[str] | None = None
    """The roles its last word says."""
    regions: tuple[RegionWords, ...] = ()
    """Ways to understand the region; none: the whole page."""


def readings(wanted: Wanted) -> Iterator[Reading]:
    """The ways to read it, the most literal first."""
    words, region = wanted.words.strip(), wanted.region
    if region is None:
        yield from _with_nouns(Reading(plain(words)))
        named = _IN_REGION.match(words)
        if named:
            words, region = named["words"], named["region"]
        elif "@" in words:
            words, _, region = words.rpartition("@")
        elif plain(words).split(" ")[0] in KIND_WORDS:
            words, region = "", words
        else:
            return
    regions = tuple(_region_readings(region))
    if regions:
        yield from _with_nouns(Reading(plain(words) if words.strip() else "", regions=regions))


def question(wanted: Sequence[Wanted]) -> Question | None:
    """What a look must read to answer all of these; None where that is everything."""
    read = [reading for each in wanted for reading in readings(each)]
    if any(len(core(reading.words)) < LEAST_LETTERS for reading in read):
        return None
    return Question(frozenset(each.words for each in read), any(each.regions for each in read))


def _with_nouns(reading: Reading) -> Iterator[Reading]:
    """The words as they are, then without an article and without a last word that says the role."""
    yield reading
    words = reading.words.removeprefix("the ")
    for noun, roles in ROLE_WORDS.items():
        if words == noun and reading.regions:
            yield replace(reading, words="", roles=roles)
        elif words.endswith(f" {noun}"):
            yield replace(reading, words=words.removesuffix(f" {noun}"), roles=roles)
    if words != reading.words:
        yield replace(reading, words=words)


def _region_readings(region: str) -> Iterator[RegionWords]:
    words = plain(region).removeprefix("the ").removesuffix(" region")
    if not words:
        return
    yield RegionWords(words)
    first, _, rest = words.partition(" ")
    if rest and first in KIND_WORDS:
        yield RegionWords(rest, KIND_WORDS[first])
    start, _, last = words.rpartition(" ")
    if start and last in KIND_WORDS:
        yield RegionWords(start, KIND_WORDS[last])
