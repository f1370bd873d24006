"""Terms that describe an element, and the steps that describe its surroundings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from web_pages.accessible_names import labels_of
from web_pages.element_tree import Element
from web_pages.html_tags import INPUT_BUTTONS
from web_pages.selectors.element_index import UNINDEXED_TAGS, ElementIndex, normalized
from web_pages.selectors.generated_names import looks_generated
from web_pages.selectors.selector_terms import (
    AttributeTerm,
    BeginningTerm,
    ClassTerm,
    InnerTextTerm,
    LabelForTerm,
    OwnTextTerm,
    SelectorStep,
    SelectorTerm,
    TextTerm,
    step_of,
)
from web_pages.selectors.stable_attributes import (
    WEAK,
    ValueFlaw,
    find_text_flaw,
    list_stable_attributes,
    list_stable_classes,
)

_ROW_TAGS = frozenset({"tr", "li", "article"})
_ROW_ROLES = frozenset({"row", "listitem", "article", "treeitem", "option"})
_SECTION_TAGS = frozenset(
    {"section", "fieldset", "form", "dialog", "aside", "details", "table", "nav", "main"}
)
_REGION_ROLES = frozenset({"dialog", "alertdialog", "main", "navigation", "search", "banner", "contentinfo"})
_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "legend", "caption", "summary"})
_MOST_SAID = 4
"""The most texts of a row that are tried."""
_BADGE = re.compile(r"[(\[]?\+?\d{1,6}(?:[.,]\d{1,3})?\s?[kKmM]?\+?[)\]]?")
"""A count as badges have it: 3, 99+, (12), 1.2k."""
_COUNTED = re.compile(r"([^\W\d_]{2}.*[(\[])\s*\d+\+?\s*[)\]]")
"""A name with a count in brackets behind it."""
_RECORD = re.compile(r"#?\d{4,}")
_LOOKED_AT = 60
"""The most elements of a row or section that are searched for texts."""
_SILENT = UNINDEXED_TAGS | {"select", "svg", "html", "body"}
"""The text of these is not what a person calls them."""
_SILENT_IN_ROWS = _SILENT | {"option"}
"""Nor do the choices of a field name its row."""


def list_own_terms(
    element: Element, *, but: frozenset[str] = frozenset(), classes_first: bool = False
) -> list[SelectorTerm]:
    """Return terms for an element's attributes and classes, without those of `but`, which are unique already."""
    attributes: list[SelectorTerm] = [
        AttributeTerm(*each) for each in list_stable_attributes(element) if each.name not in but
    ]
    classes: list[SelectorTerm] = [ClassTerm(name) for name in list_stable_classes(element)]
    strong = [each for each in attributes if isinstance(each, AttributeTerm) and each.name not in WEAK]
    weak = [each for each in attributes if isinstance(each, AttributeTerm) and each.name in WEAK]
    return [*classes, *strong, *weak] if classes_first else [*strong, *classes, *weak]


def find_text_term(page: ElementIndex, element: Element) -> tuple[SelectorTerm | None, ValueFlaw]:
    """Return the term for the visible text of an element or its label; else the reason why there is none."""
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        value = element.get("value") or ""
        flaw = find_text_flaw(value)
        return (None, flaw) if flaw is not None else (AttributeTerm("value", value), ValueFlaw.ABSENT)
    label = _label_for(page, element)
    if label is not None:
        return label, ValueFlaw.ABSENT
    if element.tag not in _SILENT:
        piece = _main_piece(page, element)
        if piece is None:
            piece = _name_beside_badge(page, element)
        if piece is not None:
            return piece, ValueFlaw.ABSENT
    text = None if element.tag in _SILENT else page.text(element)
    if text is None:
        return None, ValueFlaw.ABSENT if element.tag in _SILENT else ValueFlaw.TOO_LONG
    flaw = find_text_flaw(text)
    if flaw is ValueFlaw.CHANGES and (counted := _COUNTED.fullmatch(text)) and not find_text_flaw(counted[1]):
        return BeginningTerm(counted[1]), ValueFlaw.ABSENT
    return (None, flaw) if flaw is not None else (TextTerm(text), ValueFlaw.ABSENT)


def _main_piece(page: ElementIndex, element: Element) -> SelectorTerm | None:
    """Return the longest of several pieces of text, such as a name beside initials; None if there is only
    one.
    """
    if any(map(_is_words, element.children)):
        return None
    pieces = [node for node in _some(element) if any(map(_is_words, node.children))]
    if len(pieces) < 2:
        return None
    shown = [node for node in pieces if not _is_ornament(node, element)]
    texts = ((page.text(node) or "", node.tag) for node in shown)
    usable = [(text, tag) for text, tag in texts if find_text_flaw(text) is None]
    text, tag = max(usable, key=lambda each: len(each[0]), default=("", ""))
    return InnerTextTerm(tag, text) if sum(map(str.isalpha, text)) > 1 else None


def _name_beside_badge(page: ElementIndex, element: Element) -> SelectorTerm | None:
    """Return its own words if all that its parts say is a count or a time; None otherwise."""
    own = [normalized(child) for child in element.children if isinstance(child, str) and _is_words(child)]
    parts = [page.text(child) for child in element.elements()]
    said = [each for each in parts if each]
    if len(own) != 1 or not said or None in parts or find_text_flaw(own[0]) is not None:
        return None
    if not all(_BADGE.fullmatch(each) or find_text_flaw(each) is ValueFlaw.CHANGES for each in said):
        return None
    return OwnTextTerm(own[0]) if sum(map(str.isalpha, own[0])) > 1 else None


