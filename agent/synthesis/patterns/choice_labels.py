"""Says what a field or a chosen entry is called: the label of the field or of the menu, or the heading of the column."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignedTraceSet, RowKey
from agent.synthesis.traces.element_fingerprints import merge_step_fingerprints
from agent.synthesis.traces.list_rows import find_list_row
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector
from web_pages.accessible_names import is_control, label_text, name_of
from web_pages.element_tree import Element
from web_pages.field_words import find_column_heading, find_field_words
from web_pages.page_texts import squeeze, text_of

LONGEST_LABEL = 80
MOST_SHOWN = 3
"""Values that a description names."""
_MOST_LEVELS = 4
"""Levels above a menu's opener whose text may be its label."""

_MOST_GROUP_LEVELS = 5
_LABELS = frozenset({"label", "legend"})


def find_choice_label(
    aligned: AlignedTraceSet, pages: TracePages, position: AlignedPosition, texts: Mapping[RowKey, str]
) -> str:
    """Return what the entry with these texts is called on the page of every trace that tells; empty if they differ."""
    told = set()
    for cell in position.cells.values():
        step, trace = cell.step, aligned.traces.get(cell.row[0])
        page = _page_of(step, pages)
        element = page.find(step.target) if page is not None and isinstance(step.target, Selector) else None
        if element is None or page is None:
            continue
        steps = () if trace is None else trace.steps
        before = next((one for one, each in pairwise(steps) if each is step), None)
        found = (
            _find_field_label(element)
            or (_find_menu_label(step, before, pages) if before is not None else "")
            or _find_group_label(element)
            or _find_column_heading(element, texts.get(cell.row, ""))
        )
        if found:
            told.add(found)
    return told.pop() if len(told) == 1 else ""


def describe_choice(texts: Mapping[RowKey, str]) -> str:
    """Return a description by the values that were chosen."""
    shown = [repr(each) for each in dict.fromkeys(texts.values())][:MOST_SHOWN]
    return f"what is chosen by its words, such as {', '.join(shown)}"


def _page_of(step: TraceStep, pages: TracePages) -> TracePage | None:
    return pages.get(step.html_before, step.source_url) if step.html_before else None


def _find_field_label(option: Element) -> str:
    """Return the label of the select field that has the option."""
    if option.tag != "option":
        return ""
    field = next((each for each in option.ancestors() if each.tag == "select"), None)
    if field is None:
        return ""
    given = field.get("placeholder") or field.get("name") or find_field_words(field) or field.get("id")
    return squeeze(label_text(field) or name_of(field) or given or "")[:LONGEST_LABEL]


def _find_menu_label(step: TraceStep, before: TraceStep, pages: TracePages) -> str:
    """Return the label of the field whose press opened the menu with the entry, on the page before it was open."""
    page = _page_of(before, pages)
    if before.action_type != "click" or page is None or not isinstance(before.target, Selector):
        return ""
    opener = page.find(before.target)
    after = _page_of(step, pages)
    if opener is None or page.find(step.target) is not None:  # the entry was there before
        return ""
    if after is None or after.find(before.target) is None:  # it led on to another page
        return ""
    own = squeeze(text_of(opener, everything=True))
    given = squeeze(label_text(opener)) or find_field_words(opener) or ""
    if given and given != own:
        return given[:LONGEST_LABEL]
    node = opener
    for _ in range(_MOST_LEVELS):
        if node.parent is None or node.tag in ("form", "body"):
            break
        node = node.parent
        if any(
            is_control(each)
            for each in node.descendants()
            if each is not opener and opener not in each.ancestors()
        ):
            break  # the text may be that of another field
        whole = squeeze(text_of(node, everything=True))
        if not whole.endswith(own):
            break
        said = whole.removesuffix(own).strip(" :*")
        if said:
            return said if len(said) <= LONGEST_LABEL and any(map(str.isalpha, said)) else ""
    return ""


def _find_group_label(entry: Element) -> str:
    """Return the text of the only label in the smallest part around an entry that has one: `Date` above its days."""
    node = entry
    for _ in range(_MOST_GROUP_LEVELS):
        if node.parent is None or node.parent.tag in ("form", "body"):
            return ""
        node = node.parent
        labels = [each for each in node.descendants() if each.tag in _LABELS]
        if labels:
            label, around = labels[0], any(map(is_control, labels[0].descendants()))
            told = len(labels) == 1 and not around and entry is not label and label not in entry.ancestors()
            return squeeze(text_of(label)).strip(" :*")[:LONGEST_LABEL] if told else ""
    return ""


def _find_column_heading(element: Element, text: str) -> str:
    """Return the heading of the only column of the element's table row that says the text."""
    row = find_list_row(element)
    if row is None or not text:
        return ""
    holding = [each for each in row.elements() if squeeze(text_of(each, everything=True)) == squeeze(text)]
    return find_column_heading(row, holding[0])[:LONGEST_LABEL] if len(holding) == 1 else ""


def read_recorded_label(position: AlignedPosition) -> str:
    """Return the label, name attribute or id of a field that every recording of a position tells alike."""
    known = merge_step_fingerprints(position.observed)
    if known is None:
        return ""
    return known.label or known.name or known.attributes.get("name") or known.attributes.get("id") or ""


def find_field_label(element: Element | None) -> str:
    """Return what a field is called: its label, its name, or the words beside it."""
    if element is None:
        return ""
    given = (
        element.get("placeholder") or element.get("name") or find_field_words(element) or element.get("id")
    )
    return squeeze(label_text(element) or name_of(element) or given or "")[:80]
