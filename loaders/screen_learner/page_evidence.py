"""All pages of a site, indexed by features and addresses, from which signatures are selected.

Sets of pages are masks (`web_pages.page_masks`), so that thousands of pages are tested in one step.
`indicator_selection` selects the features.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import commonprefix

from kb_schema.text_similarity import TITLE_SIGNS
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.url_patterns import AddressSlots, fits, place
from web_pages.indicator_candidates import PageProfileIndex
from web_pages.page_masks import page_mask, page_numbers
from web_pages.page_profiles import PageFeature

DURABLE = {
    "heading": 0.95,
    "label": 1.0,
    "field": 0.95,
    "column": 0.95,
    "landmark": 0.8,
    "control": 0.85,
    "title": 0.8,
    "test_id": 0.75,
    "current": 0.55,
    "id": 0.5,
    "marker": 0.5,
    "text": 0.5,
    "state": 0.5,
    "rows": 0.45,
    "said": 0.4,
    "class": 0.35,
}
"""The probability that a feature of a kind survives a redesign: texts and names of fields outlive ids, test
ids, classes.
"""
MOST_GROUPS = 150
"""The most screens that a feature is compared with one by one; of more, their pages are counted."""

_TOOLS = frozenset({"heading", "title", "label", "field", "column", "test_id"})
"""Kinds of features, besides buttons, that states of one page have in common."""
_ATTRIBUTES = ("test_id", "id")
_NUMBERED = re.compile(r"(?<=[^\d])\d+$")
_POINTED = re.compile(r"hover|focus", re.IGNORECASE)
"""Names of what is shown where the pointer or the keyboard is."""
_ROWS = 3
"""So many attributes of a page that differ in a number are those of rows."""
_LIKE_DATA = re.compile(
    r"""\d{1,4}[-/.:]\d{1,2} | \d\s?% | [\w.+-]+@[\w-]+\.\w | [€$£¥]\s?\d | \d[\d,.]*\s?[€$£¥] | \d{4,}
      | \b\d+\s+(?:results?|items?|of|rows?|entries|pages?|hours?|days?|minutes?)\b | ://""",
    re.VERBOSE | re.IGNORECASE,
)
MOST_OF_A_KIND = 100
"""The most features of a kind for one screen, the shortest ones; each is searched on all pages."""
_LONG = 50
_MANY = 3
"""The number of pages from which a screen is considered to show its states."""


@dataclass(frozen=True, slots=True)
class Trait:
    """A feature of a screen's pages, and how reliable it is."""

    sign: PageFeature
    mask: int
    """The pages on which its condition holds."""
    trust: float
    """0 to 1: how durable it is, and how unlike data."""
    passing: bool
    """Whether it was seen only in unstable places."""

    @property
    def words(self) -> str:
        """Its text, for comparison."""
        return self.sign.text.casefold().strip(" :*")


