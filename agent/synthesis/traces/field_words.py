"""Notes the words beside a step's field, if the step's selector is only a place.

They identify the step where another trace has the field at another place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, SessionStrategy
from web_pages.field_words import find_field_words, is_field

FIELD_ACTIONS = frozenset({"fill", "clear", "select_option", "check", "uncheck", "upload_file"})
"""Actions that only set a field. The last one on a field counts; on different fields the order is irrelevant."""
FIELD_WORDS = "field_words"
"""Metadata key of a step: the words beside its field, if its selector is only a place."""

_PLACE = re.compile(r"\[\d+\]|nth-|last\(\)|:(?:first|last|only)-")


def mark_field_words(traces: Iterable[ExecutionTrace], pages: TracePages) -> list[ExecutionTrace]:
    """Return the traces with the words beside each field that only its place identifies."""
    return [
        trace.model_copy(update={"steps": tuple(_marked(step, pages) for step in trace.steps)})
        for trace in traces
    ]


def is_place(strategy: object) -> bool:
    """Whether a strategy finds an element only by its place, its tag or a session id."""
    if isinstance(strategy, SessionStrategy):
        return True
    told = getattr(strategy, "value", None) or getattr(strategy, "template", None) or ""
    return bool(getattr(strategy, "fallback", False) or _PLACE.search(str(told)))


def _marked(step: TraceStep, pages: TracePages) -> TraceStep:
    if step.action_type not in FIELD_ACTIONS or not isinstance(step.target, Selector):
        return step
    if not all(map(is_place, step.target.strategies)):
        return step
    page = pages.get(step.html_before, step.source_url)
    element = None if page is None else page.find(step.target)
    words = find_field_words(element) if element is not None and is_field(element) else None
    return (
        step if words is None else step.model_copy(update={"metadata": {**step.metadata, FIELD_WORDS: words}})
    )
