"""What time allows: depths, what is dropped, and what never is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.presentation.presentation_schedule import (
    MOST_RATIO,
    Schedule,
    ScheduledSegment,
    Tempo,
    TimeWindow,
    build_schedule,
    build_scheduled_segment,
)
from kb_schema.presentation_flows import DEPTHS, PresentationFlow, Segment

EVEN = Tempo()


def _part(
    name: str, *seconds: float, droppable: bool = False, usual: int = 1, deeper: bool = False
) -> ScheduledSegment:
    """Seconds as overview, demonstration, deep dive; fewer: only so many depths."""
    times = seconds if len(seconds) > 1 else (seconds[0], seconds[0])
    return ScheduledSegment(name, dict(zip(DEPTHS, times, strict=False)), DEPTHS[usual], droppable, deeper)


def _planned(
    parts: Sequence[ScheduledSegment],
    least: float | None,
    most: float | None,
    *,
    now: float = 0,
    tempo=EVEN,
    **more,
):
    plan = Schedule(parts, TimeWindow(least, most), **more).plan([p.segment_id for p in parts], now, tempo)
    return {name: choice.depth for name, choice in plan.choices.items()}, plan


def test_what_fits_is_told_as_it_was_authored():
    told, plan = _planned([_part("a", 5, 10), _part("b", 5, 10, droppable=True)], None, 30)
    assert told == {"a": "demonstration", "b": "demonstration"}
    assert plan.fits
    assert plan.ends_at_s == 20
    assert all(choice.reason == "" for choice in plan.choices.values())


def test_everything_is_shortened_before_anything_is_dropped():
    parts = [_part("a", 5, 20), _part("b", 5, 20, droppable=True), _part("c", 5, 20)]
    told, plan = _planned(parts, None, 50)
    assert told == {"a": "demonstration", "b": "overview", "c": "demonstration"}
    told, _ = _planned(parts, None, 20)
    assert told == {"a": "overview", "b": "overview", "c": "overview"}
    assert "overview instead of demonstration" in plan.choices["b"].reason


def test_what_is_dropped_goes_in_the_order_the_flow_says_and_no_further_than_needed():
    parts = [_part(name, 10, droppable=True) for name in "abcd"]
    told, plan = _planned(parts, None, 25, spare_first=("c", "a", "d"))
    assert [name for name, depth in told.items() if depth is None] == ["a", "c"]
    assert plan.choices["c"].reason.startswith(
        "time_running_out: 25 s remain for what would take 42 s"
    )  # two are the reserve


def test_the_latest_goes_first_where_the_flow_does_not_say():
    parts = [_part(name, 10, droppable=True) for name in "abc"]
    told, _ = _planned(parts, None, 23)
    assert [name for name, depth in told.items() if depth is None] == ["c"]


def test_what_is_kept_or_required_is_never_dropped():
    parts = [_part("a", 50), _part("b", 50, droppable=True), _part("c", 50, droppable=True)]
    told, plan = _planned(parts, None, 10, keep={"b"})
    assert [name for name, depth in told.items() if depth is None] == ["c"]
    assert not plan.fits


def test_a_small_segment_is_not_dropped_in_vain():
    """`a` goes first, but it is `b` that makes the room: `a` comes back."""
    parts = [_part("a", 3, droppable=True), _part("b", 30, droppable=True), _part("c", 30)]
    told, _ = _planned(parts, None, 38, spare_first=("a", "b"))
    assert told == {"a": "demonstration", "b": None, "c": "demonstration"}


def test_what_was_shortened_in_vain_is_told_in_full_again():
    parts = [_part("a", 28, 30), _part("b", 38, 40, droppable=True)]
    told, _ = _planned(parts, None, 40)
    assert told == {"a": "demonstration", "b": None}


def test_told_early_what_has_more_to_say_says_it():
    parts = [_part("a", 5, 20, 40, deeper=True), _part("b", 5, 20, 40)]
    told, plan = _planned(parts, 55, 90)
    assert told == {"a": "deep_dive", "b": "demonstration"}
    assert plan.fits
    assert "the window begins at 55 s" in plan.choices["a"].reason


def test_being_early_never_makes_it_late():
    told, _ = _planned([_part("a", 5, 20, 40, deeper=True)], 30, 35)
    assert told == {"a": "demonstration"}


def test_a_show_that_goes_slowly_is_reckoned_with():
    parts = [_part("a", 10, 20, droppable=True), _part("b", 20)]
    assert _planned(parts, None, 45)[0]["a"] == "demonstration"
    assert _planned(parts, None, 45, tempo=Tempo(1.4))[0]["a"] == "overview"
    assert _planned(parts, None, 45, now=40)[0] == {"a": None, "b": "demonstration"}


def test_only_what_follows_is_planned():
    schedule = Schedule([_part("a", 10), _part("b", 10), _part("c", 10)], TimeWindow(None, 100))
    assert list(schedule.plan(["b", "c"], 0, EVEN).choices) == ["b", "c"]


def test_the_tempo_follows_what_is_seen_and_is_not_thrown_by_one_segment():
    tempo = EVEN
    for _ in range(12):
        tempo = tempo.after(30, 45)
    assert tempo.ratio == pytest.approx(1.5, abs=0.01)
    once = EVEN.after(30, 600)
    assert once.ratio < 1 + (MOST_RATIO - 1) / 2
    assert EVEN.after(3, 6).ratio - 1 < (EVEN.after(30, 60).ratio - 1) / 5
    assert EVEN.after(0, 5) is EVEN


@given(
    seconds=st.lists(
        st.tuples(st.floats(0.1, 60), st.floats(0.1, 60), st.floats(0.1, 60), st.booleans(), st.booleans()),
        min_size=1,
        max_size=10,
    ),
    least=st.floats(0, 200),
    width=st.floats(0, 200),
    now=st.floats(0, 300),
    ratio=st.floats(0.4, 2.5),
)
def test_for_any_flow_what_is_required_stays_and_nothing_is_dropped_that_fits(
    seconds, least, width, now, ratio
):
    parts = [
        _part(f"s{i}", *sorted(times), droppable=droppable, deeper=deeper)
        for i, (*times, droppable, deeper) in enumerate(seconds)
    ]
    told, plan = _planned(parts, least, least + width, now=now, tempo=Tempo(ratio))
    assert all(told[p.segment_id] is not None for p in parts if not p.droppable)
    whole = now + ratio * sum(p.expected[p.usual] for p in parts)
    if whole + max(2.0, 0.05 * whole) < least + width:
        assert None not in told.values()
        assert all(depth is not None and DEPTHS.index(depth) >= 1 for depth in told.values())
    for part in parts:
        changed = told[part.segment_id] != part.usual
        assert changed == bool(plan.choices[part.segment_id].reason)
    shortest = now + ratio * sum(min(p.expected.values()) for p in parts if not p.droppable)
    if not plan.fits and plan.ends_at_s > least + width:
        assert plan.ends_at_s == pytest.approx(shortest)  # late only where nothing more can be done


# -- of a flow


def test_a_window_may_be_asked_for_and_being_fast_makes_nobody_late():
    flow = PresentationFlow.model_validate({
        "flow_id": "f", "name": "F", "duration": {"min": 200, "max": 360},
        "segments": [{"segment_id": "a", "type": "conversational", "narration_template": "x"}],
    })  # fmt: skip
    assert TimeWindow.from_flow(flow) == TimeWindow(200, 360)
    assert TimeWindow.from_flow(flow, speed=1.5) == TimeWindow(200, 360)
    assert TimeWindow.from_flow(flow, 120) == TimeWindow(120, 120)
    assert TimeWindow.from_flow(flow, 300) == TimeWindow(200, 300)
    assert TimeWindow.from_flow(flow, speed=10) == TimeWindow(
        20, 360
    )  # nothing is dropped, and nothing deepened


def test_a_segment_is_deepened_only_where_its_author_wrote_more():
    words = {
        "segment_id": "a",
        "order": 1,
        "type": "conversational",
        "narration_template": "x",
        "duration": 20,
    }
    plain = Segment.model_validate(words)
    more = Segment.model_validate(
        {**words, "depths": {"deep_dive": {"narration_template": "y", "duration": 50}}}
    )
    assert not build_scheduled_segment(plain, 1.0).deeper
    assert build_scheduled_segment(more, 2.0).expected == {"overview": 10, "deep_dive": 25}
    assert build_scheduled_segment(more, 1.0, observed_s=30).expected == {"overview": 30, "deep_dive": 75}


def test_a_flows_own_path_says_what_goes_and_what_stays():
    flow = PresentationFlow.model_validate({
        "flow_id": "f", "name": "F", "duration": {"max": 25},
        "segments": [
            {"segment_id": name, "type": "conversational", "narration_template": "x", "duration": 10}
            for name in "abc"
        ],
        "fallback_paths": [
            {"condition": "time_running_out", "segments_to_skip": ["b"], "segments_to_keep": ["c"]}
        ],
    })  # fmt: skip
    plan = build_schedule(flow, TimeWindow.from_flow(flow)).plan("abc", 0, EVEN)
    assert [name for name, choice in plan.choices.items() if choice.depth is None] == ["b"]
