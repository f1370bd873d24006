"""Marks presses of what opens a list and shows the chosen value as its own words: a home-made select box.

Its words differ between traces, and it is one control all the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from web_pages.element_tree import Element

OPENER = "value_opener"
"""Metadata key of a step: its element opens something, so its words may be a value."""


def mark_value_openers(traces: Iterable[ExecutionTrace], pages: TracePages) -> list[ExecutionTrace]:
    """Return the traces; presses of elements that the markup says to open something are marked."""
    return [
        trace.model_copy(update={"steps": tuple(_mark(step, pages) for step in trace.steps)})
        for trace in traces
    ]


def _mark(step: TraceStep, pages: TracePages) -> TraceStep:
    found = pages.find_target(step) if step.action_type == "click" else None
    if found is None or not _opens(found[1]):
        return step
    return step.model_copy(update={"metadata": step.metadata | {OPENER: True}})


def _opens(element: Element) -> bool:
    """Whether ARIA says that it opens something. A `button` says what it does, whatever it opens."""
    return element.tag != "button" and (
        element.get("aria-expanded") is not None or element.get("aria-haspopup") not in (None, "false")
    )
