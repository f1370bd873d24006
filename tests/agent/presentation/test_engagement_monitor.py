"""Rules of engagement: silence is measured, success must have been seen."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agent.events import ActionDone, StepStarted
from agent.presentation.engagement_monitor import (
    EngagementMonitor,
    choose_narration_style,
    measure_longest_silence,
    render_success_sentence,
)
from agent.presentation.presentation_records import Narrated
from kb_schema.engagement_rules import EngagementRule
from kb_schema.presentation_flows import Segment
from kb_schema.run_records import RunResult


@dataclass
class Words:
    start_s: float
    duration_s: float
    text: str = ""


@pytest.mark.parametrize(
    ("spoken", "longest"),
    [
        ([], 10),
        ([Words(0, 20)], 0),
        ([Words(8, 4)], 8),
        ([Words(11, 1), Words(14, 2)], 4),
        ([Words(12, 1), Words(10, 8), Words(13, 1)], 2),
        ([Words(0, 5), Words(30, 5)], 10),
    ],
)
def test_the_longest_silence_between_two_seconds(spoken, longest):
    spoken = [Words(each.start_s, each.duration_s) for each in spoken]
    assert measure_longest_silence(spoken, 10, 20) == longest


def _typed(element: str, seconds: float) -> ActionDone:
    return ActionDone("fill", None, {}, "", "", None, None, seconds * 1000, metadata={"element_id": element})


def _step() -> StepStarted:
    return StepStarted("t", "s", 1, 1, "fill", None, 0)


def _run(evidence: str) -> RunResult:
    return RunResult.model_validate({
        "run_id": "r", "website_id": "w", "task_id": "t", "status": "success", "evidence": evidence,
        "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1, "steps": []})  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "spoken", "broken"),
    [
        (4.0, [], ["never_silent: silent for 4.0 s while name was filled"]),
        (4.0, [Words(17, 1)], []),
        (2.9, [], []),
        (3.4, [], []),
    ],
    ids=["silent", "spoken between", "short", "a breath longer"],
)
def test_silence_while_a_field_is_typed_into_is_measured(seconds, spoken, broken):
    watch = EngagementMonitor([EngagementRule(rule="never_silent", seconds=3)], lambda: 20.0)
    watch(_step())
    watch(_typed("name", seconds))
    assert watch.violations(spoken, None, visitor=None, heard=True) == broken
    assert watch.violations(spoken, None, visitor=None, heard=False) == []


def test_success_that_was_not_seen_or_not_told_is_not_confirmed():
    watch = EngagementMonitor([EngagementRule(rule="confirm_success")], lambda: 0.0)
    assert watch.violations([], _run("unverified"), visitor=None, heard=True) == [
        "confirm_success: success was not observed: unverified",
        "confirm_success: success was not announced",
    ]
    watch(Narrated("It worked.", 0.0))
    assert watch.violations([], _run("verified"), visitor=None, heard=True) == []


def test_a_failed_action_fills_no_field():
    watch = EngagementMonitor([EngagementRule(rule="explain_fields")], lambda: 0.0)
    watch(ActionDone("fill", None, {}, "", "", None, None, 10.0, error="gone"))
    assert watch.violations([], None, visitor=None, heard=True) == []


def _segment(**more) -> Segment:
    return Segment.model_validate(
        {"segment_id": "a", "order": 1, "type": "task_execution", "task_id": "t", **more}
    )


def test_a_manner_follows_rules_and_depth():
    rules = {"engagement_rules": [{"rule": "never_silent", "seconds": 2}, {"rule": "explain_fields"}]}
    assert choose_narration_style(_segment(**rules), "demonstration").silence_s == 2
    assert choose_narration_style(_segment(**rules), "overview").explain_fields
    assert not choose_narration_style(_segment(), "demonstration").explain_fields
    assert choose_narration_style(_segment(), "deep_dive").explain_fields
    assert not choose_narration_style(_segment(), "overview").own_words
    foreign = choose_narration_style(_segment(**rules), "deep_dive", notes=False)
    assert (foreign.notes, foreign.own_words, foreign.explain_fields) == (False, False, False)


def test_success_is_told_in_words_of_ours_only_where_its_author_wrote_none():
    rule = {"engagement_rules": [{"rule": "confirm_success"}]}
    written = {"narrative_hooks": [{"hook_type": "after", "narration": "There."}]}
    assert render_success_sentence(_segment(**rule), "en-GB") == "And that worked."
    assert render_success_sentence(_segment(**rule, **written), "en") == ""
    assert render_success_sentence(_segment(), "en") == ""
    assert render_success_sentence(_segment(**rule), "fi") == ""
