"""What is a risk: told from the flow, and from how walks went."""

from __future__ import annotations

import pytest

from agent.events import ActionDone, HealTried, Recovered, RecoveryTried, Replanned, StepEnded, StepStarted
from agent.presentation.presentation_records import (
    Narrated,
    Presentation,
    SegmentEnded,
    SegmentRecord,
    SegmentStarted,
    SegmentStatus,
)
from agent.presentation.rehearsal.presentation_risks import (
    CompletedPass,
    PresentationRisk,
    find_flow_risks,
    find_pass_risks,
    merge_risks,
)
from agent.presentation.rehearsal.rehearsal_observations import (
    RehearsalObserver,
    SegmentObservation,
    StepTime,
)
from agent.presentation.rehearsal.rehearsal_passes import plan_passes
from agent.run_context import RunContext
from kb_schema.presentation_flows import PresentationFlow


def _flow(segments, **more) -> PresentationFlow:
    return PresentationFlow.model_validate({"flow_id": "f", "name": "F", "segments": segments, **more})


def _talk(name="a", **more):
    return {"segment_id": name, "type": "conversational", "narration_template": "Hello there.", "required": True,
            **more}  # fmt: skip


def _do(name="a", **more):
    return {"segment_id": name, "type": "task_execution", "task_id": "t", "required": True, **more}


def _kinds(risks):
    return [(risk.kind, risk.segment_id) for risk in risks]


def _hook(text, step_id="fill_name", **more):
    return {"hook_type": "during", "step_id": step_id, "narration": text, **more}


# -- of the flow itself


def test_a_flow_without_fault_has_no_risks():
    hooks = [_hook("Now [[at:fill_name]] type."), _hook("And [[at:click]] save.", "save")]
    flow = _flow(
        [_talk(translations={"de": {"narration_template": "Hallo."}}), _do("b", translations={"de": {}})],
        translations={"de": {}},
    )
    assert list(find_flow_risks(flow)) == []
    assert list(find_flow_risks(_flow([_do(narrative_hooks=hooks)]))) == []


@pytest.mark.parametrize(
    ("segment", "kind"),
    [
        (_do(narrative_hooks=[_hook("Type now [[at:fill_name]]")]), "mark_without_word"),
        (_do(input_mapping={"name": {"source": "user_input", "prompt": "Who?"}}), "input_nobody_gives"),
        (_talk(engagement_rules=["Wear a red hat"]), "unknown_rule"),
        (_talk(title="Hello", translations={"de": {"title": "Hallo"}}), "missing_translation"),
    ],
    ids=["nothing after the mark", "asks", "rule", "language"],
)
def test_what_is_wrong_with_a_segment_is_told(segment, kind):
    assert _kinds(find_flow_risks(_flow([segment]))) == [(kind, "a")]


def test_a_language_the_flow_does_not_have_is_missing_everywhere():
    flow = _flow([_talk(), _talk("b")])
    assert list(find_flow_risks(flow)) == []
    assert _kinds(find_flow_risks(flow, ["fr"])) == [
        ("missing_translation", "a"),
        ("missing_translation", "b"),
    ]


def test_a_mark_that_only_a_translation_gets_wrong_is_told_with_its_language():
    hook = _hook(
        "Now [[at:fill_name]] type.", translations={"de": {"narration": "Jetzt tippen [[at:fill_name]]"}}
    )
    (risk,) = find_flow_risks(_flow([_do(narrative_hooks=[hook])], translations={"de": {}}))
    assert (risk.kind, "'de'" in risk.message) == ("mark_without_word", True)


def test_an_input_with_a_way_out_is_no_risk():
    asks = {"name": {"source": ["user_input", "generated_value"], "generator": "human_name"}}
    default = {"name": {"source": "user_input", "prompt": "Who?", "default": "Ann"}}
    for mapping in (asks, default):
        assert list(find_flow_risks(_flow([_do(input_mapping=mapping)]))) == []


