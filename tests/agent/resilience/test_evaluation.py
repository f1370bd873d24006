"""WR phase 3 as a table: which evidence comes to which outcome and how sure one is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.resilience.evaluation import Demands, Evidence, evaluate, satisfied
from kb_schema.conditions import DomContains
from kb_schema.probes import Status, Verdict

YES, NO, DUNNO = Status.HELD, Status.NOT_HELD, Status.UNKNOWN
PARTS = Demands(allow_partial=True)


@pytest.mark.parametrize(
    ("evidence", "demands", "outcome", "share", "confidence"),
    [
        # what it is for was achieved: 0.8 to 1.0
        (Evidence(primary=(YES,)), Demands(), "achieved", 1, 1.0),
        (Evidence(primary=(YES, YES), optional=(YES, NO)), Demands(), "achieved", 1, 0.9),
        (Evidence(primary=(YES,), optional=(NO,)), Demands(), "achieved", 1, 0.8),
        (Evidence(), Demands(), "achieved", 1, 0.5),  # nothing was stated that could be checked
        # an acceptable other outcome: 0.6 to 0.8, in full only where one is as sure as was asked
        (Evidence((NO,), (YES,)), Demands(), "alternative", 0.9286, 0.65),
        (Evidence((NO,), (NO, YES), optional=(YES,)), Demands(), "alternative", 1, 0.8),
        (Evidence((NO,), (YES,), optional=(NO,)), Demands(), "alternative", 0.8571, 0.6),
        (Evidence((NO,), (YES,)), Demands(min_confidence=0.65), "alternative", 1, 0.65),
        # a part of more than 70 %, where parts are allowed: 0.5 to 0.7
        (Evidence((YES, YES, YES, NO)), PARTS, "partial", 0.75, 0.5333),
        (Evidence((YES, YES, YES, NO)), Demands(allow_partial=True, min_partial=0.6), None, 0.75, 0.375),
        (Evidence((YES, YES, YES, NO)), Demands(), None, 0.75, 0.375),
        (Evidence((YES, NO)), PARTS, None, 0.5, 0.25),
        # required evidence missing: failed, whatever else holds
        (Evidence((YES,), required=(NO,)), Demands(), None, 0.5, 0.25),
        (Evidence((YES,), required=(DUNNO,)), PARTS, None, 0.5, 0.25),
        (Evidence((NO,), (YES,), required=(NO,)), PARTS, None, 0, 0),
        (Evidence((YES,), required=(YES,)), Demands(), "achieved", 1, 1.0),
        # what could not be evaluated is not held
        (Evidence((DUNNO,)), Demands(), None, 0, 0),
        (Evidence((DUNNO,), (DUNNO,)), PARTS, None, 0, 0),
        (Evidence((YES,), optional=(DUNNO,)), Demands(), "achieved", 1, 0.8),
    ],
)
def test_evidence_comes_to_an_outcome(evidence, demands, outcome, share, confidence):
    found = evaluate(evidence, demands)
    assert (found.outcome, found.share, found.confidence) == (outcome, share, pytest.approx(confidence))


statuses = st.lists(st.sampled_from(Status), max_size=5).map(tuple)


@given(statuses, statuses, statuses, statuses, st.booleans(), st.floats(0, 1), st.floats(0, 1))
def test_an_outcome_is_never_more_certain_than_wr_allows(primary, others, required, optional, parts, a, b):
    evidence = Evidence(primary, others, required, optional)
    found = evaluate(evidence, Demands(parts, a, b))
    low, high = {"achieved": (0.5, 1), "alternative": (0.6, 0.8), "partial": (0.5, 0.7), None: (0, 0.5)}[
        found.outcome
    ]
    assert low <= found.confidence <= high
    assert 0 <= found.share <= 1
    if any(status is not YES for status in required):
        assert found.outcome is None
    if found.outcome == "partial":
        assert parts


@given(statuses, statuses, statuses, statuses, st.integers(0, 30))
def test_one_thing_more_that_holds_never_makes_it_worse(primary, others, required, optional, where):
    groups = [primary, others, required, optional]
    before = evaluate(Evidence(*groups), PARTS)
    flat = [(g, i) for g, group in enumerate(groups) for i in range(len(group))]
    if not flat:
        return
    group, index = flat[where % len(flat)]
    groups[group] = (*groups[group][:index], YES, *groups[group][index + 1 :])
    after = evaluate(Evidence(*groups), PARTS)
    rank = ["achieved", "alternative", "partial", None].index
    assert rank(after.outcome) <= rank(before.outcome)
    assert after.share >= before.share - 1e-9 or rank(after.outcome) < rank(before.outcome)


@pytest.mark.parametrize(
    ("success", "status", "told"),
    [(None, YES, YES), (True, NO, NO), (False, YES, NO), (False, NO, YES), (False, DUNNO, DUNNO)],
)
def test_a_sign_of_failure_speaks_for_success_where_it_does_not_hold(success, status, told):
    sign = DomContains(type="dom_contains", value="x", success=success)
    assert satisfied(sign, Verdict(status, "")) is told
