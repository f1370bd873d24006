"""Fingerprints for steps of traces that have none, from their stored pages: imported traces, and those of runs.

They have what markup tells: role, name, tag, text, label and attributes. A recording also has what was around the
element.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.locators.page_fingerprints import select_attributes
from agent.synthesis.traces.element_fingerprints import FINGERPRINT, LONGEST_TEXT
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.fingerprints import Fingerprint
from kb_schema.page_snapshots import (
    CHECKED_ATTRIBUTE,
    HIDDEN_ATTRIBUTE,
    NAME_ATTRIBUTE,
    PLACE_ATTRIBUTE,
    VALUE_ATTRIBUTE,
)
from kb_schema.selectors import Selector
from web_pages.accessible_names import label_text, name_of, role_of
from web_pages.element_tree import Element
from web_pages.form_fields import value_of
from web_pages.page_texts import squeeze, text_of


def add_stored_fingerprints(traces: Iterable[ExecutionTrace], pages: TracePages) -> list[ExecutionTrace]:
    """Return the traces with a fingerprint for each step whose target is one element of its stored page."""
    return [
        trace.model_copy(update={"steps": tuple(_with_fingerprint(step, pages) for step in trace.steps)})
        for trace in traces
    ]


def read_stored_fingerprint(element: Element) -> Fingerprint:
    """Return what the markup of an element tells about it, without what was entered into a field."""
    is_field = value_of(element) is not None
    left_out = {HIDDEN_ATTRIBUTE, VALUE_ATTRIBUTE, CHECKED_ATTRIBUTE, NAME_ATTRIBUTE, PLACE_ATTRIBUTE}
    left_out |= {"value"} if is_field else set()
    known = {
        name: value
        for name, value in element.attributes.items()
        if 0 < len(value) <= LONGEST_TEXT and name not in left_out
    }
    return Fingerprint(
        role=role_of(element),
        name=_short(name_of(element)),
        tag=element.tag,
        text=None if is_field else _short(text_of(element)),
        label=_short(label_text(element)),
        attributes=select_attributes(known),
    )


def _short(text: str) -> str | None:
    """Return a text on one line; None for none, and for a longer one, which is content of the page."""
    said = squeeze(text)
    return said if 0 < len(said) <= LONGEST_TEXT else None


def _with_fingerprint(step: TraceStep, pages: TracePages) -> TraceStep:
    if FINGERPRINT in step.metadata or not isinstance(step.target, Selector):
        return step
    page = pages.get(step.html_before, step.source_url)
    element = None if page is None else page.find(step.target)
    if element is None:
        return step
    told = read_stored_fingerprint(element).model_dump(mode="json", exclude_defaults=True)
    return step.model_copy(update={"metadata": {**step.metadata, FINGERPRINT: told}})
