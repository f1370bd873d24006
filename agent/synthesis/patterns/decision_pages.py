"""Looks up the page of each trace before a sequence of positions or after a step."""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedTraceSet, RowKey
from agent.synthesis.patterns.aligned_rows import AlignedUnit, is_in_row, merge_strategies
from agent.synthesis.patterns.branch_conditions import DecisionPage, is_queryable
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.selectors import Selector


class DecisionPages:
    """Looks up the pages of aligned traces."""

    def __init__(self, aligned: AlignedTraceSet, pages: TracePages) -> None:
        self._aligned, self._pages = aligned, pages

    def sights(
        self, region: Sequence[AlignedUnit], units: Sequence[AlignedUnit], rows: frozenset[RowKey]
    ) -> dict[RowKey, DecisionPage]:
        """Return the page of each row at the beginning of the region."""
        if not region:
            return {}
        start = min(unit.indices[0] for unit in region)
        found = {}
        for row in rows:
            ahead = self._first_index(row, [unit for unit in units if unit.indices[0] >= start])
            behind = self._first_index(row, [unit for unit in units if unit.indices[0] < start], last=True)
            trace = self._aligned.traces.get(row[0])
            if trace is None:
                continue
            step = trace.steps[ahead] if ahead is not None else None
            if step is not None and step.html_before:
                found[row] = DecisionPage(step.html_before, step.source_url)
            elif behind is not None and (sight := self.page_after(row[0], behind)) is not None:
                found[row] = sight
        return found

    def _first_index(self, row: RowKey, units: Sequence[AlignedUnit], *, last: bool = False) -> int | None:
        places = [
            cell.step_index
            for unit in units
            for index in unit.indices
            for key, cell in self._aligned.positions[index].cells.items()
            if is_in_row(key, row)
        ]
        if not places:
            return None
        return max(places) if last else min(places)

    def page_after(self, trace_id: str, index: int) -> DecisionPage | None:
        """Return the page after a step; None if it was not stored."""
        trace = self._aligned.traces.get(trace_id)
        if trace is None:
            return None
        step = trace.steps[index]
        following = trace.steps[index + 1] if index + 1 < len(trace.steps) else None
        if following is not None and following.html_before:
            return DecisionPage(following.html_before, following.source_url)
        if step.html_after is None:
            return None
        url = step.metadata.get("url_after") or (
            step.source_url if following is None else following.source_url
        )
        return DecisionPage(step.html_after, url)

    def awaited(self, cells: Sequence[AlignedCell]) -> Selector | None:
        """Return the target if it was missing right after the previous step in every trace that shows this."""
        told = []
        for cell in cells[:3]:
            trace = self._aligned.traces.get(cell.row[0])
            if trace is None or cell.step_index == 0 or not isinstance(cell.step.target, Selector):
                continue
            earlier = trace.steps[cell.step_index - 1]
            before, after = cell.step.html_before, earlier.html_after
            if before is None or after is None or before == after or not is_queryable(cell.step.target):
                continue
            page, old = (
                self._pages.get(before, cell.step.source_url),
                self._pages.get(after, earlier.source_url),
            )
            if page is not None and old is not None:
                told.append(page.shows(cell.step.target) and not old.shows(cell.step.target))
        return merge_strategies(cells) if told and all(told) else None
