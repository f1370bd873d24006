"""WR phase 5 as a table: how far a task came, and what its run is called for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.execution.results.task_completion import (
    CompletionPart,
    StatusFactors,
    choose_status,
    compute_confidence,
    compute_percentage,
    is_enough,
    list_missing_steps,
)
from kb_schema.resilience_policy import MAX_TOTAL_REPLANS, ResiliencePolicy, ResilienceRules
from kb_schema.run_records import RunStatus

USUAL = ResiliencePolicy()


def done(name="d", **more):
    return CompletionPart(name, **{"share": 1.0, **more})


def failed(name="f", **more):
    return CompletionPart(name, **more)


@pytest.mark.parametrize(
    ("parts", "percent"),
    [
        ([done(), done(), done(), failed(), failed()], 60.0),  # WR: 3 of 5 steps
        ([done(), failed(leaves=False)], 80.0),  # what only leads there weighs a quarter
        ([done(leaves=False), failed()], 20.0),
        ([done(leaves=False), failed(leaves=False)], 50.0),
        ([done(), failed(share=0.98)], 99.0),  # 49 of 50 items
        ([done(), failed(counts=False)], 100.0),  # optional, or it did not apply
        ([failed(counts=False)], 100.0),
        ([failed()], 0.0),
        ([done()] * 2999 + [failed()], 99.9),  # never rounded up to all of it
    ],
)
def test_completion_is_weighted_by_what_is_left_of_each_step(parts, percent):
    assert compute_percentage(parts) == percent


@pytest.mark.parametrize(
    ("parts", "ending", "status"),
    [
        ([done()], StatusFactors(), RunStatus.SUCCESS),
        ([done()] * 7 + [failed()] * 3, StatusFactors(failed=True), RunStatus.PARTIAL),
        ([done()] * 69 + [failed()] * 31, StatusFactors(failed=True), RunStatus.DEGRADED),
        ([done()] * 4 + [failed()] * 6, StatusFactors(failed=True), RunStatus.DEGRADED),
        ([done()] * 39 + [failed()] * 61, StatusFactors(failed=True), RunStatus.FAILURE),
        ([failed()], StatusFactors(failed=True), RunStatus.FAILURE),
        # nothing counts without what is critical
        ([done()] * 9 + [failed(critical=True)], StatusFactors(failed=True), RunStatus.FAILURE),
        ([done()] * 9 + [failed(critical=True, share=0.65)], StatusFactors(), RunStatus.PARTIAL),
        # nor against what the site says, unless one went on without something knowingly
        ([done()], StatusFactors(failed=True, contradicted=True), RunStatus.FAILURE),
        ([done()] * 9 + [failed(degraded=True)], StatusFactors(contradicted=True), RunStatus.PARTIAL),
        (
            [done()],
            StatusFactors(contradicted=True, allow_partial=True, criteria_share=0.75),
            RunStatus.PARTIAL,
        ),
        # an error after everything was done, and leaving early, are no success
        ([done()], StatusFactors(failed=True), RunStatus.PARTIAL),
        ([done()], StatusFactors(needs_person=True), RunStatus.NEEDS_PERSON),
    ],
)
def test_a_run_is_called_by_how_far_it_came(parts, ending, status):
    assert choose_status(parts, ending, USUAL) is status


parts = st.lists(
    st.builds(
        CompletionPart, step_id=st.text("ab", min_size=1), share=st.floats(0, 1), leaves=st.booleans(),
        counts=st.booleans(), critical=st.booleans(), reached=st.booleans(), degraded=st.booleans(),
        confidence=st.none() | st.floats(0, 1),
    ),
    max_size=8,
)  # fmt: skip
endings = st.builds(
    StatusFactors, needs_person=st.booleans(), failed=st.booleans(), contradicted=st.booleans(),
    allow_partial=st.booleans(), criteria_share=st.floats(0, 1),
)  # fmt: skip


@given(parts, endings, st.floats(0, 100))
def test_success_is_only_what_is_whole_and_uncontradicted(parts, ending, least):
    policy = ResiliencePolicy(min_acceptable_completion=least)
    status = choose_status(parts, ending, policy)
    if status is RunStatus.SUCCESS:
        assert compute_percentage(parts) == 100
        assert [part.share for part in parts if part.weight] == [1] * sum(part.weight > 0 for part in parts)
        assert list_missing_steps(parts) == ()
        assert (ending.failed, ending.contradicted) == (False, False)
    if status is RunStatus.PARTIAL:
        assert compute_percentage(parts) >= least
    if list_missing_steps(parts) and not ending.needs_person:
        assert status is RunStatus.FAILURE
    assert 0 <= compute_percentage(parts) <= 100
    assert 0 <= compute_confidence(parts, contradicted=ending.contradicted) <= 1


def test_confidence_is_the_mean_of_the_steps_that_were_reached():
    told = [done(confidence=1.0), done(confidence=None), failed(confidence=None), failed(reached=False)]
    assert compute_confidence(told) == 0.5
    assert compute_confidence([done(confidence=1.0)], contradicted=True) == 0.5
    assert compute_confidence([]) == 0


def test_a_run_may_stop_early_only_with_everything_critical_done():
    early = ResiliencePolicy(allow_early_exit=True, min_acceptable_completion=60)
    steps = [done()] * 3 + [failed(reached=False)] * 2
    assert is_enough(steps, early)
    assert not is_enough(steps, USUAL)
    assert not is_enough([*steps[:4], failed(critical=True)], early)
    assert not is_enough([done(), failed()], early)


@given(
    st.builds(
        ResilienceRules,
        max_replans_per_step=st.none() | st.integers(0, 999),
        max_total_replans=st.none() | st.integers(0, MAX_TOTAL_REPLANS),
        enable_replanning=st.none() | st.booleans(),
        critical_steps=st.lists(st.sampled_from(["a", "b"])).map(tuple),
    )
)
def test_what_knowledge_does_not_say_stays_as_it_is_configured(rules):
    policy = USUAL.under(rules)
    for name in ("max_replans_per_step", "max_total_replans", "enable_replanning"):
        said = getattr(rules, name)
        assert getattr(policy, name) == (getattr(USUAL, name) if said is None else said)
    assert set(policy.critical_steps) == set(rules.critical_steps)


def test_defaults_are_wrs():
    assert USUAL.model_dump() == {
        "max_retries": 3, "max_replans_per_step": 3, "max_total_replans": 10, "enable_replanning": True,
        "enable_degradation": True, "allow_early_exit": False, "min_acceptable_completion": 70.0,
        "min_success_confidence": 0.7, "timeout_s": None, "step_timeout_s": 10.0, "critical_steps": (),
    }  # fmt: skip
