"""Whether the steps of a detour are known by more than their place on the page of the one trace that took it.

`pattern_extraction` asks this before it makes a branch of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.synthesis.alignment.aligned_traces import AlignedCell
from kb_schema.selectors import Selector

LEAST_TAKERS = 2
"""Traces that show a detour of steps that are known by their place only."""


def find_thin_evidence(cells: Sequence[AlignedCell]) -> str | None:
    """Return why the steps of a detour cannot be repeated on other data; None if they can.

    In one trace, the third item of a list was opened: on another page, the third item is anything.
    """
    takers = {cell.row[0] for cell in cells}
    if len(takers) >= LEAST_TAKERS or not any(_is_placed(cell) for cell in cells):
        return None
    return f"only one trace of several did these {len(cells)} steps, and one is known by its place on that page only"


def _is_placed(cell: AlignedCell) -> bool:
    target = cell.step.target
    return isinstance(target, Selector) and _all_fallbacks(target.strategies)


def _all_fallbacks(strategies: Iterable[object]) -> bool:
    told = [getattr(each, "fallback", False) for each in strategies]
    return bool(told) and all(told)
