"""What a workflow is for: what every run ended with and none had before its last step.

Where a run ends with a loop, that is what no page before one of its rounds showed, and what the loop ran
until: a list that is empty at last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.synthesis.alignment import AlignedTraceSet, RowKey
from agent.synthesis.deciding import Deciding, Sight
from agent.synthesis.pages import Pages
from agent.synthesis.patterns import ExtractedPatterns, LoopPattern
from agent.synthesis.rows import first_step
from kb_schema.conditions import Combined, Condition
from kb_schema.traces import ExecutionTrace


def success_of(aligned: AlignedTraceSet, patterns: ExtractedPatterns, pages: Pages) -> Condition | None:
    """The condition that tells that it is done; None where the last pages have nothing of their own."""
    traces = [aligned.traces[each] for each in aligned.distinct_ids if each in aligned.traces]
    lasts = [trace.steps[-1] for trace in traces if trace.steps]
    if len(lasts) < 2 or any(not step.html_after or not step.html_before for step in lasts):
        return None
    ended = [
        Sight(step.html_after or "", step.metadata.get("url_after") or step.source_url) for step in lasts
    ]
    began = [Sight(step.html_before or "", step.source_url) for step in lasts]
    loops = list(_at_the_end(patterns))
    deciding = Deciding(pages)
    found = deciding.by_page(ended, [*began, *_before_rounds(loops, traces)]) if loops else None
    found = found or deciding.by_page(ended, began)
    over = [each.rule.condition for each in loops if each.rule.condition is not None]
    told = [condition for condition in over if _held(condition, ended, pages)]
    told += [] if found is None else [found.condition]
    return told[0] if len(told) == 1 else Combined(type="all_of", conditions=tuple(told)) if told else None


def _at_the_end(patterns: ExtractedPatterns) -> Iterator[LoopPattern]:
    """The loop that is the last thing done, and the one that is the last thing in it."""
    last = patterns.step_order[-1] if patterns.step_order else None
    for loop in patterns.loop_patterns:
        if last in loop.indices and loop.rule.kind != "unknown":
            yield loop
            yield from _at_the_end(loop.body)


def _before_rounds(loops: Sequence[LoopPattern], traces: Sequence[ExecutionTrace]) -> Iterator[Sight]:
    known = {trace.trace_id for trace in traces}
    for loop in loops:
        rows: set[RowKey] = {
            (row[0], row[1]) for position in loop.body_steps[:1] for row in position.cells if row[0] in known
        }
        for row in sorted(rows):
            step = first_step(loop.body_steps, row)
            if step is not None and step.html_before:
                yield Sight(step.html_before, step.source_url)


def _held(condition: Condition, sights: Sequence[Sight], pages: Pages) -> bool:
    seen = [pages.get(sight.html, sight.url) for sight in sights]
    return all(page is not None and page.holds(condition) for page in seen)
