"""Recognises presses that only answer a part of the page which came by itself: a reminder, a notice, an offer.

Demonstrations show it at the step where it happened to come. A run may meet it at any other step.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedTraceSet
from agent.synthesis.patterns.branch_conditions import DecisionPage
from agent.synthesis.patterns.decision_pages import DecisionPages
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from agent.synthesis.traces.trace_side_effects import OPENS_TAB, SIDE_EFFECTS_KEY
from kb_schema.execution_traces import ANSWERS
from kb_schema.selectors import Selector
from web_pages.page_texts import own_texts
from web_pages.visibility import visible

_EFFECTS = frozenset({ANSWERS, OPENS_TAB, SIDE_EFFECTS_KEY})


def is_interruption(
    cells: Sequence[AlignedCell],
    others: Sequence[DecisionPage],
    aligned: AlignedTraceSet,
    pages: TracePages,
) -> bool:
    """Whether a step that only some traces have pressed something that came and went without a trace.

    `cells`: the step in the traces that have it; `others`: the pages on which the others went on without it. In each
    trace the press took its own element away, brought no new text, sent nothing and stayed at its address. In at least
    one the element was missing before the step before, which all traces share. No other page has it.
    """
    moments = DecisionPages(aligned, pages)
    targets = [cell.step.target for cell in cells]
    if not others or not all(isinstance(each, Selector) and each.frame is None for each in targets):
        return False
    elsewhere = [pages.get(each.html, each.url) for each in others]
    if any(page is None or any(_has(page, each) for each in targets) for page in elsewhere):
        return False
    return all(_only_takes_away(cell, moments, pages) for cell in cells) and any(
        _came(cell, aligned, pages) for cell in cells
    )


def _has(page: TracePage, target: object) -> bool:
    """Whether any way to the element leads to something that is visible."""
    return isinstance(target, Selector) and any(
        page.shows(target.model_copy(update={"strategies": (each,)})) for each in target.strategies
    )


def _only_takes_away(cell: AlignedCell, moments: DecisionPages, pages: TracePages) -> bool:
    step = cell.step
    if step.action_type != "click" or any(step.metadata.get(key) for key in _EFFECTS):
        return False
    before = pages.get(step.html_before, step.source_url)
    seen = moments.page_after(cell.row[0], cell.step_index)
    after = None if seen is None or seen.url != step.source_url else pages.get(seen.html, seen.url)
    if before is None or after is None or not _has(before, step.target):
        return False
    return not _has(after, step.target) and _visible_texts(after) < _visible_texts(before)


def _came(cell: AlignedCell, aligned: AlignedTraceSet, pages: TracePages) -> bool:
    trace = aligned.traces.get(cell.row[0])
    if trace is None or cell.step_index == 0:
        return False
    earlier = trace.steps[cell.step_index - 1]
    page = pages.get(earlier.html_before, earlier.source_url)
    return page is not None and not _has(page, cell.step.target)


def _visible_texts(page: TracePage) -> frozenset[str]:
    return frozenset(
        text
        for root in page.stored.roots
        for element in root.elements
        if visible(element)
        for text in own_texts(element)
    )