def test_what_nothing_leads_to_is_told():
    flow = _flow([_talk(), _talk("b"), _talk("c")], transitions=[{"from_segment": "a", "to_segment": "c"}])
    (risk,) = find_flow_risks(flow)
    assert (risk.kind, risk.segment_id, risk.serious) == ("unreachable", "b", True)


# -- of what was seen


def _walked(flow, *, status=SegmentStatus.SHOWN, took=5.0, speaking=0.0, pace=None, **noticed):
    """The first walk of the flow, of which the first segment came out like this."""
    rehearsal_pass = plan_passes(flow)[0]
    records = [SegmentRecord(s, s, "task_execution", True, 0.0, took, status) for s in rehearsal_pass.shows]
    seen = {s: SegmentObservation(s, SegmentStatus.SHOWN) for s in rehearsal_pass.shows}
    seen[rehearsal_pass.shows[0]] = SegmentObservation(
        rehearsal_pass.shows[0], status, "why not" if status != "shown" else None, **noticed
    )
    spoken = dict.fromkeys(rehearsal_pass.shows, speaking)
    return CompletedPass(rehearsal_pass, Presentation("f", "F", 1, records), seen, spoken, pace=pace)


def test_a_walk_without_trouble_has_no_risks():
    flow = _flow([_do(duration=5)])
    assert list(find_pass_risks(flow, _walked(flow))) == []


@pytest.mark.parametrize("status", [SegmentStatus.FAILED, SegmentStatus.SKIPPED])
def test_a_segment_that_is_not_shown_has_failed(status):
    flow = _flow([_do()])
    (risk,) = find_pass_risks(flow, _walked(flow, status=status))
    assert (risk.kind, risk.serious, risk.passes) == ("failed", True, ("everything",))
    assert "why not" in risk.message


def test_a_segment_that_the_story_never_came_to_has_failed():
    flow = _flow([_talk(), _talk("b")])
    completed = _walked(flow)
    del completed.noticed["b"]
    assert _kinds(find_pass_risks(flow, completed)) == [("failed", "b")]


def test_what_ended_a_walk_is_serious_by_itself():
    flow = _flow([_talk(), _talk("b", required=False)])
    completed = _walked(flow)
    completed.error = "the page is gone"
    del completed.noticed["b"]
    (risk,) = find_pass_risks(flow, completed)
    assert (risk.kind, risk.segment_id, risk.serious) == ("failed", None, True)


def test_what_was_mended_is_told_and_serious_only_where_required():
    for required in (True, False):
        flow = _flow([_do(required=required), _talk("b")])
        risks = list(find_pass_risks(flow, _walked(flow, mended=["x was found again", "x was found again"])))
        assert [(r.kind, r.serious) for r in risks] == [("healed", required)]


def test_an_input_that_nobody_put_there_is_told():
    flow = _flow([_do()])
    (risk,) = find_pass_risks(flow, _walked(flow, unknown_keys={"query": "demo_agent"}))
    assert (risk.kind, risk.serious) == ("input_nobody_gives", True)


@pytest.mark.parametrize(
    ("took", "speaking", "slow"),
    [(5, 0, False), (12, 0, False), (14, 0, True), (5, 14, True), (12.4, 12, False)],
)
def test_a_segment_is_slow_by_its_words_or_its_work(took, speaking, slow):
    flow = _flow([_do(duration=10)])
    kinds = [risk.kind for risk in find_pass_risks(flow, _walked(flow, took=took, speaking=speaking))]
    assert kinds == (["slow"] if slow else [])


def test_an_instant_walk_is_added_up_for_somebody_who_types():
    flow = _flow([_do(duration=5)])
    completed = _walked(flow, took=2.0, steps=[StepTime("fill_name", 0.1, 100)], actions=4)
    assert completed.told_s("a") == pytest.approx(2.0 + 100 * 0.08 + 4 * 0.45)
    completed.pace = 2.0
    assert completed.told_s("a") == 4.0  # measured, at twice the speed


def test_required_segments_must_fit_and_optional_ones_need_not():
    segments = [_do(), _do("b", required=False)]
    for window, risky in ((9.0, []), (4.0, ["over_window"])):
        flow = _flow(segments, duration={"max": window})
        assert [r.kind for r in find_pass_risks(flow, _walked(flow, took=5.0))] == risky


