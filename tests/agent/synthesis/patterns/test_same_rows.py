"""Rows on which all demonstrations act in the same order are searched only if they were all shown from the beginning."""

from __future__ import annotations

from typing import cast

import pytest

from agent.synthesis.alignment.aligned_traces import AlignedTraceSet
from agent.synthesis.patterns.decision_pages import DecisionPages
from agent.synthesis.patterns.loop_conditions import LoopPass
from agent.synthesis.patterns.search_conditions import SearchConditionFinder, act_on_same_rows
from agent.synthesis.patterns.value_bindings import ValueBinder
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector

TABS = "<ul><li>First</li><li>Second</li><li>Third</li></ul>"
MENU = "<ul><li>Mark as read</li><li>Second</li></ul>"


def _pass(*words: str) -> LoopPass:
    return LoopPass((), None, words)


def _on(page: str, *words: str) -> LoopPass:
    """A pass that presses the list entries with these words, the first of them on a page."""
    steps = []
    for word in words:
        target = Selector.model_validate({"strategies": [{"type": "xpath", "value": f"//li[.='{word}']"}]})
        steps.append(
            TraceStep.model_validate(
                {"action_type": "click", "target": target, "html_before": page, "source_url": "http://t/"}
            )
        )
    return LoopPass(tuple(steps), None, words)


@pytest.mark.parametrize(
    ("passes", "same"),
    [
        ([("Snooze", "Pick a date"), ("Snooze", "Pick a date")], True),
        ([("Ann", "Bo"), ("Ann", "Bo", "Cy")], False),
        ([("Ann", "Bo"), ("Ann", "Cy")], False),
        ([("Ann", "Bo")], False),
        ([(), ()], False),
    ],
)
def test_the_same_rows_are_the_same_words_in_the_same_order(
    passes: list[tuple[str, ...]], same: bool
) -> None:
    assert act_on_same_rows({("t", (n,)): _pass(*words) for n, words in enumerate(passes)}) is same


@pytest.mark.parametrize(("page", "in_turn"), [(TABS, False), (MENU, True)])
def test_entries_that_appear_behind_others_are_chosen_in_turn_and_tabs_are_searched(
    page: str, in_turn: bool
) -> None:
    finder = SearchConditionFinder(
        cast("AlignedTraceSet", None), cast("DecisionPages", None), TracePages(), cast("ValueBinder", None)
    )
    passes = {("t", (n,)): _on(page, "Second", "Third") for n in range(2)}
    assert finder._choose_in_turn(passes) is in_turn
