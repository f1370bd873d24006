"""What screens are called: what their pages say that they are, without what is only a row of the site's data."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from loaders.cartography.wording import words_of
from loaders.signatures.addresses import ANY, place
from loaders.signatures.naming import name_of
from loaders.signatures.seen import ObservedPage

LONGEST = 200
LONGEST_HEADING = 40
"""Of one that is said beside a name."""
COMMON = 0.5
"""A heading that more of the others have is the site's, not theirs."""
LEAST_COMMON = 2
"""Screens: fewer make no site."""
_HEADS = (("heading", "h1"), ("title", ""), ("heading", "h2"), ("heading", "h3"), ("heading", "h4"))
"""Where a page says what it is, in this order."""
_PARTING = re.compile(r"\s*[:|\u2013\u2014\u00b7-]\s+|\s+[|\u2013\u2014\u00b7-]\s*")
_PIECES = re.compile(r"\s+[|\u2013\u2014\u00b7-]\s+")
"""What parts the name of a page from its site's."""
_OF_ONE = re.compile(r"(.*?\w)(?::\s.*|\s+[#\u2116]?\d[\w.,/-]*)")
"""A heading that says what it is of one of many: `Order #10002`, `Notification: Your parcel`."""
SHARED = 0.8
"""What more of the addresses begin with tells none of them."""


def titles_of(
    groups: Sequence[Sequence[int]], seen: Sequence[ObservedPage], rows: Collection[str]
) -> list[str]:
    """A name for each group of pages, each another one. `rows`: what the rows of lists are called."""
    told = [[seen[at] for at in group] for group in groups]
    site = _Site(told, rows)
    names = [site.title(own, _others(group, seen)) for own, group in zip(told, groups, strict=True)]
    alike: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        alike[words_of(name)].append(number)
    for numbers in alike.values():
        if len(numbers) > 1:
            paths = [seen[groups[number][0]].path for number in numbers]
            parted = zip(_parted(paths), _headed_apart([told[each] for each in numbers]), strict=True)
            for number, (by_path, by_heading) in zip(numbers, parted, strict=True):
                beside = by_path or by_heading
                names[number] = f"{names[number]} ({beside})" if beside else names[number]
    return [name[:LONGEST] for name in names]


