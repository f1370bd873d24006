"""What a run remembers: limits for any pattern of failures, data that never gets emptier, caps."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agent.errors import KnowledgeUnavailable, SiteUnreachable, StepFailed
from agent.execution.persistence import failure_record as module
from agent.execution.persistence.failure_record import (
    MAX_DATA_BYTES,
    MAX_TRIED,
    FailureRecord,
)
from agent.execution.replanning.failure_lessons import classify_failure
from agent.execution.replanning.step_approaches import AttemptSituation, StepApproach, is_counted_failure
from agent.page.errors import GateFailed, GatePoint, PageGone
from agent.run_context import is_meaningful, merge_values
from kb_schema.resilience_policy import MAX_TOTAL_REPLANS, ResiliencePolicy
from kb_schema.run_records import TriedApproach

places = st.sampled_from(["t/a", "t/b", "t/each[1]>u/c", "~login/go"])


def tried(fingerprint, outcome="failed", **more):
    return TriedApproach(
        fingerprint=fingerprint, task_id="t", step_id="s", approach="authored", outcome=outcome, **more
    )


@given(
    st.lists(places, max_size=60),
    st.integers(0, 999),
    st.integers(0, MAX_TOTAL_REPLANS),
    st.integers(0, 3),
)
def test_no_pattern_of_failures_leads_past_the_limits(failures, per_step, total, lives):
    """Carried on however often, and through however many checkpoints."""
    policy = ResiliencePolicy(max_replans_per_step=per_step, max_total_replans=total)
    kept = FailureRecord()
    begun: dict[str, int] = {}
    for number, place in enumerate(failures):
        if kept.may_replan(place, policy):
            kept.replan(place, f"plan {number}")
            begun[place] = begun.get(place, 0) + 1
        if lives and number % 10 == 9:
            kept = FailureRecord.model_validate_json(kept.model_dump_json())
    assert kept.total == sum(begun.values()) <= min(total, MAX_TOTAL_REPLANS)
    assert all(count <= per_step for count in begun.values())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["failed", "worked", "did_not_happen"]))))
def test_an_approach_that_failed_stays_failed_and_is_told_once(events):
    kept = FailureRecord()
    for fingerprint, outcome in events:
        kept.note(tried(fingerprint, outcome))
    assert {each.fingerprint for each in kept.tried} == {name for name, _ in events}
    assert len(kept.tried) == len({name for name, _ in events})
    for name, outcome in events:
        if outcome == "failed":
            assert FailureRecord.model_validate_json(kept.model_dump_json()).has_failed(name)


def test_carrying_on_after_the_end_gives_every_approach_another_chance_but_no_more_replans():
    kept = FailureRecord(over=True)
    kept.note(tried("a"))
    kept.replan("t/a", "plan")
    kept.carried_on()
    assert not kept.has_failed("a")
    assert (kept.total, kept.replans, kept.over) == (1, {}, False)
    cut_off = FailureRecord()
    cut_off.note(tried("a"))
    cut_off.carried_on()
    assert cut_off.has_failed("a")


values = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
data = st.dictionaries(st.sampled_from("xyz"), values)


@given(st.lists(data, max_size=6))
def test_data_is_never_replaced_by_emptier_data(readings):
    kept, known = FailureRecord(), {}
    for reading in readings:
        kept.keep("t", reading)
        known = merge_values(known, reading)
        for name, value in reading.items():
            if is_meaningful(value):
                assert kept.data["t"][name] == value
                assert known[name] == value
    said = {name for reading in readings for name, value in reading.items() if is_meaningful(value)}
    assert set(kept.data.get("t", {})) == said
    assert all(is_meaningful(known[name]) for name in said)
    assert kept.seen == len(said)


def test_everything_is_capped(monkeypatch):
    monkeypatch.setattr(module, "MAX_FINGERPRINTS", 5)
    kept = FailureRecord()
    for number in range(MAX_TRIED + 50):
        kept.note(tried(f"f{number}"))
        kept.keep(f"t/each[{number}]>u", {"text": "x" * 5_000})
    assert len(kept.tried) == MAX_TRIED
    assert kept.tried[0].fingerprint == "f0"
    assert kept.tried[-1].fingerprint == f"f{MAX_TRIED + 49}"
    assert list(kept.failed) == [f"f{number}" for number in range(MAX_TRIED + 45, MAX_TRIED + 50)]
    assert len(kept.data) == MAX_TRIED + 50  # the run itself has all of it
    later = FailureRecord.model_validate_json(kept.model_dump_json())
    assert len(json.dumps(later.data)) <= MAX_DATA_BYTES
    assert list(later.data) == list(kept.data)[-len(later.data) :]
    assert len(later.data) > 40


def test_approaches_differ_in_any_one_thing():
    known = {"place": "t/a", "action": "click", "target": ["save", None], "way": "authored", "item": "1"}
    others = {"place": "t/b", "action": "hover", "target": ["save", {"css": "#a"}], "way": "x", "item": "2"}
    usual = StepApproach(**known)
    made = {usual.fingerprint} | {
        StepApproach(**{**known, name: each}).fingerprint for name, each in others.items()
    }
    made.add(StepApproach(**known, state=AttemptSituation("quay", "http://h/quay?x=1#top").state).fingerprint)
    made.add(StepApproach(**known, state=AttemptSituation("quay", "http://h/quay?x=2").state).fingerprint)
    assert len(made) == 8
    one, other = (AttemptSituation("quay", f"http://h/quay#{name}").state for name in "ab")
    assert one == other


def test_what_never_came_to_the_page_says_nothing_of_the_approach():
    for error in (
        SiteUnreachable("http://h", "down"),
        PageGone("http://h", "closed"),
        KnowledgeUnavailable("x"),
    ):
        assert not is_counted_failure(error)
    gate = GateFailed(GatePoint.NOT_FOUND, "0 matched", "#a")
    assert is_counted_failure(gate)
    assert is_counted_failure(StepFailed("x"))
    assert (classify_failure(gate), classify_failure(StepFailed("secret text", error="postcondition"))) == (
        "not_found", "postcondition",
    )  # fmt: skip


def test_the_limit_that_is_reached_is_named():
    policy = ResiliencePolicy(max_replans_per_step=1, max_total_replans=2)
    kept = FailureRecord()
    assert kept.describe_limit("t/a", policy) == ""
    kept.replan("t/a", "another selector")
    assert kept.describe_limit("t/a", policy) == "; no more than 1 replans of a step (max_replans_per_step)"
    assert kept.describe_limit("t/b", policy) == ""
    kept.replan("t/b", "another path")
    assert kept.describe_limit("t/c", policy) == "; no more than 2 replans of a run (max_total_replans)"
