"""The page each trace was on at a moment: before a stretch, behind a step."""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.alignment import AlignedTraceSet, Cell, RowKey
from agent.synthesis.deciding import Sight, usable
from agent.synthesis.pages import Pages
from agent.synthesis.rows import Unit, belongs, every_strategy
from kb_schema.selectors import Selector


class Moments:
    """Looks up pages of aligned traces."""

    def __init__(self, aligned: AlignedTraceSet, pages: Pages) -> None:
        self._aligned, self._pages = aligned, pages

    def sights(
        self, region: Sequence[Unit], units: Sequence[Unit], rows: frozenset[RowKey]
    ) -> dict[RowKey, Sight]:
        """The page each row is on where the region begins."""
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
                found[row] = Sight(step.html_before, step.source_url)
            elif behind is not None and (sight := self.page_after(row[0], behind)) is not None:
                found[row] = sight
        return found

    def _first_index(self, row: RowKey, units: Sequence[Unit], *, last: bool = False) -> int | None:
        places = [
            cell.step_index
            for unit in units
            for index in unit.indices
            for key, cell in self._aligned.positions[index].cells.items()
            if belongs(key, row)
        ]
        if not places:
            return None
        return max(places) if last else min(places)

    def page_after(self, trace_id: str, index: int) -> Sight | None:
        """The page behind a step; None where nobody looked."""
        trace = self._aligned.traces.get(trace_id)
        if trace is None:
            return None
        step = trace.steps[index]
        following = trace.steps[index + 1] if index + 1 < len(trace.steps) else None
        if following is not None and following.html_before:
            return Sight(following.html_before, following.source_url)
        if step.html_after is None:
            return None
        url = step.metadata.get("url_after") or (
            step.source_url if following is None else following.source_url
        )
        return Sight(step.html_after, url)

    def awaited(self, cells: Sequence[Cell]) -> Selector | None:
        """The target, where it was not there yet right after the step before in every trace that tells."""
        told = []
        for cell in cells[:3]:
            trace = self._aligned.traces.get(cell.row[0])
            if trace is None or cell.step_index == 0 or not isinstance(cell.step.target, Selector):
                continue
            earlier = trace.steps[cell.step_index - 1]
            before, after = cell.step.html_before, earlier.html_after
            if before is None or after is None or before == after or not usable(cell.step.target):
                continue
            page, old = (
                self._pages.get(before, cell.step.source_url),
                self._pages.get(after, earlier.source_url),
            )
            if page is not None and old is not None:
                told.append(page.shows(cell.step.target) and not old.shows(cell.step.target))
        return every_strategy(cells) if told and all(told) else None
