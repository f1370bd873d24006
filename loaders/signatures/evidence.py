"""All pages of a site at once, asked which of them show what and are where: what signatures are chosen by.

Pages are bits of numbers, so that a thousand of them are asked in one step. Not here: which signs are
taken (`choosing`), and what comes of them (`learning`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import commonprefix

from kb_schema.pages.candidates import SketchBook
from kb_schema.pages.sketch import Sign
from loaders.signatures.addresses import Slots, fits, place
from loaders.signatures.seen import ObservedPage

DURABLE = {
    "heading": 0.95, "label": 1.0, "field": 0.95, "column": 0.95, "landmark": 0.8, "control": 0.85,
    "title": 0.8, "test_id": 0.75, "current": 0.55, "id": 0.5, "marker": 0.5, "text": 0.5,
}  # fmt: skip
"""How likely a sign of a kind is there still after a site was drawn anew: words and names of fields
outlive ids, ids for tests, classes."""
MOST_GROUPS = 150
"""Screens that a sign is compared on one by one; of more, their pages are counted."""

_LIKE_DATA = re.compile(
    r"""\d{1,4}[-/.:]\d{1,2} | \d\s?% | [\w.+-]+@[\w-]+\.\w | [€$£¥]\s?\d | \d[\d,.]*\s?[€$£¥] | \d{4,}
      | \b\d+\s+(?:results?|items?|of|rows?|entries|pages?|hours?|days?|minutes?)\b | ://""",
    re.VERBOSE | re.IGNORECASE,
)
MOST_OF_A_KIND = 100
"""Signs of a kind that are looked at for one screen, the shortest; each is looked for on all pages."""
_LONG = 50
_MANY = 3
"""Pages of a screen that show its states."""


@dataclass(frozen=True, slots=True)
class Trait:
    """A sign that pages of a screen show, and how far it is to be relied on."""

    sign: Sign
    mask: int
    """The pages on which its condition holds."""
    trust: float
    """From 0 to 1: how durable it is, and how unlike data."""
    passing: bool
    """Whether it is seen only where things come and go."""

    @property
    def words(self) -> str:
        """What it says, for comparing with others."""
        return self.sign.text.casefold().strip(" :*")


