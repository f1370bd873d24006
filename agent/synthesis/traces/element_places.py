"""The place of an element among those of its kind on a page: the third text field, the second result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.synthesis.traces.trace_pages import TracePage
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.templates import xpath_literal
from web_pages.element_tree import Element
from web_pages.selectors.stable_attributes import list_stable_classes

LEAST_PLACES = 2
"""Different places that must be shown before a number is taken for the place."""
MOST_PLACES = 99
MOST_CLASSES = 2


def is_place(text: str) -> bool:
    """Whether a text is a number that may be a place, from 1."""
    return text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_PLACES


def list_kinds(elements: Sequence[Element]) -> Iterator[str]:
    """Yield XPath of all elements of the targets' kind: by type, by their classes, then by tag in the same part."""
    first = elements[0]
    typed = first.get("type")
    if typed and all(each.get("type") == typed for each in elements):
        yield f"//{first.tag}[@type={xpath_literal(typed)}]"
    common = [
        name
        for name in list_stable_classes(first)
        if all(name in list_stable_classes(each) for each in elements)
    ]
    for name in common[:MOST_CLASSES]:
        yield f"//{first.tag}[contains(concat(' ', normalize-space(@class), ' '), {xpath_literal(f' {name} ')})]"
    ids = [{up.get("id") for up in each.ancestors() if up.get("id")} for each in elements]
    around = [
        each
        for each in (up.get("id") for up in first.ancestors())
        if each and all(each in one for one in ids)
    ]
    yield from (f"//*[@id={xpath_literal(each)}]//{first.tag}" for each in around)
    yield f"//{first.tag}"


def find_at_place(page: TracePage, kind: str, number: int) -> Element | None:
    """Return the element of a kind at a place, from 1; None if there is none."""
    selector = Selector(strategies=(ValueStrategy(type="xpath", value=f"({kind})[{number}]"),))
    found = page.stored.resolve(selector).found
    return found[0] if len(found) == 1 else None
