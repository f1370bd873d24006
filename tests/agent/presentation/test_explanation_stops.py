"""What is pointed at on which word."""

from __future__ import annotations

import pytest

from agent.presentation.explanation_stops import add_stop_marks, collect_stops
from kb_schema.narration_marks import read_marks
from kb_schema.presentation_flows import Segment

LABELS = {"calls": "Total calls", "chart": "Calls per day", "list": "List"}


def _segment(**more) -> Segment:
    words = {"segment_id": "a", "order": 1, "type": "explanation", "screen_id": "s"}
    return Segment.model_validate({"narration_template": "x", **words, **more})


def test_what_is_not_on_the_screen_is_not_pointed_at():
    stops = collect_stops(_segment(highlights=["calls", "gone", "calls"]), LABELS)
    assert [(stop.kind, stop.element) for stop in stops] == [("point", "calls")]


def test_a_mark_in_the_words_points_without_a_highlight():
    stops = collect_stops(_segment(narration_template="See [[at:chart]] this."), LABELS)
    assert [stop.element for stop in stops] == ["chart"]


@pytest.mark.parametrize(
    ("scrolling", "kinds"),
    [
        ({"strategy": "incremental", "max_scrolls": 2}, ["scroll_on", "scroll_on"]),
        ({"strategy": "to_bottom", "max_scrolls": 5}, ["to_bottom"]),
        ({"strategy": "to_bottom", "max_scrolls": 0}, []),
        (
            {"strategy": "to_elements", "elements": ["list", "gone", "chart"], "max_scrolls": 5},
            ["scroll_to"] * 2,
        ),
        ({"strategy": "to_elements", "elements": ["list", "chart"], "max_scrolls": 1}, ["scroll_to"]),
    ],
)
def test_the_page_moves_as_the_strategy_says(scrolling, kinds):
    segment = _segment(scrolling={"enabled": True, **scrolling})
    assert [stop.kind for stop in collect_stops(segment, LABELS)] == kinds
    assert collect_stops(_segment(scrolling={**scrolling, "enabled": False}), LABELS) == []


def test_an_authored_mark_comes_first_then_the_label_then_what_is_left():
    segment = _segment(
        narration_template="We had many total calls here, [[at:list]] then some more, and it goes on and on.",
        highlights=["list", "calls", "chart"],
    )
    text, stops = add_stop_marks(segment.narration_template, collect_stops(segment, LABELS))
    read = read_marks(text)
    at = dict(read.marks)
    assert read.words[at["calls"]] == "total"
    assert read.words[at["list"]] == "then"
    assert at["chart"] not in (0, at["calls"])
    assert [at[stop.mark] for stop in stops] == sorted(at[stop.mark] for stop in stops)
    assert read.text == read_marks(segment.narration_template).text


def test_without_words_everything_is_shown_at_once():
    stops = collect_stops(_segment(highlights=["calls"]), LABELS)
    assert add_stop_marks("", stops) == ("", stops)
