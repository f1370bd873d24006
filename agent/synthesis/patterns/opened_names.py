"""Finds the name of a list row by what the page shows that pressing the row opens.

Where in a row a press lands is chance: its words there may be a date or a number. People call the row what the opened page is
called, or what its first field holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedTraceSet, RowKey
from agent.synthesis.traces.list_rows import find_list_row, list_sibling_rows
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from web_pages.accessible_names import is_control, role_of
from web_pages.element_tree import Element
from web_pages.form_fields import value_of
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.selectors.generated_names import is_made_up_id

_HEADINGS = frozenset({"h1", "h2", "h3"})
_PRESSED = frozenset({"a", "button"})
_TEXT_TYPES = frozenset({"", "text", "email", "url", "tel"})
LONGEST_NAME = 200


def find_opened_names(
    aligned: AlignedTraceSet, pages: TracePages, cells: Sequence[AlignedCell]
) -> dict[RowKey, str] | None:
    """Return, for each step, the text of the pressed row by which people call it.

    It is a heading of the opened page that the page before had not; else the value of the first field that has a text of
    the row which no other row has; no id that a program gave. None if some step pressed a control in its row or no row, if the words where it was
    pressed are the name, and if all names are equal.
    """
    seen: dict[RowKey, _OpenedRow] = {}
    for cell in cells:
        found = _look(aligned, pages, cell)
        if found is None:
            return None
        seen[cell.row] = found
    names = _find_headings(seen) or _find_first_field(seen)
    if names is None or len(set(names.values())) < 2 or all(seen[row].pressed == names[row] for row in seen):
        return None
    return names


@dataclass(frozen=True, slots=True)
class _OpenedRow:
    pressed: str
    headings: frozenset[str]
    """Headings of the opened page alone that are texts of the row."""
    values: tuple[str, ...]
    """Of the opened page's text fields."""
    own: frozenset[str]
    """Texts of the row that no other row of its list has."""


def _look(aligned: AlignedTraceSet, pages: TracePages, cell: AlignedCell) -> _OpenedRow | None:
    target, trace = pages.find_target(cell.step), aligned.traces.get(cell.row[0])
    if cell.step.action_type != "click" or cell.row[1] or target is None or trace is None:
        return None
    page, element = target
    row = find_list_row(element)
    after = next((each for one, each in pairwise(trace.steps) if one is cell.step), None)
    opened = None if after is None else pages.get(after.html_before, after.source_url)
    if row is None or opened is None:
        return None
    around = [each for each in (element, *element.ancestors()) if row in each.ancestors()]
    if any(is_control(each) or each.tag in _PRESSED for each in around):
        return None
    texts = frozenset(each for each in _texts(row) if not is_made_up_id(each))
    return _OpenedRow(
        pressed=squeeze(text_of(element, everything=True)),
        headings=texts & (set(_headings(opened)) - set(_headings(page))),
        values=tuple(_values(opened)),
        own=texts.difference(*(_texts(each) for each in list_sibling_rows(row) if each is not row)),
    )


def _find_headings(seen: Mapping[RowKey, _OpenedRow]) -> dict[RowKey, str] | None:
    if not all(each.headings for each in seen.values()):
        return None
    return {row: max(sorted(each.headings), key=len) for row, each in seen.items()}


def _find_first_field(seen: Mapping[RowKey, _OpenedRow]) -> dict[RowKey, str] | None:
    """Return the values of the first field whose value tells the row in every trace."""
    for values in zip(*(each.values for each in seen.values()), strict=False):
        if all(value in each.own for value, each in zip(values, seen.values(), strict=True)):
            return dict(zip(seen, values, strict=True))
    return None


def _values(page: TracePage) -> Iterator[str]:
    """Yield the values of the text fields of a page, in order."""
    for root in page.stored.roots:
        for node in root.elements:
            if node.tag == "textarea" or (node.tag == "input" and node.input_type in _TEXT_TYPES):
                yield squeeze(value_of(node) or "")


def _headings(page: TracePage) -> Iterator[str]:
    for root in page.stored.roots:
        for node in root.elements:
            if node.tag in _HEADINGS or role_of(node) == "heading":
                said = squeeze(text_of(node, everything=True))
                if said and len(said) <= LONGEST_NAME:
                    yield said


def _texts(row: Element) -> Iterator[str]:
    for node in (row, *row.descendants()):
        if own_texts(node):
            yield squeeze(text_of(node, everything=True))
