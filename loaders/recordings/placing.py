"""The selector of an element that a recording points at on a page it kept, by the code that selects
everywhere else (`kb_schema.pages.selecting`).
"""

from __future__ import annotations

from functools import cached_property

from kb_schema.pages.limits import PageRefused
from kb_schema.pages.selecting.choosing import PageSelectors
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector
from kb_schema.snapshots import PLACE_ATTRIBUTE, PageSnapshot

MARK = f" {PLACE_ATTRIBUTE}=0"
"""What whoever writes the HTML puts into the tag of the element that is meant. Without quotes: it stays
what it is inside of `srcdoc`, however deep.
"""


class MarkedPage:
    """HTML with one marked element."""

    def __init__(self, html: str, url: str | None = None) -> None:
        self._html, self._url = html, url

    @property
    def html(self) -> str:
        """Without the mark."""
        return self._html.replace(MARK, "")

    @cached_property
    def selector(self) -> Selector | None:
        """Of the marked element; None where there is none, or nothing leads to it alone."""
        found = self._marked
        return None if found is None else PageSelectors(self._page).of(found).selector

    @property
    def is_password(self) -> bool:
        """Whether it is a field for passwords."""
        found = self._marked
        return found is not None and found.tag == "input" and (found.get("type") or "").lower() == "password"

    @cached_property
    def _page(self) -> StoredPage:
        return StoredPage(PageSnapshot(url=self._url or "about:blank", html=self._html))

    @cached_property
    def _marked(self) -> Element | None:
        if MARK not in self._html:
            return None
        try:
            elements = (each for root in self._page.roots for each in root.elements)
            return next((each for each in elements if each.get(PLACE_ATTRIBUTE) is not None), None)
        except PageRefused:
            return None