class Evidence:
    """Labelled pages, each once."""

    def __init__(self, pages: Sequence[ObservedPage]) -> None:
        self.pages = pages
        self.book = SketchBook([page.sketch for page in pages])
        self.all = (1 << len(pages)) - 1
        self.of: dict[str, int] = defaultdict(int)
        unlabelled: dict[tuple[str, ...], int] = defaultdict(int)
        for number, page in enumerate(pages):
            if page.screen is None:
                unlabelled[place(page.path)] |= 1 << number
            else:
                self.of[page.screen] |= 1 << number
        self._groups = [*((name, mask) for name, mask in self.of.items()), *(("", m) for m in unlabelled.values())]  # fmt: skip
        self._by_pattern: dict[str, int] = {}

    @cached_property
    def data(self) -> frozenset[str]:
        """Words of rows, items and fields on any page."""
        return frozenset().union(*(page.sketch.data for page in self.pages))

    @cached_property
    def slots(self) -> Slots:
        """Which parts of addresses vary."""
        return Slots([self.paths(mask) for mask in self.of.values()], self.data)

    def paths(self, mask: int) -> list[str]:
        """Where these pages are."""
        return [self.pages[number].path for number in numbers(mask)]

    def at(self, patterns: Iterable[str]) -> int:
        """The pages that any of the patterns fits; all of them where there is no pattern."""
        found, some = 0, False
        for pattern in patterns:
            some = True
            if pattern not in self._by_pattern:
                self._by_pattern[pattern] = bits(
                    number for number, page in enumerate(self.pages) if fits(pattern, page.path)
                )
            found |= self._by_pattern[pattern]
        return found if some else self.all

    def showing(self, signs: Iterable[Sign]) -> int:
        """The pages that show any of the signs."""
        mask = 0
        for sign in signs:
            mask |= self.book.mask(sign)
        return mask

    def elsewhere(self, mask: int, own: int, within: int) -> float:
        """The share of others among `within` that are in `mask`, each screen counting the same."""
        others = within & ~own
        if not others:
            return 0.0
        if len(self._groups) > MOST_GROUPS:
            return (mask & others).bit_count() / others.bit_count()
        shares = [
            (mask & part).bit_count() / part.bit_count()
            for _, group in self._groups
            if (part := group & others)
        ]
        return sum(shares) / len(shares)

    def groups(self, mask: int) -> Iterator[tuple[str, int]]:
        """These pages by the screens they are of; those of none by where they are."""
        return ((name, part) for name, group in self._groups if (part := group & mask))

    def traits(self, own: int) -> list[Trait]:
        """What at least half of a screen's pages show, the most reliable first."""
        least = own.bit_count() / 2
        seen: set[Sign] = set()
        for number in numbers(own):
            seen |= self.pages[number].sketch.signs
        found = []
        kept: Counter[str] = Counter()
        for sign in sorted(seen, key=_short_first):
            exact = self.book.exactly(sign) & own
            if exact.bit_count() < least or kept[sign.kind] == MOST_OF_A_KIND:
                continue
            kept[sign.kind] += 1
            passing = not self.book.steadily(sign) & own
            found.append(Trait(sign, self.book.mask(sign), self._trust(sign, own, passing=passing), passing))
        for sign in sorted(self._pieces(own) - seen, key=_fixed):
            mask = self.book.mask(sign)
            if (mask & own).bit_count() >= least:
                found.append(Trait(sign, mask, self._trust(sign, own, passing=False), passing=False))
        return found

    def _pieces(self, own: int) -> set[Sign]:
        """Parts of headings and titles: `Change history:` of one that names a thing behind it, and the words
        that those of all its pages begin with.
        """
        found: set[Sign] = set()
        whole: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
        for number in numbers(own):
            sketch = self.pages[number].sketch
            for sign in sketch.signs - sketch.passing:
                if sign.kind in ("heading", "title"):
                    whole[sign.kind, sign.where].append(sign.text.split(" "))
                    pieces = [piece.strip() for piece in _SEPARATOR.split(sign.text)]
                    found |= {
                        Sign(sign.kind, sign.where, piece) for piece in pieces if len(piece) >= _SHORTEST
                    }
        for (kind, where), texts in whole.items():
            if len(texts) == own.bit_count() > 1:
                shared = " ".join(commonprefix(texts))  # noqa: RUF071 - of words, not of paths
                if len(shared) >= _SHORTEST:
                    found.add(Sign(kind, where, shared))
        return found

    def _names_a_thing(self, text: str) -> bool:
        """Whether one of its parts, or several words of it on end, are what a row, an item or a field says."""
        folded = text.casefold()
        parts = [part.strip() for part in _PARTS.split(folded)]
        if len(parts) > 1 and any(part in self.data for part in parts if part):
            return True
        words = [word.strip(":,;.!?\"'") for word in _WORDS.findall(folded)[:_MOST_WORDS]]
        return any(
            " ".join(words[begin:end]) in self.data
            for begin in range(len(words))
            for end in range(begin + 2, len(words) + (begin > 0))
        )

    def _trust(self, sign: Sign, own: int, *, passing: bool) -> float:
        trust = DURABLE[sign.kind]
        text = sign.text
        if passing or _LIKE_DATA.search(text):
            trust *= 0.1
        elif any(char.isdigit() for char in text):
            trust *= 0.5
        if sign.kind in _OF_WORDS and text.casefold().strip() in self.data:
            # Said of many pages with other data, it is no data.
            trust *= 0.8 if own.bit_count() >= _MANY and len(set(self.paths(own))) > 2 else 0.3
        elif sign.kind in _OF_WORDS and self._names_a_thing(text):
            trust *= 0.25
        if len(text) > _LONG:
            trust *= 0.6
        if sign.kind == "heading" and sign.where != "h1":
            trust *= 0.9
        if sign.kind == "control" and sign.where == "link":
            trust *= 0.7  # many a link is called as what it leads to
        if sign.kind == "column" and own.bit_count() < _MANY:
            trust *= 0.75  # an empty list has none
        return trust


_SEPARATOR = re.compile(r"(?<=:)\s+|\s+[|\u2013\u2014\u00b7-]\s+|[\u201c\u201d\"]")
_SHORTEST = 4
"""Characters of a part that says something."""
_PARTS = re.compile(r"[:|\"\u201c\u201d\u201e\u00ab\u00bb\u203a/]\s*|\s[-\u2013\u2014\u00b7]\s|[(),]\s*")
_WORDS = re.compile(r"\S+")
_MOST_WORDS = 14
_OF_WORDS = frozenset({"heading", "control", "title", "text", "current"})


def numbers(mask: int) -> Iterator[int]:
    """The bits of a number."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def bits(found: Iterable[int]) -> int:
    """The number of these bits."""
    mask = 0
    for number in found:
        mask |= 1 << number
    return mask


def _short_first(sign: Sign) -> tuple[str, int, str, str]:
    return sign.kind, len(sign.text), sign.where, sign.text


def _fixed(sign: Sign) -> tuple[str, str, str]:
    return sign.kind, sign.where, sign.text
