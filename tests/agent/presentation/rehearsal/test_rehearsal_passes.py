"""Walks through a flow: between them they take every side of every condition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.presentation.rehearsal.rehearsal_passes import (
    MISSING_TASK,
    SegmentBranch,
    find_unreached_segments,
    plan_passes,
)
from kb_schema.presentation_flows import PresentationFlow

INTEREST = {"type": "user_interest", "topic": "boats"}


def _flow(segments, transitions=(), **more) -> PresentationFlow:
    return PresentationFlow.model_validate(
        {"flow_id": "f", "name": "F", "segments": segments, "transitions": list(transitions), **more}
    )


def _talk(*names, required=()):
    return [
        {"segment_id": n, "type": "conversational", "narration_template": n, "required": n in required}
        for n in names
    ]


def _if(here, there, fallback=None):
    condition = INTEREST if fallback is None else {**INTEREST, "fallback": f"skip_to_{fallback}"}
    return {
        "from_segment": here, "to_segment": there, "type": "conditional", "condition": condition,
        "narration_template": f"to {there}",
    }  # fmt: skip


def test_a_story_without_choices_is_walked_once_as_it_is():
    (rehearsal_pass,) = plan_passes(_flow(_talk("a", "b", "c", required=("a", "b", "c"))))
    assert (rehearsal_pass.name, rehearsal_pass.shows, rehearsal_pass.sides) == (
        "everything",
        ("a", "b", "c"),
        (),
    )


def test_both_sides_of_a_condition_are_walked():
    flow = _flow(_talk("a", "b", "c", required=("a", "b", "c")), [_if("a", "b", "c")])
    there, past = plan_passes(flow)
    assert there.shows == ("a", "b", "c")
    assert past.shows == ("a", "c")
    assert (there.sides, past.sides) == (
        (SegmentBranch("a", "b", holds=True),),
        (SegmentBranch("a", "c", holds=False),),
    )
    assert [t.narration_template for t in there.flow.transitions] == ["to b"]
    assert [t.narration_template for t in past.flow.transitions] == [""]  # it is only said on the way there
    assert {t.type for rehearsal_pass in (there, past) for t in rehearsal_pass.flow.transitions} == {
        "sequential"
    }


def test_what_one_choice_leaves_out_is_reached_by_another():
    flow = _flow(_talk(*"abcde", required="abcde"), [_if("a", "b", "e"), _if("b", "c", "d")])
    passes = plan_passes(flow)
    assert {side for rehearsal_pass in passes for side in rehearsal_pass.sides} == {
        SegmentBranch("a", "b", holds=True), SegmentBranch("a", "e", holds=False),
        SegmentBranch("b", "c", holds=True), SegmentBranch("b", "d", holds=False),
    }  # fmt: skip
    assert len(passes) == 3


def test_nothing_is_left_out_for_time_or_interest():
    segment = {**_talk("a")[0], "skip_conditions": [{"type": "time_constraint", "remaining_time": 90}]}
    flow = _flow([segment], duration={"min": 1, "max": 2, "estimated": 2})
    (rehearsal_pass,) = plan_passes(flow)
    assert rehearsal_pass.flow.segments[0].skip_conditions == ()
    assert rehearsal_pass.flow.duration.max is None


def _task(name, *, required, task_id="t"):
    return {"segment_id": name, "type": "task_execution", "task_id": task_id, "required": required}


def test_the_required_segments_must_do_alone_and_without_one_that_fails():
    flow = _flow(
        [*_talk("a", "b", required=("a",)), _task("c", required=False), *_talk("d", required=("d",))]
    )
    _, shortest, failing = plan_passes(flow)
    assert (shortest.kind, shortest.shows) == ("shortest", ("a", "d"))
    assert (failing.kind, failing.shows, failing.fails) == ("failing", ("a", "c", "d"), "c")
    assert failing.flow.segment("c").task_id == MISSING_TASK


def test_the_segment_whose_failure_the_flow_speaks_of_is_the_one_that_fails():
    path = {"condition": "segment_failed", "segments_to_skip": ["c"], "action": "stop"}
    segments = [_task("b", required=False), _task("c", required=False), *_talk("d", required=("d",))]
    failing = plan_passes(_flow(segments, fallback_paths=[path]))[-1]
    assert (failing.fails, failing.shows) == ("c", ("c",))  # after it, the story is stopped


def test_a_flow_that_says_what_happens_when_a_visitor_interrupts_is_interrupted():
    path = {"condition": "user_interrupts", "action": "pause_and_ask"}
    flow = _flow(_talk("a", "b", required=("b",)), fallback_paths=[path])
    assert [(w.kind, w.shows) for w in plan_passes(flow)][-1] == ("interrupted", ("b",))
    assert "interrupted" not in {w.kind for w in plan_passes(_flow(_talk("a")))}


def test_what_no_way_leads_to_is_told():
    flow = _flow(_talk("a", "b", "c"), [{"from_segment": "a", "to_segment": "c"}])
    assert find_unreached_segments(flow) == ("b",)
    assert plan_passes(flow)[0].shows == ("a", "c")


NAMES = st.sampled_from("abcdefgh")


@st.composite
def flows(draw):
    """Flows of up to eight segments with any transitions, also backwards ones and several from one."""
    count = draw(st.integers(1, 8))
    names = "abcdefgh"[:count]
    required = draw(st.sets(st.sampled_from(names)))
    transitions = draw(
        st.lists(
            st.one_of(
                st.builds(_if, NAMES, NAMES, st.none() | NAMES),
                st.builds(lambda a, b: {"from_segment": a, "to_segment": b}, NAMES, NAMES),
            ),
            max_size=8,
        )
    )
    return _flow(_talk(*names, required=required), transitions)


@given(flows())
def test_every_side_that_can_be_taken_is_and_every_segment_that_can_be_shown_is(flow):
    order = [s.segment_id for s in flow.ordered_segments]
    passes = [w for w in plan_passes(flow) if w.kind == "branches"]
    shown = {segment_id for w in passes for segment_id in w.shows}
    assert shown == set(order) - set(find_unreached_segments(flow))
    taken = {side for w in passes for side in w.sides}
    for transition in flow.transitions:
        last = [t for t in flow.transitions if t.from_segment == transition.from_segment][-1]
        if last.type == "conditional" and last.from_segment in shown and last.from_segment != order[-1]:
            assert {s.holds for s in taken if s.from_segment == last.from_segment} == {True, False}
    for rehearsal_pass in passes:
        assert list(rehearsal_pass.shows) == sorted(
            rehearsal_pass.shows, key=order.index
        )  # only ever forwards
        assert len(passes) <= 1 + 2 * len(order)