def _is_ornament(node: Element, within: Element) -> bool:
    """Return whether it is decoration only."""
    for each in (node, *node.ancestors()):
        if each.get("aria-hidden") == "true":
            return True
        if each is within:
            break
    return False


def _label_for(page: ElementIndex, element: Element) -> SelectorTerm | None:
    for label in labels_of(element):
        text = page.text(label)
        if label.get("for") and text is not None and find_text_flaw(text) is None:
            return LabelForTerm(text)
    return None


def find_wrapping_label(page: ElementIndex, element: Element) -> SelectorStep | None:
    """Return a step for the label wrapped around a control."""
    around = element.closest("label")
    text = None if around is None or around not in labels_of(element) else page.text(around)
    if text is None or around is None or find_text_flaw(text) is not None:
        return None
    return step_of(around, TextTerm(text))


def list_attribute_anchors(element: Element) -> list[SelectorStep]:
    """Return steps for ancestors by their attributes and classes, which CSS can express."""
    steps: list[SelectorStep] = []
    for each in list_own_terms(element):
        if isinstance(each, AttributeTerm) and each.name in WEAK and each.name != "action":
            continue
        steps.append(
            SelectorStep(None, (each,)) if isinstance(each, AttributeTerm) else step_of(element, each)
        )
    role = element.get("role")
    if role in _REGION_ROLES:
        steps.append(SelectorStep(None, (AttributeTerm("role", role),)))
    return steps


def list_text_anchors(page: ElementIndex, element: Element, inner: Element) -> list[SelectorStep]:
    """Return steps for ancestors by text (row with a cell, section with a heading, label) and attributes."""
    return [*_by_words(page, element, inner), *list_attribute_anchors(element)]


def is_row(element: Element) -> bool:
    """Return whether it is one of several similar elements: a row, an item, a card."""
    if element.tag not in _ROW_TAGS and element.get("role") not in _ROW_ROLES:
        return False
    return len(list_fellow_rows(element)) > 1


def list_fellow_rows(row: Element) -> list[Element]:
    """Return the elements of a row's tag in its list, in order, including the row.

    Those of a table are in all its bodies: some tables have one for each row.
    """
    parent = row.parent
    if parent is None:
        return [row]
    table = parent.parent if row.tag == "tr" and parent.tag == "tbody" else None
    bodies = [parent] if table is None else [each for each in table.elements() if each.tag == "tbody"]
    return [each for body in bodies for each in body.elements() if each.tag == row.tag]


def _by_words(page: ElementIndex, element: Element, inner: Element) -> Iterator[SelectorStep]:
    if is_row(element):
        for held in list_row_texts(page, element, inner):
            yield build_row_step(element, held)
    elif element.tag in _SECTION_TAGS or element.tag == "div":
        heading = next((node for node in _some(element) if node.tag in _HEADING_TAGS), None)
        text = None if heading is None or heading is inner else page.text(heading)
        if heading is not None and text and find_text_flaw(text) is None:
            deep = element.tag in _SECTION_TAGS
            if deep or heading.parent is element:
                yield step_of(element, InnerTextTerm(heading.tag, text, deep=deep))


def build_row_step(row: Element, held: SelectorTerm) -> SelectorStep:
    """Return the step for a row by its content; the role marks it as a row if the tag does not."""
    role = row.get("role")
    if row.tag in _ROW_TAGS or role is None:
        return step_of(row, held)
    return step_of(row, AttributeTerm("role", role), held)


def list_row_texts(
    page: ElementIndex, row: Element, inner: Element | None = None, *, changing: bool = False
) -> Iterator[InnerTextTerm]:
    """Yield terms for the first texts of a row, except those of the given inner element.

    Texts that were made up, such as the id of a record, come last: people name a row by them if it has no other name.
    `changing`: after them also those with a time or a number of things, `Check-up tomorrow at 10:00`: who gives a row
    gives the text of today.
    """
    first = sorted(islice(_row_words(page, row, inner), 2 * _MOST_SAID), key=_is_made_up)
    others = islice(_row_words(page, row, inner, ValueFlaw.CHANGES), _MOST_SAID) if changing else ()
    return islice((*first, *others), _MOST_SAID)


def _is_made_up(term: InnerTextTerm) -> bool:
    return " " not in term.text and (looks_generated(term.text) or _is_number_of_record(term.text))


def _is_number_of_record(text: str) -> bool:
    return _RECORD.fullmatch(text) is not None


def _row_words(
    page: ElementIndex, row: Element, inner: Element | None, flaw: ValueFlaw | None = None
) -> Iterator[InnerTextTerm]:
    """Yield terms for the texts with a flaw, or without any."""
    spoken: set[str] = set()
    around = set() if inner is None else {id(inner), *map(id, inner.ancestors())}
    for node in _some(row):
        if id(node) in around or node.tag in _SILENT_IN_ROWS or not any(map(_is_words, node.children)):
            continue
        if inner is not None and any(up is inner for up in node.ancestors()):
            continue
        text = None if _is_ornament(node, row) else page.text(node)
        telling = text and (sum(map(str.isalpha, text)) > 1 or _is_number_of_record(text))
        if text and telling and text not in spoken and find_text_flaw(text) is flaw:
            spoken.add(text)
            yield InnerTextTerm(node.tag, text)


def _is_words(child: Element | str) -> bool:
    return isinstance(child, str) and bool(normalized(child))


def _some(element: Element) -> Sequence[Element]:
    return list(islice(element.descendants(), _LOOKED_AT))
