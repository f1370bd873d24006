"""Stored pages of traces: a cache of parsed pages, with queries on their elements."""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import cached_property
from html import unescape
from weakref import WeakValueDictionary

from kb_schema.conditions import BaseCondition
from kb_schema.execution_traces import TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector
from kb_schema.url_patterns import is_id_segment, path_of
from web_pages.accessible_names import name_of
from web_pages.element_tree import Element
from web_pages.page_limits import PageRefused
from web_pages.page_profiles import PageProfile, build_page_profile
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage, evaluate
from web_pages.visibility import visible

MOST_KEPT = 24
"""Maximum number of cached parsed pages: some tens of megabytes for pages of 200 kB."""

_TITLE = re.compile(r"<title[^>]*>([^<]*)</title>", re.IGNORECASE)


class TracePage:
    """One stored page of a trace."""

    def __init__(self, html: str, url: str) -> None:
        title = _TITLE.search(html)
        said = " ".join(unescape(title[1]).split()) if title else ""
        self.stored = StoredPage(PageSnapshot(url=url, title=said, html=html, annotated=True))
        for root in self.stored.roots:
            root.holder = self

    @cached_property
    def selectors(self) -> PageSelectors:
        """The selectors for the page's elements."""
        return PageSelectors(self.stored)

    @cached_property
    def profile(self) -> PageProfile:
        """The profile of the page's visible content."""
        return build_page_profile(self.stored)

    @cached_property
    def names(self) -> frozenset[str]:
        """The accessible names of its visible elements."""
        elements = (element for root in self.stored.roots for element in root.elements)
        return frozenset(name_of(element) for element in elements if visible(element))

    def find(self, selector: Selector) -> Element | None:
        """Return the element that a selector matches uniquely, else None."""
        return self.stored.resolve(selector).element

    def shows(self, selector: Selector) -> bool:
        """Whether a selector matches a visible element."""
        return any(visible(element) for element in self.stored.resolve(selector).found)

    def holds(self, condition: BaseCondition) -> bool:
        """Whether a condition provably holds on the page."""
        return evaluate(self.stored, [condition], _TraceElementScope())[0].held

    def framework_element(self, framework_id: str) -> Element | None:
        """Return the element with an `__id__`; None if there is not exactly one."""
        found = [
            element
            for root in self.stored.roots
            for element in root.elements
            if element.get("__id__") == framework_id
        ]
        return found[0] if len(found) == 1 else None


class _TraceElementScope:
    """Resolves element references in traces: a reference is CSS, since traces have no element ids."""

    signed_in_when = ()

    def element(self, reference: str | Selector) -> Selector | None:
        return reference if isinstance(reference, Selector) else Selector.model_validate(reference)


def _parse(html: str, url: str) -> TracePage | None:
    """Return the page; None if it cannot be parsed."""
    try:
        page = TracePage(html, url)
    except PageRefused:
        return None
    return page if page.stored.roots else None


class TracePages:
    """A cache of the most recently used pages, by HTML, with one representative page per address.

    A page of which somebody has an element stays the same page: elements are compared by identity.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], TracePage | None] = OrderedDict()
        self._alive: WeakValueDictionary[tuple[str, str], TracePage] = WeakValueDictionary()
        self._standing: dict[str, TracePage] = {}
        self._profiles: dict[tuple[int, str], PageProfile] = {}

    def get(self, html: str | None, url: str | None) -> TracePage | None:
        """Return the page; None if there is no HTML or it cannot be parsed."""
        if not html:
            return None
        key = (html, url or "")
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        page = self._alive.get(key)
        if page is None:
            page = _parse(html, url or "")
        if page is not None:
            self._alive[key] = page
        self._kept[key] = page
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return page

    def find_target(self, step: TraceStep) -> tuple[TracePage, Element] | None:
        """Return the page of a step with its target, in the main document; None if it was not recorded."""
        page = self.get(step.html_before or step.html_after, step.source_url)
        if page is None or not isinstance(step.target, Selector) or step.target.frame is not None:
            return None
        element = page.find(step.target)
        return None if element is None else (page, element)

    def profile(self, html: str, url: str | None) -> PageProfile | None:
        """Return the profile of a page. Profiles are small, so all of them are cached."""
        key = (hash(html), url or "")
        if key not in self._profiles:
            page = self.get(html, url)
            if page is None:
                return None
            self._profiles[key] = page.profile
        return self._profiles[key]

    def standing_for(self, html: str | None, url: str | None) -> TracePage | None:
        """Return a cached page of the same address, else this page."""
        place = build_path_template(url)
        if place not in self._standing:
            page = self.get(html, url)
            if page is None:
                return None
            if len(self._standing) >= self._most:
                self._standing.pop(next(iter(self._standing)))
            self._standing[place] = page
        return self._standing[place]


def build_path_template(url: str | None) -> str:
    """Return the path of an address, with `*` in place of the parts that look like ids.

    >>> build_path_template("https://x.example/agents/12/edit?tab=1")
    '/agents/*/edit'
    """
    if not url:
        return ""
    path = path_of(url).split("?")[0].split("#")[0]
    return "/".join("*" if is_id_segment(part) else part for part in path.split("/"))
