"""Takes from fingerprints the neighbours that come and go while a page is open: entries of a list that happens to be open.

A fingerprint holds on any day; whether a list was open at a step is a state of that run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import ValidationError

from agent.synthesis.traces.element_fingerprints import FINGERPRINT
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector

MOST_BEFORE = 8
"""How many steps before a step are looked at."""


def remove_passing_neighbours(traces: Iterable[ExecutionTrace], pages: TracePages) -> list[ExecutionTrace]:
    """Return the traces; a neighbour is kept if an earlier page of the address with the element shows it, too.

    One that the stored page of the step itself does not have under its name is kept: nothing can be said about it.
    """
    return [
        trace.model_copy(
            update={
                "steps": tuple(_without_passing(at, trace.steps, pages) for at in range(len(trace.steps)))
            }
        )
        for trace in traces
    ]


def _without_passing(at: int, steps: Sequence[TraceStep], pages: TracePages) -> TraceStep:
    step = steps[at]
    try:
        neighbours = set(Fingerprint.model_validate(step.metadata[FINGERPRINT]).neighbours)
    except (KeyError, ValidationError):
        return step
    page = pages.get(step.html_before, step.source_url)
    if not neighbours or page is None:
        return step
    known = neighbours & page.names
    passing = {name for before in _earlier_pages(at, steps, pages) for name in known - before.names}
    if not passing:
        return step
    told = step.metadata[FINGERPRINT]
    kept = [name for name in told["neighbours"] if name not in passing]
    return step.model_copy(update={"metadata": {**step.metadata, FINGERPRINT: {**told, "neighbours": kept}}})


def _earlier_pages(at: int, steps: Sequence[TraceStep], pages: TracePages) -> Iterator[TracePage]:
    """Yield the pages just before a step that have its address and its element, the latest first."""
    step = steps[at]
    if not isinstance(step.target, Selector) or step.target.frame is not None:
        return
    for before in reversed(steps[max(0, at - MOST_BEFORE) : at]):
        page = None
        if before.source_url == step.source_url:
            page = pages.get(before.html_before, before.source_url)
        if page is None or page.find(step.target) is None:
            return
        yield page
