"""Makes the selector of an element that a recording marks on a page, with `web_pages.selectors`."""

from __future__ import annotations

from functools import cached_property

from kb_schema.page_snapshots import PLACE_ATTRIBUTE, PageSnapshot
from kb_schema.selectors import Selector
from web_pages.element_tree import Element
from web_pages.page_limits import PageRefused
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage

MARK = f" {PLACE_ATTRIBUTE}=0"
"""The attribute that marks the element in the HTML.

Without quotes, so that it is unchanged inside of `srcdoc`, however deep.
"""


class MarkedPage:
    """HTML with one marked element."""

    def __init__(self, html: str, url: str | None = None) -> None:
        self._html, self._url = html, url

    @property
    def html(self) -> str:
        """The HTML without the mark."""
        return self._html.replace(MARK, "")

    @cached_property
    def selector(self) -> Selector | None:
        """The selector of the marked element; None if there is none, or nothing matches it alone."""
        found = self._marked
        return None if found is None else PageSelectors(self._page).of(found).selector

    @property
    def is_password(self) -> bool:
        """Whether it is a password field."""
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
