"""A detour of one trace is no evidence if a step of it is known by its place only."""

from __future__ import annotations

from agent.synthesis.alignment.aligned_traces import AlignedCell
from agent.synthesis.patterns.detour_evidence import find_thin_evidence
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector, ValueStrategy


def _cell(trace: str, *, fallback: bool) -> AlignedCell:
    strategy = ValueStrategy(type="css", value="#tree > li:nth-of-type(1)", fallback=fallback)
    step = TraceStep(action_type="click", target=Selector(strategies=(strategy,)))
    return AlignedCell((trace, ()), 0, step)


def test_a_place_on_the_page_of_one_trace_is_refused():
    told = find_thin_evidence([_cell("one", fallback=False), _cell("one", fallback=True)])
    assert told == (
        "only one trace of several did these 2 steps, and one is known by its place on that page only"
    )


def test_a_place_that_two_traces_show_and_a_step_with_more_than_its_place_are_evidence():
    assert find_thin_evidence([_cell("one", fallback=True), _cell("two", fallback=True)]) is None
    assert find_thin_evidence([_cell("one", fallback=False)]) is None
