"""Names a click on a check box by what it did: it was ticked, or unticked.

A page that draws a box anew at its click lets no `change` come, so that its recording has a click. A run must not click a box that
stands as it is asked for already: that would undo it. Which way it went is on the pages before and after the click.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from web_pages.form_fields import is_toggle, value_of


def name_ticks(traces: Iterable[ExecutionTrace], pages: TracePages) -> list[ExecutionTrace]:
    """Return the traces with `check` or `uncheck` for each click after which its check box or radio button stands otherwise."""
    return [
        trace.model_copy(update={"steps": tuple(_named(step, pages) for step in trace.steps)})
        for trace in traces
    ]


def _named(step: TraceStep, pages: TracePages) -> TraceStep:
    if step.action_type != "click" or step.args or not isinstance(step.target, Selector):
        return step
    before = _read(step.target, pages.get(step.html_before, step.source_url))
    if before is None:
        return step
    after = _read(step.target, pages.get(step.html_after, step.metadata.get("url_after") or step.source_url))
    if after is None or after == before:
        return step
    return step.model_copy(update={"action_type": "check" if after == "true" else "uncheck"})


def _read(target: Selector, page: TracePage | None) -> str | None:
    """Return how the box stands, `true` or `false`; None if the page does not have it, or it is no box."""
    element = None if page is None or target.frame is not None else page.find(target)
    return value_of(element) if element is not None and is_toggle(element) else None
