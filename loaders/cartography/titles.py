"""What screens are called: what their pages say that they are, without what is only a row of the site's data."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from loaders.cartography.wording import words_of
from loaders.signatures.addresses import place
from loaders.signatures.naming import name_of
from loaders.signatures.seen import ObservedPage

LONGEST = 200
COMMON = 0.5
"""A heading that more of the other pages have is the site's, not theirs."""
_HEADS = (("heading", "h1"), ("title", ""))
_PARTING = re.compile(r"\s*[:|\u2013\u2014\u00b7-]\s+|\s+[|\u2013\u2014\u00b7-]\s*")
ANY = "*"


def titles_of(
    groups: Sequence[Sequence[int]], seen: Sequence[ObservedPage], rows: Collection[str]
) -> list[str]:
    """A name for each group of pages, each another one. `rows`: what the rows of lists are called."""
    names = [_title([seen[at] for at in group], _others(group, seen), rows) for group in groups]
    alike: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        alike[words_of(name)].append(number)
    for numbers in alike.values():
        if len(numbers) > 1:
            paths = [seen[groups[number][0]].path for number in numbers]
            for number, beside in zip(numbers, _parted(paths), strict=True):
                names[number] = f"{names[number]} ({beside})" if beside else names[number]
    return [name[:LONGEST] for name in names]


def _title(own: Sequence[ObservedPage], others: Sequence[ObservedPage], rows: Collection[str]) -> str:
    if ANY not in place(own[0].path):
        return name_of(own, others)
    return _heading(own, others, rows) or _said(own, others, rows)


def _heading(own: Sequence[ObservedPage], others: Sequence[ObservedPage], rows: Collection[str]) -> str:
    """The first heading of all of them, but for the words of a row; nothing where there is none."""
    usual = [text for page in others for text in _first_headings(page)]
    for strictly in (True, False):
        common = set.intersection(
            *({without_rows(text, rows, strictly=strictly) for text in _first_headings(page)} for page in own)
        )
        known = [text for text in common if text and usual.count(text) <= COMMON * len(others)]
        if known:
            return min(known, key=lambda text: (usual.count(text), -len(text), text))
    return ""


def _said(own: Sequence[ObservedPage], others: Sequence[ObservedPage], rows: Collection[str]) -> str:
    """What they are called otherwise, if that is no row and stands where a page says what it is."""
    name = name_of(own, others)
    headed = all(
        any(name in text for head in _HEADS for text in page.sketch.said.get(head, ())) for page in own
    )
    return name if headed and name not in rows else by_address(own[0].path) or name


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


def by_address(path: str) -> str:
    """The words of an address, without what names one of many things.

    >>> by_address("/agents/12/history/"), by_address("/agent/12")
    ('Agents history', 'Agent detail')
    """
    parts = [part for part in place(path) if part not in ("", "#")]
    said = _spoken(part for part in parts if part != ANY).capitalize()
    return f"{said} detail" if said and parts[-1] == ANY else said


def _parted(paths: Sequence[str]) -> list[str]:
    """What each address says that not all of them say."""
    every = [[part for part in place(path) if part not in ("", "#", ANY)] for path in paths]
    shared = set(every[0]).intersection(*every[1:])
    return [_spoken(part for part in parts if part not in shared) for parts in every]


def _spoken(parts: Iterable[str]) -> str:
    return " ".join(parts).replace("-", " ").replace("_", " ")


def _first_headings(page: ObservedPage) -> tuple[str, ...]:
    return page.sketch.said.get(_HEADS[0], ())


def _others(group: Sequence[int], seen: Sequence[ObservedPage]) -> list[ObservedPage]:
    inside = set(group)
    return [page for at, page in enumerate(seen) if at not in inside]
