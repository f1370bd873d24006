"""The mathematics of learned numbers, for any outcomes."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from kb_schema.observed_outcomes import ElementUse, ObservedStats, Outcome
from kb_store.learned.learned_numbers import (
    ENOUGH_TIMED,
    GROWTH,
    KEPT_DAYS,
    SKETCH_ERROR,
    DecayPolicy,
    LearnedSubject,
    bucket_of,
    compute_observed,
    day_of,
    element_subject,
    element_use,
    expected_ms,
    get_expiry,
    is_countable,
    merge,
    posterior,
    quantile,
    tally_of,
    utc_now,
)
from kb_store.learned.memory_learned_store import MemoryLearnedStore

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)

seconds_of_today = st.integers(0, 12 * 3600).map(lambda s: NOW - timedelta(seconds=s))
any_time = st.integers(0, KEPT_DAYS * 86_400).map(lambda s: NOW - timedelta(seconds=s))
durations = st.none() | st.floats(0, 86_400_000, allow_nan=False)


def outcomes(times):
    return st.lists(
        st.builds(
            Outcome,
            outcome_id=st.uuids().map(str),
            website_id=st.just("shop"),
            transition_id=st.just("t"),
            succeeded=st.booleans(),
            duration_ms=durations,
            at=times,
        ),
        min_size=1,
        max_size=30,
    )


def folded(many):
    return reduce(merge, (tally_of(outcome, NOW) for outcome in many))


@settings(deadline=None)
@given(outcomes(seconds_of_today), st.randoms())
def test_within_a_day_the_order_of_outcomes_does_not_matter_to_the_last_bit(many, random):
    other = random.sample(many, len(many))
    assert folded(many) == folded(other)
    assert folded(many).seen == len(many)
    assert folded(many).succeeded == sum(o.succeeded for o in many)
    assert folded(many).failed == sum(not o.succeeded for o in many)


@settings(deadline=None)
@given(outcomes(any_time), st.randoms())
def test_across_days_the_order_of_outcomes_matters_to_rounding_only(many, random):
    one, other = folded(many), folded(random.sample(many, len(many)))
    assert (one.day, one.seen, one.timed) == (other.day, other.seen, other.timed)
    for name in ("succeeded", "failed", "timed_weight", "timed_sum"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
    assert one.buckets == pytest.approx(other.buckets, rel=1e-9)


@settings(deadline=None)
@given(outcomes(any_time), st.integers(1, 29))
def test_tallies_kept_apart_add_up_to_the_same(many, cut):
    cut = min(cut, len(many) - 1)
    if cut:
        whole, parts = folded(many), merge(folded(many[:cut]), folded(many[cut:]))
        assert parts.seen == whole.seen
        assert parts.succeeded == pytest.approx(whole.succeeded)
        assert parts.timed_sum == pytest.approx(whole.timed_sum)


@settings(deadline=None)
@given(st.integers(0, 3_000), st.integers(0, 3_000), st.floats(0.1, 1_000))
def test_decay_takes_as_much_in_one_step_as_in_two(first, second, half_life):
    policy = DecayPolicy(half_life)
    assert policy.decay(first + second) == pytest.approx(
        policy.decay(first) * policy.decay(second), rel=1e-9, abs=1e-300
    )
    assert 0 <= policy.decay(first) <= 1
    assert policy.decay(-first) == 1


def test_an_outcome_counts_half_after_the_half_life():
    tally = tally_of(outcome("a"), NOW)
    assert compute_observed(tally, NOW).succeeded == 1
    assert compute_observed(tally, NOW + 30 * DAY).succeeded == pytest.approx(0.5)
    assert compute_observed(tally, NOW + 30 * DAY).mean_ms == 100
    assert compute_observed(tally, NOW + 3_650 * DAY).mean_ms is None


probabilities = st.floats(0, 1)
weights = st.floats(0, 1e6)


@settings(deadline=None)
@given(probabilities, weights, weights)
def test_the_posterior_is_between_what_was_authored_and_what_was_observed(authored, good, bad):
    seen = ObservedStats(succeeded=good, failed=bad, seen=0, timed=0)
    rate = good / (good + bad) if good + bad > 0 else authored
    found = posterior(authored, seen)
    assert 0 <= found <= 1
    assert min(authored, rate) - 1e-9 <= found <= max(authored, rate) + 1e-9


@settings(deadline=None)
@given(probabilities, weights, weights)
def test_a_success_never_lowers_the_posterior_and_a_failure_never_raises_it(authored, good, bad):
    def at(more_good=0.0, more_bad=0.0):
        return posterior(
            authored, ObservedStats(succeeded=good + more_good, failed=bad + more_bad, seen=0, timed=0)
        )

    assert at(more_good=1) >= at() - 1e-12
    assert at(more_bad=1) <= at() + 1e-12


def test_what_was_authored_is_worth_ten_observations():
    assert posterior(0.9, None) == 0.9
    assert posterior(0.9, ObservedStats(succeeded=0, failed=10, seen=10, timed=0)) == pytest.approx(0.45)
    assert posterior(0.0, ObservedStats(succeeded=30, failed=0, seen=30, timed=0)) == pytest.approx(0.75)


def test_the_observed_mean_is_believed_after_five_observations():
    for timed in range(10):
        seen = ObservedStats(succeeded=timed, failed=0, seen=timed, timed=timed, mean_ms=250)
        assert expected_ms(1_000, seen) == (250 if timed >= ENOUGH_TIMED else 1_000)
    assert expected_ms(1_000, None) == 1_000


@settings(deadline=None)
@given(st.lists(st.integers(1, 86_400_000), min_size=1, max_size=300))
def test_the_sketch_keeps_its_error_bound_for_any_durations(values):
    many = [outcome(str(i), duration_ms=ms) for i, ms in enumerate(values)]
    exact = sorted(values)[math.ceil(0.95 * len(values)) - 1]
    found = compute_observed(folded(many), NOW).p95_ms
    assert found == pytest.approx(exact, rel=SKETCH_ERROR + 1e-9)


@settings(deadline=None)
@given(st.lists(st.floats(0.5, 1e6), min_size=1, max_size=100), probabilities)
def test_every_quantile_keeps_the_error_bound(values, q):
    buckets = {}
    for value in values:
        buckets[bucket_of(value)] = buckets.get(bucket_of(value), 0.0) + 1
    exact = sorted(values)[max(1, math.ceil(q * len(values) - 1e-9)) - 1]
    assert quantile(buckets, q) == pytest.approx(exact, rel=SKETCH_ERROR + 1e-9, abs=0.5)


def test_the_sketch_is_bounded_and_its_error_below_five_percent():
    assert bucket_of(0) == bucket_of(1) == 0
    assert bucket_of(86_400_000) == 192
    assert pytest.approx(0.0476, abs=1e-4) == SKETCH_ERROR
    assert GROWTH == 1.1
    assert quantile({}, 0.95) is None


@settings(deadline=None)
@given(st.integers(-60, 60), st.integers(0, 60))
def test_no_outcome_can_be_timely_again_after_its_id_was_forgotten(said_days_ago, later):
    sent = outcome("a", at=NOW - said_days_ago * DAY)
    if is_countable(sent, NOW):
        again = NOW + later * DAY
        assert again <= get_expiry(sent, NOW) or not is_countable(sent, again)


@settings(deadline=None)
@given(outcomes(any_time), st.lists(st.integers(0, 29), max_size=30))
async def test_an_outcome_sent_again_changes_nothing(many, again):
    fresh = [o.model_copy(update={"at": utc_now()}) for o in many]
    once, often = MemoryLearnedStore(), MemoryLearnedStore()
    await once.record(fresh)
    await often.record(fresh)
    repeats = [fresh[i] for i in again if i < len(fresh)]
    told = await often.record(repeats)
    assert (told.counted, len(told.repeated)) == ((), len(repeats))
    assert await once.transition_stats("shop") == await often.transition_stats("shop")
    assert await once.revision("shop") == await often.revision("shop")


def test_only_a_success_has_a_duration_to_learn_from():
    assert tally_of(outcome("a", succeeded=False, duration_ms=5_000), NOW).timed == 0
    assert tally_of(outcome("a", duration_ms=None), NOW).timed == 0


def test_an_outcome_from_a_clock_ahead_counts_as_of_now():
    assert tally_of(outcome("a", at=NOW + timedelta(hours=20)), NOW).day == day_of(NOW)


def test_an_outcome_is_about_exactly_one_thing():
    with pytest.raises(ValidationError, match="about one of"):
        outcome("a", recovery_id="r")
    with pytest.raises(ValidationError, match="about one of"):
        outcome("a", transition_id=None)
    with pytest.raises(ValidationError):
        outcome("a", at=datetime(2026, 1, 1))  # noqa: DTZ001 - a time without a zone says nothing


def test_an_element_has_a_name_that_says_which():
    use = ElementUse(screen_id="list", element_id="row.name", strategy="role_name")
    assert element_subject(use) == LearnedSubject("element", "list/row.name/role_name")
    assert element_use("list/row.name/role_name") == use


def outcome(outcome_id, **more):
    said = {"transition_id": "t", "succeeded": True, "duration_ms": 100, "at": NOW, **more}
    return Outcome(outcome_id=outcome_id, website_id="shop", **said)