def test_words_that_leave_the_picture_standing_still_are_told():
    flow = _flow([_do(narrative_hooks=[_hook("Long words.")], duration=100)])
    for speaking, risky in ((8.0, []), (12.0, ["narration_longer_than_step"])):
        completed = _walked(flow, speaking=speaking, steps=[StepTime("fill_name", 1.0, 3)])
        assert [r.kind for r in find_pass_risks(flow, completed)] == risky


def test_what_cannot_be_pointed_at_is_told():
    flow = _flow([_talk()])
    completed = _walked(flow)
    completed.missing_highlights = {"a": ("chart",)}
    assert _kinds(find_pass_risks(flow, completed)) == [("highlight_missing", "a")]


def test_the_segment_that_was_made_to_fail_is_no_risk():
    flow = _flow([_talk(), _do("b", required=False), _talk("c")])
    failing = plan_passes(flow)[-1]
    seen = {s: SegmentObservation(s, SegmentStatus.SHOWN) for s in failing.shows}
    seen["b"].status = SegmentStatus.FAILED
    records = [SegmentRecord(s, s, "conversational", True, 0.0, 1.0, seen[s].status) for s in seen]
    assert list(find_pass_risks(flow, CompletedPass(failing, Presentation("f", "F", 3, records), seen))) == []


def test_the_same_risk_of_several_walks_is_one_and_serious_ones_come_first():
    one = PresentationRisk("slow", "a", True, "slow", passes=("x",))
    other = PresentationRisk("failed", "b", True, "gone", passes=("y",))
    found = merge_risks([one, other, PresentationRisk("slow", "a", True, "slow", passes=("y",))])
    assert [(r.kind, r.passes) for r in found] == [("failed", ("y",)), ("slow", ("x", "y"))]
    assert found[0].to_json()["serious"] is True


# -- what is noticed


def test_what_happens_is_noticed_with_its_segment():
    flow = _flow([_do(input_mapping={"q": {"source": "session_context", "key": "agent"}}), _talk("b")])
    context = RunContext()
    noticing = RehearsalObserver(flow, context)
    for event in (
        SegmentStarted("a", "A", 1, 2, None),
        Narrated("Watch.", 0.0),
        StepStarted("t", "fill_name", 1, 2, "fill", None, 0),
        ActionDone("fill", "#n", {"value": "Skua"}, "u", "u", None, None, 1.0),
        HealTried("s.name", 1, (), "healed", 0.9, 5.0, "same words"),
        HealTried("s.other", 1, (), "not_found", None, 5.0, "gone"),
        Replanned("t", "fill_name", "other_path", "by the menu", 1),
        RecoveryTried("t", "fill_name", "timeout", "reload", "again"),
        RecoveryTried("t", "fill_name", "timeout", "wait", "no_help"),
        Recovered("home", "dashboard", succeeded=True),
        StepEnded("t", "fill_name", "done", 1_500.0),
        SegmentEnded("a", SegmentStatus.SHOWN),
        SegmentStarted("b", "B", 2, 2, None),
        SegmentEnded("b", SegmentStatus.FAILED, "gone"),
    ):
        noticing(event)
    a, b = noticing.segments["a"], noticing.segments["b"]
    assert a.said == ["Watch."]
    assert a.steps == [StepTime("fill_name", 1.5, 4)]
    assert (a.actions, a.unknown_keys) == (1, {"q": "agent"})
    assert [text.split(" ")[0] for text in a.mended] == ["s.name", "step", "recovered", "the"]
    assert (b.status, b.reason, b.mended) == (SegmentStatus.FAILED, "gone", [])


def test_a_value_that_an_earlier_segment_put_there_is_known():
    flow = _flow([_do(input_mapping={"q": {"source": "session_context", "key": "agent"}})])
    context = RunContext()
    context.session["agent"] = "Ann"
    noticing = RehearsalObserver(flow, context)
    noticing(SegmentStarted("a", "A", 1, 1, None))
    assert noticing.segments["a"].unknown_keys == {}
