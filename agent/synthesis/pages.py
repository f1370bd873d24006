"""Stored pages of traces, parsed at most once while they are needed, and questions asked of them."""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import cached_property
from html import unescape

from kb_schema.conditions import BaseCondition
from kb_schema.pages.evaluating import evaluate
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.selecting.choosing import PageSelectors
from kb_schema.pages.sketch import Sketch, sketch
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.tree import Element
from kb_schema.pages.visibility import visible
from kb_schema.selectors import Selector
from kb_schema.snapshots import PageSnapshot
from kb_schema.urls import is_an_id, path_of

MOST_KEPT = 24
"""Parsed pages that are kept: some tens of megabytes for pages of 200 kB."""

_TITLE = re.compile(r"<title[^>]*>([^<]*)</title>", re.IGNORECASE)


class SeenPage:
    """One page as it was seen in a trace."""

    def __init__(self, html: str, url: str) -> None:
        title = _TITLE.search(html)
        said = " ".join(unescape(title[1]).split()) if title else ""
        self.stored = StoredPage(PageSnapshot(url=url, title=said, html=html, annotated=True))

    @cached_property
    def selectors(self) -> PageSelectors:
        """Selectors for its elements."""
        return PageSelectors(self.stored)

    @cached_property
    def sketch(self) -> Sketch:
        """What it shows."""
        return sketch(self.stored)

    def find(self, selector: Selector) -> Element | None:
        """The one element that a selector leads to."""
        return self.stored.resolve(selector).element

    def shows(self, selector: Selector) -> bool:
        """Whether a selector finds anything that can be seen."""
        return any(visible(element) for element in self.stored.resolve(selector).found)

    def holds(self, condition: BaseCondition) -> bool:
        """Whether a condition provably holds on it."""
        return evaluate(self.stored, [condition], _Scope())[0].held

    def framework_element(self, framework_id: str) -> Element | None:
        """The element with an `__id__`; None where there is none, or more than one."""
        found = [
            element
            for root in self.stored.roots
            for element in root.elements
            if element.get("__id__") == framework_id
        ]
        return found[0] if len(found) == 1 else None


class _Scope:
    """Traces know no elements by id: a reference is CSS."""

    signed_in_when = ()

    def element(self, reference: str | Selector) -> Selector | None:
        return reference if isinstance(reference, Selector) else Selector.model_validate(reference)


class Pages:
    """Pages by their HTML, the most recently used kept; and for each address one to stand for all."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], SeenPage | None] = OrderedDict()
        self._standing: dict[str, SeenPage] = {}
        self._sketches: dict[tuple[int, str], Sketch] = {}

    def get(self, html: str | None, url: str | None) -> SeenPage | None:
        """The page; None where there is no HTML, or none that can be read."""
        if not html:
            return None
        key = (html, url or "")
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        try:
            page: SeenPage | None = SeenPage(html, url or "")
            if page is not None and not page.stored.roots:
                page = None
        except PageRefused:
            page = None
        self._kept[key] = page
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return page

    def sketch(self, html: str, url: str | None) -> Sketch | None:
        """What a page shows; small, so all of them are kept."""
        key = (hash(html), url or "")
        if key not in self._sketches:
            page = self.get(html, url)
            if page is None:
                return None
            self._sketches[key] = page.sketch
        return self._sketches[key]

    def standing_for(self, html: str | None, url: str | None) -> SeenPage | None:
        """A page of the same address that has been parsed, else this one."""
        place = place_of(url)
        if place not in self._standing:
            page = self.get(html, url)
            if page is None:
                return None
            if len(self._standing) >= self._most:
                self._standing.pop(next(iter(self._standing)))
            self._standing[place] = page
        return self._standing[place]


def place_of(url: str | None) -> str:
    """The path of an address, what looks like an id in it left open.

    >>> place_of("https://x.example/agents/12/edit?tab=1")
    '/agents/*/edit'
    """
    if not url:
        return ""
    path = path_of(url).split("?")[0].split("#")[0]
    return "/".join("*" if is_an_id(part) else part for part in path.split("/"))
