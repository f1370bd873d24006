"""Finds the words that tell people what a field is, if its markup does not: a form may have no labels.

They are the text of the smallest part of the page that contains only this field, or the text beside it in a form
whose fields all have a text beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb_schema.selectors import ValueStrategy
from kb_schema.templates import xpath_literal
from web_pages.accessible_names import label_text
from web_pages.element_tree import Element
from web_pages.form_fields import is_toggle
from web_pages.page_texts import squeeze, text_of

LONGEST_WORDS = 60
MOST_LEVELS = 6
"""Maximum number of ancestors that are searched for the words of a field."""
CELLS = frozenset({"td", "th"})

_TAGS = frozenset({"input", "select", "textarea"})
_SILENT = frozenset({"script", "style", "option", "button", "template", "textarea"})
_NUMBER = re.compile(r"\d+")
_FIELD = "self::input[not(@type='hidden')] or self::select or self::textarea"


def is_field(element: Element) -> bool:
    """Whether a person can enter something in it, or press it as an `input`."""
    return element.tag in _TAGS and not (element.tag == "input" and element.input_type == "hidden")


def mask_sent_name(name: str | None) -> str:
    """Return the name under which a field is sent without numbers: those of the same field in rows of data differ."""
    return _NUMBER.sub("#", name or "")


def find_field_words(element: Element, *, headings: bool = False) -> str | None:
    """Return the words beside a field; None if there are none, or if they could belong to another field.

    `headings`: also those of its row or column in a table, which may be the same for other fields; what is beside a
    field that each row of data has is data.
    """
    given = squeeze(label_text(element))
    if given:
        return given[:LONGEST_WORDS]
    if headings and _is_in_data_row(element):
        return find_cell_words(element) or None
    return (
        next(iter(_texts_around(element)), None)
        or _text_beside(element)
        or (find_cell_words(element) if headings else None)
        or next(iter(_texts_around(element, links=True)), None)
    )


def list_field_word_strategies(element: Element) -> Iterator[ValueStrategy]:
    """Yield selectors that find a field by the words beside it, the most certain first."""
    beside = None if is_toggle(element) else _text_beside(element)
    texts = _texts_around(element) or ([] if beside else _texts_around(element, links=True))
    for words in texts[:2]:
        around = f"[.//text()[normalize-space()={xpath_literal(words)}][not(ancestor::option)]]"
        alone = f"[count(.//*[{_FIELD}])=1]"
        yield ValueStrategy(type="xpath-text", value=f"//*{around}{alone}//*[{_FIELD}]")
    if beside is not None and not texts:
        told = f"preceding::text()[normalize-space()][1][normalize-space()={xpath_literal(beside)}]"
        yield ValueStrategy(type="xpath-text", value=f"//*[{_FIELD}][{told}]")


def find_cell_words(element: Element) -> str:
    """Return the heading of the row that a field is in, else that of its column; empty if there is none."""
    cell = element.closest(*CELLS)
    row = None if cell is None else cell.parent
    if cell is None or row is None:
        return ""
    first = next(iter(row.elements()))
    of_row = first.tag == "th" and first is not cell and not _is_in_data_row(element)
    return ((squeeze(text_of(first)) if of_row else "") or find_column_heading(row, cell))[:LONGEST_WORDS]


def _is_in_data_row(element: Element) -> bool:
    """Whether other rows have the same field: one of the same name, apart from numbers.

    Radio buttons of one name are one choice; each belongs to its row if their column has a heading: `Sort on`.
    """
    row = element.closest("tr", "li")
    sent = mask_sent_name(element.get("name"))
    if row is None or not sent:
        return False
    if element.input_type == "radio":
        cell = element.closest(*CELLS)
        return cell is not None and find_column_heading(row, cell) != ""
    alike = (each for each in element.root.elements if is_field(each) and each.closest("tr", "li") is not row)
    return any(mask_sent_name(each.get("name")) == sent for each in alike)


def find_column_heading(row: Element, cell: Element) -> str:
    """Return the heading of the column that a cell of a table's row is in; empty if it has none."""
    table = next((each for each in row.ancestors() if each.tag == "table"), None)
    cells = [each for each in row.elements() if each.tag in CELLS]
    if table is None or row.tag != "tr" or cell not in cells:
        return ""
    head = next((each for each in table.descendants() if each.tag == "tr"), row)
    heads = [each for each in head.elements() if each.tag in CELLS]
    named = sum(each.tag == "th" for each in heads) * 2 > len(heads)
    return (
        squeeze(text_of(heads[cells.index(cell)]))
        if named and len(heads) == len(cells) and head is not row
        else ""
    )


def _texts_around(element: Element, *, links: bool = False) -> list[str]:
    """Return the texts in the smallest part of the page with a text and no other field."""
    node = element
    for _ in range(MOST_LEVELS):
        if node.parent is None or node.tag in ("form", "body"):
            return []
        node = node.parent
        if sum(map(is_field, node.descendants())) != 1:
            return []
        texts = list(dict.fromkeys(_texts(node, links=links)))
        if texts:
            return texts
    return []


def _text_beside(element: Element) -> str | None:
    """Return the text before a field, if every field beside it has its own before it; after it, for check boxes."""
    part = _widest_part(element)
    if part.parent is None:
        return None
    children = list(part.parent.children)
    if is_toggle(element):
        return _find_own_texts(children[::-1]).get(id(part))
    return _find_own_texts(children).get(id(part))


def _widest_part(element: Element) -> Element:
    """Return the largest part of the page that has nothing but the field, such as the cell that contains it."""
    node = element
    for _ in range(MOST_LEVELS):
        parent = node.parent
        if parent is None or parent.tag in ("form", "body") or any(_texts(parent)):
            break
        if sum(map(is_field, parent.descendants())) != 1:
            break
        node = parent
    return node


def _find_own_texts(children: list[Element | str]) -> dict[int, str]:
    """Return the nearest text before each child with a field; empty if one has none, or two have the same."""
    before: str | None = None
    found: dict[int, str | None] = {}
    for child in children:
        if isinstance(child, Element) and (is_field(child) or any(map(is_field, child.descendants()))):
            found[id(child)], before = before, None
        else:
            said = [squeeze(child)] if isinstance(child, str) else list(_texts(child))
            before = next((each for each in reversed(said) if each), before)
    texts = {at: text for at, text in found.items() if text is not None}
    return texts if len(texts) == len(found) == len(set(texts.values())) else {}


def _texts(node: Element, *, links: bool = False) -> Iterator[str]:
    """Yield the short texts with letters. `links`: also those of links, such as `(help)`."""
    if node.tag in _SILENT or (node.tag == "a" and node.get("href") is not None and not links):
        return
    for child in node.children:
        if isinstance(child, str):
            said = squeeze(child)
            if said and len(said) <= LONGEST_WORDS and any(map(str.isalpha, said)):
                yield said
        else:
            yield from _texts(child, links=links)
