"""Rows on which all demonstrations act in the same order are not searched."""

from __future__ import annotations

import pytest

from agent.synthesis.patterns.loop_conditions import LoopPass
from agent.synthesis.patterns.search_conditions import act_on_same_rows


def _pass(*words: str) -> LoopPass:
    return LoopPass((), None, words)


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
def test_entries_of_a_menu_that_everybody_chose_are_no_search(
    passes: list[tuple[str, ...]], same: bool
) -> None:
    assert act_on_same_rows({("t", (n,)): _pass(*words) for n, words in enumerate(passes)}) is same
