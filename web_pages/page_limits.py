"""Limits for HTML, checked before parsing in time linear in its size.

A parser takes time quadratic in the nesting depth and in the number of attributes of an element, and
it reopens unclosed formatting elements in every paragraph: a few megabytes could keep it busy for
hours or fill the memory. The counts here are upper bounds (they include scripts and comments), and
the limits are far above those of real pages.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from web_pages.html_tags import FLAT_TAGS, FORMATTING_TAGS

DEEPEST = 4_000
"""The most nesting levels of a parsed page."""
MOST_ROOTS = 500
"""The most shadow roots and frames of one page."""
MOST_TAGS = 200_000
MOST_ELEMENTS = 100_000
MOST_STEPS = 50_000_000
"""The most open tags, summed over all tags: the parser traverses them."""
MOST_REOPENED = 500_000
"""The most open formatting elements, summed over all tags: the parser may have to create as many."""
MOST_ATTRIBUTES = 2_000
"""The most attributes of one tag."""
MOST_ATTRIBUTE_STEPS = 200_000_000
"""The squares of the number of attributes, summed over all tags: the parser compares every name with those before."""
MOST_OPTIONS = 10_000
"""The most options of a list: the parser takes quadratic time, half a second for this many."""

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_OPTION = re.compile(r"<option", re.IGNORECASE)
_FORMATTING = re.compile(rf"<(?:{'|'.join(sorted(FORMATTING_TAGS))})(?![^\s/>])")
_VALUE = r"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)"
_ATTRIBUTE = re.compile(rf"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+{_VALUE}?)?+")
"""An attribute as the parser reads it (HTML 13.2.5.32-39)."""
_WHOLE_TAG = re.compile(rf"<[a-zA-Z][^ \t\n\f\r/>]*+(?:[ \t\n\f\r/]++|{_ATTRIBUTE.pattern})*+")
_MOST_UNREAD_PRODUCT = 2_000_000_000
"""The length of a page times that of a tag whose attributes are not counted: at most two seconds in the parser."""
_QUOTED_END = re.compile(r"=[ \t\n\f\r]*+(?:\"[^\">]*+>|'[^'>]*+>)")
"""A `>` inside quotes: only there a tag does not end at the first one."""
_MOST_READ = 20
"""The most characters, as a multiple of the page's length, that are read to measure tags.

Where a tag ends depends on quotes, and any `<` may begin one.
"""


class PageRefused(ValueError):
    """A page that is too large or too deeply nested."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(slots=True)
class CharacterBudget:
    """The remaining limits while the roots of one page are parsed."""

    characters: int
    tags: int = MOST_TAGS
    roots: int = MOST_ROOTS

    def spend(self, html: str) -> None:
        """Subtract a root's markup. Raises `PageRefused` if the budget is exhausted."""
        self.roots -= 1
        if self.roots < 0:
            raise PageRefused(f"more than {MOST_ROOTS} shadow roots and frames")
        self.characters -= len(html)
        if self.characters < 0:
            raise PageRefused("shadow roots and frames repeat more HTML than is allowed")
        self.tags -= check_markup(html, most_tags=self.tags)


def check_markup(html: str, *, most_tags: int = MOST_TAGS) -> int:
    """Return the most tags there can be. Raises `PageRefused` for abusive markup.

    A few counts show that most pages are harmless; the others are read tag by tag.
    """
    longest = _longest_unread(html)
    if not _tags_are_short(html, longest):
        _check_attributes(html, longest)
    most = html.count("<")
    if most > MOST_OPTIONS and sum(1 for _ in _OPTION.finditer(html)) > MOST_OPTIONS:
        raise PageRefused(f"the page has more than {MOST_OPTIONS:,} options to choose from")
    if most <= most_tags and most * most <= MOST_STEPS:
        formatting = sum(1 for _ in _FORMATTING.finditer(html.lower()))
        if most * formatting <= MOST_REOPENED:
            return most
    return _check_nesting(html, most_tags)


def _check_nesting(html: str, most_tags: int) -> int:
    """Return how many tags there are, and check how many are open at each."""
    tags = depth = steps = formatting = reopened = 0
    still_open: Counter[str] = Counter()
    for match in _TAG.finditer(html):
        tags += 1
        closes, name = match.groups()
        name = name.lower()
        if closes:
            depth = max(0, depth - 1)
            if still_open[name]:
                still_open[name] -= 1
                formatting -= 1
        elif name not in FLAT_TAGS:
            depth += 1
            if name in FORMATTING_TAGS:
                still_open[name] += 1
                formatting += 1
        steps += depth
        reopened += formatting
        if tags > most_tags:
            raise PageRefused(f"the page has more than {MOST_TAGS:,} tags")
        if steps > MOST_STEPS:
            raise PageRefused("elements are nested too deeply")
        if reopened > MOST_REOPENED:
            raise PageRefused("formatting elements are nested too deeply and never closed")
    return tags


def check_tree(depth: int, elements: int) -> None:
    """Raise `PageRefused` if a parsed page nests too deeply or has too many elements."""
    if depth > DEEPEST:
        raise PageRefused(f"elements are nested more than {DEEPEST:,} deep")
    if elements > MOST_ELEMENTS:
        raise PageRefused(f"the page has more than {MOST_ELEMENTS:,} elements")


def _longest_unread(html: str) -> int:
    """Return the characters that a tag may have whose attributes are not counted: too few for `MOST_ATTRIBUTES`,
    and few in a large page.
    """
    return max(8, min(2 * MOST_ATTRIBUTES, _MOST_UNREAD_PRODUCT // max(1, len(html))))


def _tags_are_short(html: str, longest: int) -> bool:
    """Return whether no tag can have so many characters; False if that is not certain."""
    stride = longest // 2
    # If every piece of half that length contains the end of a tag, no two ends are that far apart.
    if any(html.find(">", at, at + stride) < 0 for at in range(0, len(html) - stride + 1, stride)):
        return False
    return _QUOTED_END.search(html) is None


def _check_attributes(html: str, longest: int) -> None:
    """Measure every position where a tag could begin, and inspect only long ones."""
    if len(html) < longest:
        return
    left, steps = _MOST_READ * len(html), 0
    for match in _TAG.finditer(html):
        tag = None if match[1] else _WHOLE_TAG.match(html, match.start())
        if tag is None:
            continue
        left -= tag.end() - tag.start()
        if left < 0:
            raise PageRefused("its tags cannot be separated: too many unclosed quotes")
        if tag.end() - tag.start() < longest:
            continue
        count = sum(1 for _ in _ATTRIBUTE.finditer(html, match.end(), tag.end()))
        if count > MOST_ATTRIBUTES:
            raise PageRefused(f"an element has more than {MOST_ATTRIBUTES:,} attributes")
        steps += count * count
        if steps > MOST_ATTRIBUTE_STEPS:
            raise PageRefused("too many elements have hundreds of attributes")