class _Site:
    """What the pages of a site have in common, and what things it shows."""

    def __init__(self, told: Sequence[Sequence[ObservedPage]], rows: Collection[str]) -> None:
        self._rows = rows
        self._places = {_place_of(own) for own in told}
        self._root = _root([_parts(own[0].path) for own in told])
        shown = Counter(
            text for own in told for text in set.intersection(*(set(_texts(page)) for page in own))
        )
        least = max(LEAST_COMMON, COMMON * len(told))
        self._common = {text for text, times in shown.items() if times > least}
        self._heads_of = {id(page): self._told(page) for own in told for page in own}

    def title(self, own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
        """What a screen is called that was seen in these pages."""
        at = _place_of(own)
        if ANY not in at:
            return name_of(own, others)
        return self._heading(own, others) or self._of_one(own, others) or self._said(own, others, at)

    def _heads(self, page: ObservedPage) -> tuple[str, ...]:
        """What a page says that it is: its highest headings, or title, that are not the site's."""
        return self._heads_of[id(page)]

    def _told(self, page: ObservedPage) -> tuple[str, ...]:
        for kind, where in _HEADS:
            texts = page.sketch.said.get((kind, where), ())
            if kind == "title":
                texts = tuple(_PIECES.split(text)[0] for text in texts)
            own = tuple(text for text in texts if text not in self._common)
            if own:
                return own
        return ()

    def _heading(self, own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
        """What all of them say, but for the words of a row; nothing where they say nothing together."""
        usual = [text for page in others for text in self._heads(page)]
        for strictly in (True, False):
            together = set.intersection(
                *(
                    {without_rows(text, self._rows, strictly=strictly) for text in self._heads(page)}
                    for page in own
                )
            )
            known = [text for text in together if text and usual.count(text) <= COMMON * len(others)]
            if known:
                return min(known, key=lambda text: (usual.count(text), -len(text), text))
        return ""

    def _of_one(self, own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
        """What they say before they say of which one; nothing where one page is all."""
        heads = [self._heads(page) for page in own]
        if len(set(heads)) < 2:
            return ""
        kinds = [
            {found[1] for text in texts if (found := _OF_ONE.fullmatch(text)) is not None} for texts in heads
        ]
        known = set.intersection(*kinds) - {text for page in others for text in self._heads(page)}
        return min(known, key=lambda text: (-len(text), text)) if known else ""

    def _said(self, own: Sequence[ObservedPage], others: Sequence[ObservedPage], at: tuple[str, ...]) -> str:
        """What they are called otherwise, if that is no row and stands where a page says what it is."""
        name = name_of(own, others)
        headed = all(any(name in text for text in (*_texts(page), *_titles(page))) for page in own)
        if headed and name not in self._rows:
            return name
        short = at[len(self._root) :] if at[: len(self._root)] == self._root else at
        return by_address(short or at, listed=at[:-1] in self._places) or name


def _texts(page: ObservedPage) -> tuple[str, ...]:
    return page.sketch.said.get(_HEADS[0], ())


def _titles(page: ObservedPage) -> tuple[str, ...]:
    return page.sketch.said.get(_HEADS[1], ())


def _place_of(own: Sequence[ObservedPage]) -> tuple[str, ...]:
    """The place of all of them, with what varies left open."""
    places = [_parts(page.path) for page in own]
    first = min(places, key=lambda each: (len(each), each))
    return tuple(part if all(part in each for each in places) else ANY for part in first)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in place(path) if part)


def _root(places: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """What nearly all addresses begin with."""
    root: tuple[str, ...] = ()
    while len(places) > 1:
        begun = Counter(each[: len(root) + 1] for each in places if len(each) > len(root))
        most, times = begun.most_common(1)[0] if begun else (root, 0)
        if times < SHARED * len(places):
            break
        root = most
    return root


def without_rows(text: str, rows: Collection[str], *, strictly: bool = True) -> str:
    """A heading without the name of one of many things. `strictly`: only where something parts the two.

    >>> without_rows("History: Ada", {"Ada"}), without_rows("Edit Ada", {"Ada"}, strictly=False)
    ('History', 'Edit')
    """
    if text in rows:
        return ""
    parts = _PARTING.split(text)
    for at in range(1, len(parts)):
        if any(" ".join(some) in rows for some in (parts[:at], parts[at:])):
            return " ".join(parts[at:] if " ".join(parts[:at]) in rows else parts[:at])
    words = text.split()
    for at in range(1, len(words)) if not strictly else ():
        if " ".join(words[at:]) in rows:
            return " ".join(words[:at])
    return text


def by_address(at: Sequence[str], *, listed: bool = True) -> str:
    """The words of a place, without what names one of many things. `listed`: whether it is one of a page's.

    >>> by_address(("agents", "*", "history")), by_address(("agent", "*")), by_address(("agent", "edit", "*"), listed=False)
    ('Agents history', 'Agent detail', 'Agent edit')
    """
    parts = [part for part in at if part not in ("", "#")]
    words = [part for part in parts if part != ANY]
    said = _spoken(words).capitalize()
    return f"{said} detail" if said and parts[-1] == ANY and (listed or len(words) == 1) else said


def _parted(paths: Sequence[str]) -> list[str]:
    """What each address says that not all of them say."""
    every = [[part for part in _parts(path) if part != "#"] for path in paths]
    shared = set(every[0]).intersection(*every[1:]) | {ANY}
    said = [_spoken(part for part in parts if part not in shared) for parts in every]
    if not any(said) and len({len(parts) for parts in every}) > 1:
        return ["detail" if parts[-1:] == [ANY] else "" for parts in every]
    return said


def _headed_apart(told: Sequence[Sequence[ObservedPage]]) -> list[str]:
    """Of pages of one name: what each has as a heading on all of its pages, and none of the others on any."""
    shown = [[_headings(page) for page in own] for own in told]
    found = []
    for number, own in enumerate(shown):
        elsewhere = {
            each for at, other in enumerate(shown) if at != number for page in other for each in page
        }
        found.append(min(set.intersection(*own) - elsewhere, default=("", ""))[1])
    return found


def _headings(page: ObservedPage) -> set[tuple[str, str]]:
    """With where they stand: the higher ones are less."""
    return {
        (where, text)
        for (kind, where), texts in page.sketch.said.items()
        if kind == "heading"
        for text in texts
        if len(text) <= LONGEST_HEADING
    }


def _spoken(parts: Iterable[str]) -> str:
    return " ".join(parts).replace("-", " ").replace("_", " ")


def _others(group: Sequence[int], seen: Sequence[ObservedPage]) -> list[ObservedPage]:
    inside = set(group)
    return [page for at, page in enumerate(seen) if at not in inside]