class PageEvidence:
    """Labelled pages without duplicates."""

    def __init__(self, pages: Sequence[ObservedPage]) -> None:
        self.pages = pages
        self.book = PageProfileIndex([page.profile for page in pages])
        self.all = (1 << len(pages)) - 1
        self.of: dict[str, int] = defaultdict(int)
        unlabelled: dict[tuple[str, ...], int] = defaultdict(int)
        for number, page in enumerate(pages):
            if page.screen is None:
                unlabelled[place(page.path)] |= 1 << number
            else:
                self.of[page.screen] |= 1 << number
        self._groups = [
            *((name, mask) for name, mask in self.of.items()),
            *(("", m) for m in unlabelled.values()),
        ]
        self._by_pattern: dict[str, int] = {}

    @cached_property
    def data(self) -> frozenset[str]:
        """The texts of rows, items and fields on any page."""
        return frozenset().union(*(page.profile.data for page in self.pages))

    @cached_property
    def _places(self) -> list[tuple[str, ...]]:
        return [place(page.path) for page in self.pages]

    @cached_property
    def slots(self) -> AddressSlots:
        """The varying parts of addresses. A dialog that lies on several pages says nothing about their addresses."""
        layered = page_mask(number for number, page in enumerate(self.pages) if page.layer)
        return AddressSlots([self.paths(mask & ~layered) for mask in self.of.values()], self.data)

    def paths(self, mask: int) -> list[str]:
        """Return the addresses of these pages."""
        return [self.pages[number].path for number in page_numbers(mask)]

    def at(self, patterns: Iterable[str]) -> int:
        """Return the pages that any of the patterns matches; all of them without a pattern."""
        found, some = 0, False
        for pattern in patterns:
            some = True
            if pattern not in self._by_pattern:
                self._by_pattern[pattern] = page_mask(
                    number for number, page in enumerate(self.pages) if fits(pattern, page.path)
                )
            found |= self._by_pattern[pattern]
        return found if some else self.all

    def beside(self, own: int, patterns: Iterable[str]) -> int:
        """Return the other pages at the addresses of these: where a pattern matches, or with other ids or queries."""
        places = {self._places[number] for number in page_numbers(own)}
        same = page_mask(number for number, at in enumerate(self._places) if at in places)
        return (self.at(patterns) | same) & ~own

    def are_alike(self, mask: int, elsewhere: int) -> bool:
        """Return whether these pages have a feature in common that most of the pages `elsewhere` lack."""
        shared = frozenset.intersection(*(self._tools[number] for number in page_numbers(mask)))
        most = elsewhere.bit_count() / 2
        return any((self.book.mask(sign) & elsewhere).bit_count() <= most for sign in shared)

    @cached_property
    def _tools(self) -> list[frozenset[PageFeature]]:
        return [
            frozenset(
                sign
                for sign in page.profile.signs - page.profile.passing
                if sign.kind in _TOOLS or (sign.kind == "control" and sign.where == "button")
            )
            for page in self.pages
        ]

    def showing(self, signs: Iterable[PageFeature]) -> int:
        """Return the pages that show any of the features."""
        mask = 0
        for sign in signs:
            mask |= self.book.mask(sign)
        return mask

    def elsewhere(self, mask: int, own: int, within: int) -> float:
        """Return the share of other pages among `within` that are in `mask`, each screen counting equally."""
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
        """Yield these pages by screen; those without a screen by place."""
        return ((name, part) for name, group in self._groups if (part := group & mask))

    def traits(self, own: int) -> list[Trait]:
        """Return the features that at least half of a screen's pages show, the most reliable first."""
        least = own.bit_count() / 2
        seen: set[PageFeature] = set()
        for number in page_numbers(own):
            seen |= self.pages[number].profile.signs
        found = []
        kept: Counter[str] = Counter()
        for sign in sorted(seen, key=_short_first):
            exact = self.book.exactly(sign) & own
            if exact.bit_count() < least or kept[sign.kind] == MOST_OF_A_KIND or _is_counted(sign):
                continue
            kept[sign.kind] += 1
            passing = not self.book.steadily(sign) & own
            found.append(Trait(sign, self.book.mask(sign), self._trust(sign, own, passing=passing), passing))
        for sign in sorted(self._pieces(own) - seen, key=_fixed):
            mask = self.book.mask(sign)
            if (mask & own).bit_count() >= least:
                found.append(Trait(sign, mask, self._trust(sign, own, passing=False), passing=False))
        return found

    def state_traits(self, own: int) -> list[Trait]:
        """Return the features of state that at least half of these pages show and some other page does not."""
        least = own.bit_count() / 2
        seen: set[PageFeature] = set()
        for number in page_numbers(own):
            seen |= self.pages[number].profile.states
        found = []
        for sign in sorted(seen, key=_fixed):
            mask = self.book.mask(sign)
            if mask != self.all and (mask & own).bit_count() >= least:
                found.append(Trait(sign, mask, self._trust(sign, own, passing=False), passing=False))
        return sorted(found, key=lambda each: (-each.trust, -each.mask.bit_count(), _fixed(each.sign)))

    def _pieces(self, own: int) -> set[PageFeature]:
        """Return parts of headings, titles and texts: before a data name (`Change history:`), and common beginnings and
        ends of its pages.
        """
        found: set[PageFeature] = set()
        whole: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
        for number in page_numbers(own):
            profile = self.pages[number].profile
            for sign in profile.signs - profile.passing:
                if sign.kind == "text":
                    whole[sign.kind, sign.where].append(sign.text.split(" "))
                elif sign.kind in ("heading", "title"):
                    whole[sign.kind, sign.where].append(sign.text.split(" "))
                    pieces = [piece.strip() for piece in _SEPARATOR.split(sign.text)]
                    found |= {
                        PageFeature(sign.kind, sign.where, piece)
                        for piece in pieces
                        if len(piece) >= _SHORTEST
                    }
        for (kind, where), texts in whole.items():
            if len(texts) == own.bit_count() > 1:
                ends = commonprefix([text[::-1] for text in texts])[::-1]  # noqa: RUF071 - of words
                for shared in (commonprefix(texts), ends if len(ends) > 1 else []):  # noqa: RUF071 - of words, not of paths
                    said = " ".join(shared)
                    if len(said) >= _SHORTEST:
                        found.add(PageFeature(kind, where, said))
        return found

    def _names_a_thing(self, text: str) -> bool:
        """Return whether a part of the text, or several words of it, is the text of a row, an item or a
        field.
        """
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

    @cached_property
    def _numbered(self) -> frozenset[tuple[str, str]]:
        """Attributes and words before a number of which a page has several: `email-item-1`, `email-item-2` are rows."""
        found: set[tuple[str, str]] = set()
        for page in self.pages:
            ids = (sign for sign in page.profile.signs if sign.kind in _ATTRIBUTES)
            stems = Counter(
                (each.where, _NUMBERED.sub("", each.text)) for each in ids if _NUMBERED.search(each.text)
            )
            found.update(stem for stem, times in stems.items() if times >= _ROWS)
        return frozenset(found)

    def _trust(self, sign: PageFeature, own: int, *, passing: bool) -> float:
        trust = DURABLE[sign.kind]
        text = sign.text
        row = sign.kind in _ATTRIBUTES and (sign.where, _NUMBERED.sub("", text)) in self._numbered
        pointed = sign.kind not in _OF_WORDS and _POINTED.search(text)
        if passing or pointed or _LIKE_DATA.search(text) or (row and _NUMBERED.search(text)):
            trust *= 0.1
        elif any(char.isdigit() for char in text):
            trust *= 0.5
        if sign.kind in _OF_WORDS and text.casefold().strip() in self.data:
            # It is on many pages with different data, so it is not data.
            trust *= 0.8 if own.bit_count() >= _MANY and len(set(self.paths(own))) > 2 else 0.3
        elif sign.kind in _OF_WORDS and self._names_a_thing(text):
            trust *= 0.25
        if len(text) > _LONG:
            trust *= 0.6
        if sign.kind == "heading" and sign.where != "h1":
            trust *= 0.9
        if sign.kind == "control" and sign.where == "link":
            trust *= 0.7  # many links are labelled like their target
        if sign.kind == "rows" and not sign.where.endswith(" td"):
            trust *= 0.75  # a list may be of anything
        if sign.kind == "column" and own.bit_count() < _MANY:
            trust *= 0.75  # an empty list has none
        return trust


_SEPARATOR = re.compile(rf"(?<=:)\s+|\s+(?:[{TITLE_SIGNS}]|::)\s+|[\u201c\u201d\"]")
_SHORTEST = 4
"""The least characters of a meaningful part."""
_PARTS = re.compile(r"[:|\"\u201c\u201d\u201e\u00ab\u00bb\u203a/]\s*|\s[-\u2013\u2014\u00b7]\s|[(),]\s*")
_WORDS = re.compile(r"\S+")
_COUNT = re.compile(r"\S\s\(?\d+\+?\)?$|^\(?\d+\+?\)?\s\S")
_MOST_WORDS = 14
_OF_WORDS = frozenset({"heading", "control", "title", "text", "current", "said"})


def _is_counted(sign: PageFeature) -> bool:
    """Return whether the name of a control holds a count, which is another tomorrow: `Messages 4`."""
    return sign.kind == "control" and _COUNT.search(sign.text) is not None


def _short_first(sign: PageFeature) -> tuple[str, int, str, str]:
    return sign.kind, len(sign.text), sign.where, sign.text


def _fixed(sign: PageFeature) -> tuple[str, str, str]:
    return sign.kind, sign.where, sign.text
