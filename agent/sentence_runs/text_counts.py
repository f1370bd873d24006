"""How often a page shows a text: numbers whole, and enumerations in any order. `coast, crime` is `crime, coast` where an application sorts what it lists."""

from __future__ import annotations

import re

MOST_ITEMS = 12
"""Items of an enumeration whose order is left open."""
_BETWEEN = re.compile(r"\s*[,;]\s*")


def count_text(said: str, text: str) -> int:
    """Return how often a text has another one. A digit at its end is the end of a number: `12` stands neither in `112` nor in `12.5`.

    >>> [count_text("12", each) for each in ("12 m, 12", "112", "2012", "12.5", "1,012", "12.")]
    [2, 0, 0, 0, 0, 1]
    """
    before = r"(?<!\d)(?<!\d[.,])" if said[:1].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if said[-1:].isdigit() else ""
    return len(re.findall(f"{before}{re.escape(said)}{after}", text)) if said else 0


def count_enumerations(said: str, text: str) -> int:
    """Return how often a text has an enumeration with commas, its items in any order; how often it has it as it is, if it is none.

    Items without a letter are none: dates and numbers have commas, too.

    >>> count_enumerations("crime, coast", "books: coast,crime and crime, coast; coast, sea"), count_enumerations("1,500", "500,1")
    (2, 0)
    """
    items = _BETWEEN.split(said)
    listed = 1 < len(items) <= MOST_ITEMS and all(any(map(str.isalpha, each)) for each in items)
    if not listed or len({*items}) < len(items):
        return count_text(said, text)
    one = "|".join(map(re.escape, sorted(items, key=len, reverse=True)))
    found = re.finditer(rf"(?<!\w)(?:{one})(?:{_BETWEEN.pattern}(?:{one})){{{len(items) - 1}}}(?!\w)", text)
    return sum(sorted(_BETWEEN.split(each[0])) == sorted(items) for each in found)
