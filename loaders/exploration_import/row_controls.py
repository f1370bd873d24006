"""Finds a selector for the same control in any row of a list: by the row's text, or the first row.

A selector is returned only if it was tried on an explored page: with a row's text it leads into that row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from kb_schema.explorations import Offer
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.templates import xpath_literal
from loaders.exploration_import.explored_pages import ExploredPage, ExploredSite
from loaders.exploration_import.screen_controls import ScreenControl
from web_pages.element_tree import Element
from web_pages.page_limits import PageRefused
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.selectors.element_terms import find_text_term, list_row_texts
from web_pages.selectors.row_selectors import (
    MOST_LEVELS,
    PARAMETER,
    build_row_selector,
    find_class_row,
    list_row_selectors,
    resolve_row_template,
    row_template_selector,
)
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.selectors.selector_terms import ClassTerm, InnerTextTerm, SelectorPath, step_of
from web_pages.selectors.stable_attributes import list_stable_classes
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

MOST_TRIED = 3
"""The number of rows from whose text a selector is built."""
LONGEST_WORDS = 60
MOST_SELECTORS = 4
"""The selectors of one element that are tried on other pages."""
MOST_FILLED = 12
"""The number of rows it is tried on."""
_PART = re.compile(rf"\[(?:\.//)?[a-z][\w-]*\[normalize-space\(\)='\{{\{{{PARAMETER}\}}\}}'\]\]")
"""The part of a row whose text a template asks for."""
_ROW_TAGS = frozenset({"tr", "li", "article", "dt", "dd"})


@dataclass(frozen=True, slots=True)
class RowControlSelector:
    """A selector for one element of any row, or of the first row."""

    selector: Selector
    row: str | None = None
    """The text of one row as an example; None if the selector is for the first row."""


class RowControls:
    """Finds selectors for the controls of any row. Each page is parsed once."""

    def __init__(self, seen: ExploredSite) -> None:
        self._seen = seen
        self._pages: dict[str, PageSelectors | None] = {}

    def of(self, control: ScreenControl) -> RowControlSelector | None:
        """Return a selector tried on the page with the most rows; None if none leads into a row."""
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
        first = (_by_own_text, _by_row_text) if control.offer.href else (_by_row_text, _by_own_text)
        methods = (*first, _by_inner_text)
        told = None
        if not control.repeated:
            selectors = (method(page, elements) for method in methods)
            told = next((each for each in selectors if each is not None), None)
        told = told or self._by_class(by_page, page, elements)
        if told is not None:
            return _widen(page, told)
        return None if control.repeated else _first(page, elements)

    def _by_class(
        self, by_page: Mapping[str, Sequence[Offer]], page: PageSelectors, elements: Sequence[Element]
    ) -> RowControlSelector | None:
        """Return the selector that leads into rows of as many pages as possible."""
        found = (
            each
            for element in elements[:MOST_TRIED]
            for each in islice(list_row_selectors(page, element, by_class=True), MOST_SELECTORS)
        )
        best = max(found, key=lambda each: self._count_pages(each.selector, by_page), default=None)
        return None if best is None else RowControlSelector(best.selector, best.row)

    def _count_pages(self, selector: Selector, by_page: Mapping[str, Sequence[Offer]]) -> int:
        return sum(
            any(self._leads_there(selector, page_id, offer) for offer in offers[:MOST_TRIED])
            for page_id, offers in by_page.items()
        )

    def _leads_there(self, selector: Selector, page_id: str, offer: Offer) -> bool:
        """Return whether a selector of any row leads to a control with one of the texts of its row."""
        page, template = self._page(page_id), selector.strategies[0]
        if page is None or offer.selector is None or not isinstance(template, TemplateStrategy):
            return False
        element = page.page.resolve(offer.selector).element
        row = None if element is None else find_class_row(element)
        if element is None or row is None:
            return False
        texts = list_row_texts(page.terms(element.root, shadows=False), row.row, element, changing=True)
        return any(resolve_row_template(page, template.template, each.text) == (element,) for each in texts)

    def split(self, control: ScreenControl) -> Iterator[ScreenControl]:
        """Yield a repeated control by the lists in which it is; where no text tells its rows apart, each one."""
        lists: dict[str, list[tuple[ExploredPage, Offer]]] = {}
        for look, offer in control.seen:
            page = self._page(look.page_id)
            found = page and offer.selector and page.page.resolve(offer.selector).element
            row = find_class_row(found) if found else None
            kind = "" if row is None else f"{row.row.tag}.{row.name}"
            lists.setdefault(kind, []).append((look, offer))
        for kind, seen in lists.items():
            part = ScreenControl((*control.key, kind), tuple(seen), control.pages, in_rows=True)
            told = self.of(part) if kind else None
            if told is None or told.row is None:
                yield from part.separate()
            else:
                yield part

    def words_beside(self, control: ScreenControl) -> str:
        """Return the first words beside a control, by which people call it; nothing for one of any row."""
        look, offer = control.seen[0]
        page = None if control.in_rows else self._page(look.page_id)
        if page is None or offer.selector is None:
            return ""
        element = page.page.resolve(offer.selector).element
        around = () if element is None else islice(element.ancestors(), MOST_LEVELS)
        return next((words for node in around if element and (words := _find_words(node, element))), "")

    def _page(self, page_id: str) -> PageSelectors | None:
        if page_id not in self._pages:
            try:
                self._pages[page_id] = PageSelectors(StoredPage(self._seen.snapshot(page_id)))
            except PageRefused:
                self._pages[page_id] = None
        return self._pages[page_id]


def _widen(page: PageSelectors, found: RowControlSelector) -> RowControlSelector:
    """Return a selector that takes any text of the row, not only that of one part: people quote a question, not who asked it."""
    template = found.selector.strategies[0]
    if found.row is None or not isinstance(template, TemplateStrategy):
        return found
    wide = _PART.sub(rf"[.//*[normalize-space()='{{{{{PARAMETER}}}}}']]", template.template, count=1)
    leads = resolve_row_template(page, template.template, found.row)
    if wide == template.template or resolve_row_template(page, wide, found.row) != leads:
        return found
    strategies = (template, *row_template_selector(wide).strategies)
    return RowControlSelector(found.selector.model_copy(update={"strategies": strategies}), found.row)


def _find_words(within: Element, element: Element) -> str:
    """Return the first visible words in a part of the page that are not in the element itself."""
    inner = {id(element), *(id(each) for each in element.descendants())}
    return next(
        (
            squeeze(text_of(each))[:LONGEST_WORDS]
            for each in within.descendants()
            if id(each) not in inner and own_texts(each) and visible(each) and _is_telling(text_of(each))
        ),
        "",
    )


def _is_telling(text: str) -> bool:
    return sum(map(str.isalpha, text)) > 1


def _by_own_text(page: PageSelectors, elements: Sequence[Element]) -> RowControlSelector | None:
    """By the text of the control itself, if it differs in each row."""
    texts = [_get_own_text(page, element) for element in elements]
    words = [text for _, text in texts]
    if not elements or len(set(words)) != len(words) or "" in words or len({tag for tag, _ in texts}) != 1:
        return None
    tag = texts[0][0]
    own = f"normalize-space()='{{{{{PARAMETER}}}}}'"
    holding = f"[{own}]" if tag is None else f"[.//{tag}[{own}]]"
    for where in _places(elements):
        template = f"{where}{holding}"
        if all(
            resolve_row_template(page, template, text) == (element,)
            for element, text in zip(elements, words, strict=True)
        ):
            return RowControlSelector(row_template_selector(template), words[0])
    return None


def _by_inner_text(page: PageSelectors, elements: Sequence[Element]) -> RowControlSelector | None:
    """By a text in the control, which is the row itself: one of a list that its class tells."""
    if len(elements) < 2 or any(each.root.kind != "document" for each in elements):
        return None
    first, terms = elements[0], page.terms(elements[0].root, shadows=False)
    texts = {id(each): list(list_row_texts(terms, each, changing=True)) for each in elements}
    shared = set.intersection(*(set(list_stable_classes(each)) for each in elements))
    for name in (each for each in list_stable_classes(first) if each in shared):
        for held in texts[id(first)]:
            given = InnerTextTerm(held.tag, f"{{{{{PARAMETER}}}}}")
            template = SelectorPath((step_of(first, ClassTerm(name), given),)).xpath
            told = [
                each
                for each in elements
                if any(
                    text.tag == held.tag and resolve_row_template(page, template, text.text) == (each,)
                    for text in texts[id(each)]
                )
            ]
            if first in told and len(told) > len(elements) / 2:
                row = next(
                    text.text
                    for text in texts[id(first)]
                    if text.tag == held.tag and resolve_row_template(page, template, text.text) == (first,)
                )
                return RowControlSelector(row_template_selector(template), row)
    return None


def _by_row_text(page: PageSelectors, elements: Sequence[Element]) -> RowControlSelector | None:
    """By the other text of the row, if the control has the same text in each."""
    for element in elements[:MOST_TRIED]:
        found = build_row_selector(page, element)
        if found is not None:
            return RowControlSelector(found.selector, found.row)
    return None


def _first(page: PageSelectors, elements: Sequence[Element]) -> RowControlSelector | None:
    for where in _places(elements):
        selector = Selector(strategies=(ValueStrategy(type="xpath", value=f"({where})[1]"),))
        if page.page.resolve(selector).element in elements:
            return RowControlSelector(selector)
    return None


def _places(elements: Sequence[Element]) -> Iterator[str]:
    """Yield XPaths that match all of the elements, the widest first."""
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
    """Return the common prefix of the texts, up to a slash."""
    low, high = min(texts), max(texts)
    same = next(
        (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low)
    )
    return low[: low.rfind("/", 0, same) + 1]


def _get_own_text(page: PageSelectors, element: Element) -> tuple[str | None, str]:
    """Return an element's text, and the tag of the inner element that has it if it is only a part."""
    term, _ = find_text_term(page.terms(element.root, shadows=False), element)
    if isinstance(term, InnerTextTerm):
        return term.tag, term.text
    return None, squeeze(text_of(element))
