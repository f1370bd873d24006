"""Names a new screen: by its first heading, its title, another heading, or its address."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from kb_schema.text_similarity import TITLE_SIGNS
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.url_patterns import segments
from web_pages.indicator_candidates import PageProfileIndex

FIRST = "h1"
_BETWEEN = re.compile(rf"\s+(?:[{TITLE_SIGNS}]|::?)\s+")
"""What separates the name of a page from that of its site in titles."""


def choose_name(own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
    """Return the best name that all of its pages and the fewest others have, else the words of their address."""
    words = " ".join(re.sub(r"[-_]+", " ", part) for part in segments(own[0].path) if part.strip("/#"))
    return find_told_name(own, others) or words[:1].upper() + words[1:] or "Start"


def find_told_name(own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
    """Return the best heading or title that all of its pages and the fewest others have; "" if there is none."""
    book = PageProfileIndex([page.profile for page in (*own, *others)])
    numbers = range(len(own)), range(len(own), len(own) + len(others))
    headings = [
        each.signs[0]
        for each in book.rank(*numbers)
        if each.signs[0].kind == "heading"
        and each.holds == each.of
        and each.elsewhere <= len(others) / 2
        and not all(each.signs[0] in page.profile.passing for page in own)  # a message names no page
    ]
    first = [sign.text for sign in headings if sign.where == FIRST]
    if first:
        return first[0]
    for title in list_shared_titles(own):
        if not any(title in list_shared_titles([page]) for page in others):
            return title
    if headings:
        return min(headings, key=lambda sign: sign.where).text
    return ""


def choose_free_id(name: str, taken: Collection[str]) -> str:
    """Return a name as an unused screen id.

    >>> choose_free_id("Add user", {"add_user"})
    'add_user_2'
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")[:60].strip("_") or "screen"
    number = 1
    while (found := plain if number == 1 else f"{plain}_{number}") in taken:
        number += 1
    return found


def list_shared_titles(pages: Sequence[ObservedPage]) -> Iterator[str]:
    """Return the parts of the title that all of these pages have, in order."""
    parts = [_parts(page) for page in pages]
    yield from (part for part in parts[0] if all(part in each for each in parts))


def _parts(page: ObservedPage) -> list[str]:
    return [
        part for title in page.profile.texts.get(("title", ""), ()) for part in _BETWEEN.split(title) if part
    ]
