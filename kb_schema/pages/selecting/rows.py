"""Selectors with a parameter: the same thing in any row, the row told by the text of one of its cells.

Written only where it was tried: filled with the words of each row it leads into that row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kb_schema.pages.selecting.choosing import PageSelectors
from kb_schema.pages.selecting.page_terms import PageTerms
from kb_schema.pages.selecting.speaking import is_row, own_terms, own_words, row_step, row_words
from kb_schema.pages.selecting.terms import Holds, Path, Step, step_of
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.templates import fill_selector

PARAMETER = "row"
MOST_TRIED = 12
"""Other rows that a template is tried on."""


@dataclass(frozen=True, slots=True)
class RowSelector:
    """A selector for one element of any row."""

    selector: Selector
    """One template with the parameter `row`."""
    row: str
    """What the parameter is for the row of the element that was asked about."""
    tried: tuple[str, ...]
    """What it is for other rows, in each of which the template leads to one element."""


def row_selector(selectors: PageSelectors, element: Element) -> RowSelector | None:
    """How to say the same of any row of a list or table; None where the element stands in no row, its
    row has no words of its own, or the same words do not work for the other rows.
    """
    row = next((node for node in element.ancestors() if is_row(node)), None)
    if row is None or row.parent is None or element.root.kind != "document":
        return None
    terms = selectors.terms(element.root, shadows=False)
    others = [node for node in row.parent.elements() if node.tag == row.tag and node is not row]
    for held in row_words(terms, row, element):
        for inner in _inner_steps(terms, element):
            template = Path((row_step(row, Holds(held.tag, f"{{{{{PARAMETER}}}}}")), inner)).xpath
            if _reached(selectors, template, held.text) != (element,):
                continue
            tried = tuple(_works_for(selectors, terms, template, held, others[:MOST_TRIED]))
            if len(tried) >= min(len(others), MOST_TRIED) / 2 and tried:
                return RowSelector(_selector(template), held.text, tried)
    return None


def _inner_steps(terms: PageTerms, element: Element) -> Iterator[Step]:
    words, _ = own_words(terms, element)
    if words is not None:
        yield step_of(element, words)
    for term in own_terms(element):
        if term.telling:
            yield step_of(element, term)
    yield step_of(element)


def _works_for(
    selectors: PageSelectors, terms: PageTerms, template: str, held: Holds, rows: list[Element]
) -> Iterator[str]:
    """The words of other rows that lead into them."""
    for row in rows:
        for other in row_words(terms, row):
            if other.tag != held.tag or other.text == held.text:
                continue
            found = _reached(selectors, template, other.text)
            if len(found) == 1 and any(up is row for up in found[0].ancestors()):
                yield other.text
                break


def _reached(selectors: PageSelectors, template: str, words: str) -> tuple[Element, ...]:
    try:
        value = fill_selector(template, {PARAMETER: words}, "xpath")
    except (KeyError, ValueError):  # words in the template itself that look like a parameter
        return ()
    return selectors.page.resolve(Selector(strategies=(ValueStrategy(type="xpath", value=value),))).found


def _selector(template: str) -> Selector:
    strategy = TemplateStrategy(
        type="parameterized_xpath", template=template, parameters=(PARAMETER,), required_context=(PARAMETER,)
    )
    return Selector(strategies=(strategy,))
