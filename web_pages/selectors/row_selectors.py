"""Makes selectors with the parameter `row`: the same element in any row, which a cell's text names.

A template is returned only if it was tried: with the text of each row it leads into that row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kb_schema.selectors import Selector, TemplateStrategy
from web_pages.element_tree import Element
from web_pages.field_words import is_field, mask_sent_name
from web_pages.selectors.element_terms import (
    build_row_step,
    find_text_term,
    is_row,
    list_fellow_rows,
    list_own_terms,
    list_row_texts,
)
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.selectors.selector_terms import (
    ClassTerm,
    InnerTextTerm,
    NthTerm,
    SelectorPath,
    SelectorStep,
    step_of,
)
from web_pages.selectors.stable_attributes import list_stable_classes
from web_pages.selectors.term_index import TermIndex

PARAMETER = "row"
MOST_TRIED = 12
"""The number of other rows that a template is tried on."""
MOST_LEVELS = 6
"""So far around a control a row is looked for that only its class tells."""
_WHOLE_PAGE = frozenset({"html", "body", "main"})


@dataclass(frozen=True, slots=True)
class RowSelector:
    """A selector for one element of any row."""

    selector: Selector
    """One template with the parameter `row`."""
    row: str
    """The value of the parameter for the row of the given element."""
    tried: tuple[str, ...]
    """Its values for other rows; with each, the template leads to one element."""


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A row that only its class tells: one of several parts of one class, with a control alike in others of them."""

    row: Element
    name: str
    """The class."""
    fellows: tuple[Element, ...]
    """The rows, with this one."""


def find_class_row(element: Element) -> ClassRow | None:
    """Return the nearest row around an element that is one by its class; None if there is none."""
    for node in islice(element.ancestors(), MOST_LEVELS):
        if node.parent is None or node.tag in _WHOLE_PAGE:
            return None
        for name in list_stable_classes(node):
            fellows = [
                each
                for each in node.parent.elements()
                if each.tag == node.tag and name in (each.get("class") or "").split()
            ]
            alike = [
                each for each in fellows if any(is_alike(element, inner) for inner in each.descendants())
            ]
            if len(alike) > 1:
                return ClassRow(node, name, tuple(fellows))
    return None


def is_alike(one: Element, other: Element) -> bool:
    """Whether two elements may be one control of two rows: of one tag, with the first class in common."""
    names = list_stable_classes(one)
    return one.tag == other.tag and (not names or names[0] in (other.get("class") or "").split())


def build_row_selector(
    selectors: PageSelectors, element: Element, *, by_class: bool = False
) -> RowSelector | None:
    """Return a selector that finds the same element in any row of its list or table.

    `by_class`: of a list whose rows only their class tells. Returns None if the element is in no row, if its row has no
    text of its own, or if the template does not work for the other rows.
    """
    return next(list_row_selectors(selectors, element, by_class=by_class), None)


def list_row_selectors(
    selectors: PageSelectors, element: Element, *, by_class: bool = False
) -> Iterator[RowSelector]:
    """Yield the selectors of `build_row_selector`, the best first."""
    told = find_class_row(element) if by_class else None
    row = told.row if told is not None else next((node for node in element.ancestors() if is_row(node)), None)
    if row is None or (by_class and told is None) or element.root.kind != "document":
        return
    terms = selectors.terms(element.root, shadows=False)
    others = [
        node
        for node in (told.fellows if told is not None else list_fellow_rows(row))
        if node is not row and _may_hold(node, element)
    ]
    for held in list_row_texts(terms, row, element, changing=by_class):
        given = InnerTextTerm(held.tag, f"{{{{{PARAMETER}}}}}")
        around = build_row_step(row, given) if told is None else step_of(row, ClassTerm(told.name), given)
        for inner in _inner_steps(terms, element, classes_first=by_class):
            template = SelectorPath((around, inner)).xpath
            if resolve_row_template(selectors, template, held.text) != (element,):
                continue
            tried = tuple(
                _works_for(selectors, terms, template, held, others[:MOST_TRIED], changing=by_class)
            )
            if len(tried) >= min(len(others), MOST_TRIED) / 2 and tried:
                yield RowSelector(row_template_selector(template), held.text, tried)


def _may_hold(row: Element, element: Element) -> bool:
    """Whether a row may have the same control: where it is a field with a name, a row without such a field says nothing."""
    sent = mask_sent_name(element.get("name")) if is_field(element) else ""
    return not sent or any(
        is_field(each) and mask_sent_name(each.get("name")) == sent for each in row.descendants()
    )


def _inner_steps(terms: TermIndex, element: Element, *, classes_first: bool) -> Iterator[SelectorStep]:
    words, _ = find_text_term(terms, element)
    if words is not None:
        yield step_of(element, words)
    for term in list_own_terms(element, classes_first=classes_first):
        if term.telling:
            yield step_of(element, term)
    yield step_of(element)
    if element.parent is not None and is_row(element.parent):
        yield step_of(element, NthTerm(terms.number(element)))  # a cell by its column


def _works_for(
    selectors: PageSelectors,
    terms: TermIndex,
    template: str,
    held: InnerTextTerm,
    rows: list[Element],
    *,
    changing: bool,
) -> Iterator[str]:
    """Yield the texts of other rows with which the template leads into them."""
    for row in rows:
        for other in list_row_texts(terms, row, changing=changing):
            if other.tag != held.tag or other.text == held.text:
                continue
            found = resolve_row_template(selectors, template, other.text)
            if len(found) == 1 and any(up is row for up in found[0].ancestors()):
                yield other.text
                break


def resolve_row_template(selectors: PageSelectors, template: str, words: str) -> tuple[Element, ...]:
    """Return the elements that an XPath template leads to with `words` as the row."""
    return selectors.page.resolve_template(template, {PARAMETER: words})


def row_template_selector(template: str) -> Selector:
    """Return a selector of one XPath template with the parameter `row`."""
    strategy = TemplateStrategy(
        type="parameterized_xpath", template=template, parameters=(PARAMETER,), required_context=(PARAMETER,)
    )
    return Selector(strategies=(strategy,))
