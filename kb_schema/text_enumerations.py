"""Enumerations in texts: `coast, crime` is the same as `crime, coast` where an application sorts what it lists."""

from __future__ import annotations

import re

_BETWEEN = re.compile(r"\s*[,;]\s*")
MOST_ITEMS = 12


def count_enumerations(said: str, text: str) -> int:
    """Return how often a text has an enumeration with commas, its items in any order; how often it has it as it is, if it is none.

    Items without a letter are none: dates and numbers have commas, too.

    >>> count_enumerations("crime, coast", "books: coast,crime and crime, coast; coast, sea"), count_enumerations("1,500", "500,1")
    (2, 0)
    """
    items = _BETWEEN.split(said)
    listed = 1 < len(items) <= MOST_ITEMS and all(any(map(str.isalpha, each)) for each in items)
    if not listed or len({*items}) < len(items):
        return text.count(said)
    one = "|".join(map(re.escape, sorted(items, key=len, reverse=True)))
    found = re.finditer(rf"(?<!\w)(?:{one})(?:{_BETWEEN.pattern}(?:{one})){{{len(items) - 1}}}(?!\w)", text)
    return sum(sorted(_BETWEEN.split(each[0])) == sorted(items) for each in found)
