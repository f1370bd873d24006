"""Where earlier pages showed a value: an element that is at the same place on every page, and the text around the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import re2

from agent.synthesis.alignment.aligned_traces import RowKey
from agent.synthesis.patterns.extracted_patterns import PageReading
from agent.synthesis.traces.trace_pages import TracePage
from kb_schema.selectors import ValueStrategy, css
from web_pages.element_tree import Element
from web_pages.page_texts import own_texts, text_of
from web_pages.visibility import visible

LONGEST_TEXT = 200
"""Maximum length of a text that is searched for a value."""
MOST_LOOKED_AT = 40
"""Maximum number of elements that are tried per page."""


def find_page_reading(
    pages: Mapping[RowKey, TracePage], texts: Mapping[RowKey, str], name: str
) -> PageReading | None:
    """Return the reading of values that the pages show at one place; None if there is none."""
    first = min(pages)
    for element in _elements_saying(pages[first], texts[first]):
        selector = _lasting_css(pages[first], element)
        if selector is None:
            continue
        said = {row: _said_at(page, selector) for row, page in pages.items()}
        around = _text_around(said, texts)
        if around is None:
            continue
        pattern = None if around == ("", "") else f"^{re2.escape(around[0])}(.+){re2.escape(around[1])}$"
        return PageReading(name or "value", selector, pattern)
    return None


def _elements_saying(page: TracePage, text: str) -> Sequence[Element]:
    """Return visible elements that contain a value, the shortest texts first."""
    found = []
    for element in page.stored.roots[0].elements:
        if own_texts(element) and visible(element):
            said = text_of(element)
            if text in said and len(said) <= LONGEST_TEXT:
                found.append((len(said), element.order, element))
    return [element for _, _, element in sorted(found, key=lambda each: each[:2])[:MOST_LOOKED_AT]]


def _lasting_css(page: TracePage, element: Element) -> str | None:
    choice = page.selectors.of(element).selector
    if choice is None or choice.frame is not None:
        return None
    for each in choice.strategies:
        if isinstance(each, ValueStrategy) and not each.fallback:
            if each.type == "css":
                return each.value
            if (
                each.type in ("data-qa", "data-testid", "id")
                and '"' not in each.value
                and "\\" not in each.value
            ):
                return f'[{each.type}="{each.value}"]'
    return None


def _said_at(page: TracePage, selector: str) -> str | None:
    element = page.find(css(selector))
    return None if element is None else text_of(element)


def _text_around(said: Mapping[RowKey, str | None], texts: Mapping[RowKey, str]) -> tuple[str, str] | None:
    found: set[tuple[str, str]] = set()
    for row, text in texts.items():
        before, part, after = (said[row] or "").partition(text)
        if not part:
            return None
        found.add((before, after))
    return found.pop() if len(found) == 1 else None
