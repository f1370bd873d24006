"""How to say the same control of any row of a list: by words of the row, or the first one there is.

Only what was tried on a page that has such rows: filled with what a row says it leads into that row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb_schema.mapping import Offer
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.selecting.choosing import PageSelectors
from kb_schema.pages.selecting.rows import PARAMETER, row_selector
from kb_schema.pages.selecting.speaking import own_words
from kb_schema.pages.selecting.terms import Holds
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.templates import fill_selector, xpath_literal
from loaders.cartography.controls import Control
from loaders.cartography.looks import Seen

MOST_TRIED = 3
"""Rows from whose words a selector is formed."""
MOST_FILLED = 12
"""Rows that it is tried on."""
_ROW_TAGS = frozenset({"tr", "li", "article", "dt", "dd"})


@dataclass(frozen=True, slots=True)
class InRows:
    """A selector for one element of any row, or of the first row."""

    selector: Selector
    row: str | None = None
    """What a row says, for example; None where it is the first row."""


class Rows:
    """Finds how to say the same control of any row; pages are read once."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._pages: dict[str, PageSelectors | None] = {}

    def of(self, control: Control) -> InRows | None:
        """Tried on the page with the most rows; None where nothing leads into a row."""
        by_page: dict[str, list[Offer]] = {}
        for look, offer in control.seen:
            by_page.setdefault(look.page_id, []).append(offer)
        page_id, offers = max(by_page.items(), key=lambda item: len(item[1]))
        page = self._page(page_id)
        if page is None:
            return None
        elements = [
            found
            for offer in offers[:MOST_FILLED]
            if offer.selector is not None and (found := page.page.resolve(offer.selector).element) is not None
        ]
        ways = (_by_own_words, _by_row_words) if control.offer.href else (_by_row_words, _by_own_words)
        told = (way(page, elements) for way in ways)
        return next((each for each in told if each is not None), None) or _first(page, elements)

    def _page(self, page_id: str) -> PageSelectors | None:
        if page_id not in self._pages:
            try:
                self._pages[page_id] = PageSelectors(StoredPage(self._seen.snapshot(page_id)))
            except PageRefused:
                self._pages[page_id] = None
        return self._pages[page_id]


def _by_own_words(page: PageSelectors, elements: Sequence[Element]) -> InRows | None:
    """By what the control itself says, which is another thing in each row."""
    said = [_said(page, element) for element in elements]
    words = [text for _, text in said]
    if not elements or len(set(words)) != len(words) or "" in words or len({tag for tag, _ in said}) != 1:
        return None
    tag = said[0][0]
    own = f"normalize-space()='{{{{{PARAMETER}}}}}'"
    holding = f"[{own}]" if tag is None else f"[.//{tag}[{own}]]"
    for where in _places(elements):
        template = f"{where}{holding}"
        if all(
            _filled(page, template, text) == (element,) for element, text in zip(elements, words, strict=True)
        ):
            return InRows(_templated(template), words[0])
    return None


def _by_row_words(page: PageSelectors, elements: Sequence[Element]) -> InRows | None:
    """By what else the row says, where the control says the same in each."""
    for element in elements[:MOST_TRIED]:
        found = row_selector(page, element)
        if found is not None:
            return InRows(found.selector, found.row)
    return None


def _first(page: PageSelectors, elements: Sequence[Element]) -> InRows | None:
    for where in _places(elements):
        selector = Selector(strategies=(ValueStrategy(type="xpath", value=f"({where})[1]"),))
        if page.page.resolve(selector).element in elements:
            return InRows(selector)
    return None


def _places(elements: Sequence[Element]) -> Iterator[str]:
    """XPath of what all of them are, the widest first."""
    tags = {element.tag for element in elements}
    if len(tags) != 1:
        return
    tag = next(iter(tags))
    hrefs = [href for element in elements if (href := element.get("href"))]
    begins = _beginning(hrefs) if hrefs and len(hrefs) == len(elements) else ""
    starting = f"[starts-with(@href, {xpath_literal(begins)})]" if begins else ""
    around = [element.closest(*_ROW_TAGS) for element in elements]
    rows = {each.tag for each in around if each is not None}
    if starting:
        yield f"//{tag}{starting}"
    if len(rows) == 1 and None not in around:
        row = rows.pop()
        yield f"//{row}//{tag}{starting}"
        yield f"//main//{row}//{tag}{starting}"
    if not starting:
        yield f"//{tag}"


def _beginning(texts: Sequence[str]) -> str:
    """What all of them begin with, up to a slash."""
    low, high = min(texts), max(texts)
    same = next(
        (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low)
    )
    return low[: low.rfind("/", 0, same) + 1]


def _said(page: PageSelectors, element: Element) -> tuple[str | None, str]:
    """What an element says, and the tag inside it that says it, where it is only a part of it."""
    term, _ = own_words(page.terms(element.root, shadows=False), element)
    if isinstance(term, Holds):
        return term.tag, term.text
    return None, squeeze(text_of(element))


def _filled(page: PageSelectors, template: str, words: str) -> tuple[Element, ...]:
    try:
        value = fill_selector(template, {PARAMETER: words}, "xpath")
    except (KeyError, ValueError):  # words of the page that look like a parameter
        return ()
    return page.page.resolve(Selector(strategies=(ValueStrategy(type="xpath", value=value),))).found


def _templated(template: str) -> Selector:
    strategy = TemplateStrategy(
        type="parameterized_xpath", template=template, parameters=(PARAMETER,), required_context=(PARAMETER,)
    )
    return Selector(strategies=(strategy,))
