"""What a page may ask of the parser: looked at before anything is parsed, in time linear in its size.

A parser is quadratic in how deeply elements nest and how many attributes one has, and it opens
formatting elements that were never closed again in every paragraph, so that a few megabytes could
keep it busy for hours or fill the memory. What is counted here is never less than what the parser
will meet (scripts and comments are counted, too), and far more than any page of a person has.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from kb_schema.pages.tags import FLAT_TAGS, FORMATTING_TAGS

DEEPEST = 4_000
"""Elements in each other, of a parsed page."""
MOST_ROOTS = 500
"""Shadow roots and frames of one page."""
MOST_TAGS = 200_000
MOST_ELEMENTS = 100_000
MOST_STEPS = 50_000_000
"""Open tags at every tag, summed: the parser walks through them."""
MOST_REOPENED = 500_000
"""Formatting elements open at every tag, summed: so many elements the parser may have to make."""
MOST_ATTRIBUTES = 2_000
"""Of one tag."""
MOST_OPTIONS = 10_000
"""The parser takes quadratic time for the options of a list: half a second for so many."""

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_OPTION = re.compile(r"<option", re.IGNORECASE)
_FORMATTING = re.compile(rf"<(?:{'|'.join(sorted(FORMATTING_TAGS))})(?![^\s/>])")
_VALUE = r"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)"
_ATTRIBUTE = re.compile(rf"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+{_VALUE}?)?+")
"""An attribute as the parser reads it (HTML 13.2.5.32-39)."""
_WHOLE_TAG = re.compile(rf"<[a-zA-Z][^ \t\n\f\r/>]*+(?:[ \t\n\f\r/]++|{_ATTRIBUTE.pattern})*+")
_SHORTEST_LONG = 2 * MOST_ATTRIBUTES
"""Characters that so many attributes need at least."""
_QUOTED_END = re.compile(r"=[ \t\n\f\r]*+(?:\"[^\">]*+>|'[^'>]*+>)")
"""Where a `>` may stand in quotes: only there a tag does not end at the first one."""
_MOST_READ = 20
"""So many times its length may be read of a page while its tags are measured: where a tag ends depends
on quotes, and any `<` may begin one."""


class PageRefused(ValueError):
    """A page that is too large or too deeply nested to be looked at."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(slots=True)
class Allowance:
    """What is left of the limits while the roots of one page are parsed, one after the other."""

    characters: int
    tags: int = MOST_TAGS
    roots: int = MOST_ROOTS

    def spend(self, html: str) -> None:
        """Take a root's markup off. Raises `PageRefused` where nothing is left."""
        self.roots -= 1
        if self.roots < 0:
            raise PageRefused(f"more than {MOST_ROOTS} shadow roots and frames")
        self.characters -= len(html)
        if self.characters < 0:
            raise PageRefused("shadow roots and frames repeat more HTML than is allowed")
        self.tags -= check_markup(html, most_tags=self.tags)


def check_markup(html: str, *, most_tags: int = MOST_TAGS) -> int:
    """How many tags there are at most. Raises `PageRefused` for markup that no page of a person has.

    Of most pages a few counts tell that they are harmless; the others are read tag for tag.
    """
    if not _tags_are_short(html):
        _check_attributes(html)
    most = html.count("<")
    if most > MOST_OPTIONS and sum(1 for _ in _OPTION.finditer(html)) > MOST_OPTIONS:
        raise PageRefused(f"the page has more than {MOST_OPTIONS:,} options to choose from")
    if most <= most_tags and most * most <= MOST_STEPS:
        formatting = sum(1 for _ in _FORMATTING.finditer(html.lower()))
        if most * formatting <= MOST_REOPENED:
            return most
    return _check_nesting(html, most_tags)


def _check_nesting(html: str, most_tags: int) -> int:
    """How many tags there are, and how many are open at each."""
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
    """Raises `PageRefused` where a parsed page nests more deeply, or has more, than it may."""
    if depth > DEEPEST:
        raise PageRefused(f"elements are nested more than {DEEPEST:,} deep")
    if elements > MOST_ELEMENTS:
        raise PageRefused(f"the page has more than {MOST_ELEMENTS:,} elements")


def _tags_are_short(html: str) -> bool:
    """Whether no tag can have as many characters as too many attributes need; False where it is not plain."""
    stride = _SHORTEST_LONG // 2
    # Where every piece of half that length has an end of a tag, no two ends are that far apart.
    if any(html.find(">", at, at + stride) < 0 for at in range(0, len(html) - stride + 1, stride)):
        return False
    return _QUOTED_END.search(html) is None


def _check_attributes(html: str) -> None:
    """Every place where a tag could begin is measured; only long ones are looked into."""
    if len(html) < _SHORTEST_LONG:
        return
    left = _MOST_READ * len(html)
    for match in _TAG.finditer(html):
        tag = None if match[1] else _WHOLE_TAG.match(html, match.start())
        if tag is None:
            continue
        left -= tag.end() - tag.start()
        if left < 0:
            raise PageRefused("its tags cannot be told apart: quotes are left open all over")
        if tag.end() - tag.start() < _SHORTEST_LONG:
            continue
        count = sum(1 for _ in _ATTRIBUTE.finditer(html, match.end(), tag.end()))
        if count > MOST_ATTRIBUTES:
            raise PageRefused(f"an element has more than {MOST_ATTRIBUTES:,} attributes")
