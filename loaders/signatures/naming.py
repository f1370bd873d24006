"""What a new screen is called: by its first heading, its title, another heading, or its address."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from kb_schema.pages.candidates import SketchBook
from loaders.signatures.addresses import segments
from loaders.signatures.seen import ObservedPage

FIRST = "h1"
_BETWEEN = re.compile(r"\s+[|\u2013\u2014\u00b7-]\s+")
"""What stands between the name of a page and that of its site in titles."""


def name_of(own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
    """The best that all of its pages are called, and the fewest others."""
    book = SketchBook([page.sketch for page in (*own, *others)])
    numbers = range(len(own)), range(len(own), len(own) + len(others))
    headings = [
        each.signs[0]
        for each in book.rank(*numbers)
        if each.signs[0].kind == "heading" and each.holds == each.of and each.elsewhere <= len(others) / 2
    ]
    first = [sign.text for sign in headings if sign.where == FIRST]
    if first:
        return first[0]
    for said in _titles(own):
        if not any(said in _titles([page]) for page in others):
            return said
    if headings:
        return min(headings, key=lambda sign: sign.where).text
    words = " ".join(re.sub(r"[-_]+", " ", part) for part in segments(own[0].path) if part.strip("/#"))
    return words[:1].upper() + words[1:] or "Start"


def free_id(name: str, taken: Collection[str]) -> str:
    """A name as the id of a screen that no other has.

    >>> free_id("Add user", {"add_user"})
    'add_user_2'
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")[:60].strip("_") or "screen"
    number = 1
    while (found := plain if number == 1 else f"{plain}_{number}") in taken:
        number += 1
    return found


def _titles(pages: Sequence[ObservedPage]) -> Iterator[str]:
    """Parts of the title that all of these pages have, the first one first."""
    told = [_parts(page) for page in pages]
    yield from (part for part in told[0] if all(part in each for each in told))


def _parts(page: ObservedPage) -> list[str]:
    return [
        part for title in page.sketch.said.get(("title", ""), ()) for part in _BETWEEN.split(title) if part
    ]
