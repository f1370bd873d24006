"""Events become actions: what belongs to one double click, and what does not."""

from __future__ import annotations

import pytest

from agent.recording.recorded_actions import ActionMerger, RecordedAction
from agent.recording.recorded_events import PageBeforeEvent, RecordedEvent

PAGE = PageBeforeEvent("<select>", "https://quay.example/", None, None, "option 'Rye'")


def _event(
    kind: str,
    at: float,
    *chosen: str,
    tag: str = "option",
    seen: PageBeforeEvent | None = PAGE,
    tab: int = 0,
    url: str = PAGE.url,
) -> RecordedAction:
    types = {"chosen": "select_option", "double_click": "double_click", "click": "click"}
    what = RecordedEvent(
        kind=kind, at=0, foreign=False, url=url, time=at, tag=tag, field=False, secret=False, chosen=chosen
    )  # fmt: skip
    return RecordedAction(types[kind], tab, url, at, seen, what=what)


def _merged(*events: RecordedAction) -> list[str]:
    merging = ActionMerger()
    done = [action for event in events for action in merging.add(event)]
    return [action.action_type for action in (*done, *merging.finish())]


def test_a_double_click_on_an_option_is_one_action_with_the_choice_that_its_first_click_makes():
    clicked = _event("double_click", 300, "Rye")
    assert _merged(_event("chosen", 100, "Rye", tag="select"), clicked) == ["double_click"]


@pytest.mark.parametrize(
    "before",
    [
        _event("chosen", 100, "Oats", tag="select"),
        _event("chosen", -900, "Rye", tag="select"),
        _event("chosen", 100, "Rye", tag="select", tab=1),
    ],
    ids=["another choice", "long ago", "in another tab"],
)
def test_a_choice_that_is_no_part_of_the_double_click_stays(before: RecordedAction):
    assert _merged(before, _event("double_click", 300, "Rye")) == ["select_option", "double_click"]


def test_a_double_click_on_what_was_chosen_already_is_recorded_and_one_that_was_never_seen_is_not():
    assert _merged(_event("double_click", 300, "Rye")) == ["double_click"]
    assert _merged(_event("double_click", 300, tag="button", seen=None)) == []
    clicks = [_event("click", at, tag="button") for at in (100, 200)]
    assert _merged(*clicks, _event("double_click", 210, tag="button", seen=None)) == ["double_click"]


@pytest.mark.parametrize(
    "before",
    [
        _event("click", 100, tag="option", url="https://quay.example/before"),
        _event("click", 100, tag="input"),
    ],
    ids=["on the page before", "on something else"],
)
def test_a_quick_click_on_something_else_is_no_part_of_a_double_click(before: RecordedAction):
    assert _merged(before, _event("double_click", 300, "Rye")) == ["click", "double_click"]
