"""WR phase 3 as a table: which evidence comes to which outcome and how sure one is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.execution.outcome_evaluation import (
    OutcomeDemands,
    OutcomeEvidence,
    evaluate_outcome,
    status_for_success,
)
from kb_schema.conditions import DomContains
from kb_schema.probes import Verdict, VerdictStatus

YES, NO, DUNNO = VerdictStatus.HELD, VerdictStatus.NOT_HELD, VerdictStatus.UNKNOWN
PARTS = OutcomeDemands(allow_partial=True)


@pytest.mark.parametrize(
    ("evidence", "demands", "outcome", "share", "confidence"),
    [
        # what it is for was achieved: 0.8 to 1.0
        (OutcomeEvidence(primary=(YES,)), OutcomeDemands(), "achieved", 1, 1.0),
        (OutcomeEvidence(primary=(YES, YES), optional=(YES, NO)), OutcomeDemands(), "achieved", 1, 0.9),
        (OutcomeEvidence(primary=(YES,), optional=(NO,)), OutcomeDemands(), "achieved", 1, 0.8),
        (OutcomeEvidence(), OutcomeDemands(), "achieved", 1, 0.5),  # nothing was stated that could be checked
        # an acceptable other outcome: 0.6 to 0.8, in full only where one is as sure as was asked
        (OutcomeEvidence((NO,), (YES,)), OutcomeDemands(), "alternative", 0.9286, 0.65),
        (OutcomeEvidence((NO,), (NO, YES), optional=(YES,)), OutcomeDemands(), "alternative", 1, 0.8),
        (OutcomeEvidence((NO,), (YES,), optional=(NO,)), OutcomeDemands(), "alternative", 0.8571, 0.6),
        (OutcomeEvidence((NO,), (YES,)), OutcomeDemands(min_confidence=0.65), "alternative", 1, 0.65),
        # a part of more than 70 %, where parts are allowed: 0.5 to 0.7
        (OutcomeEvidence((YES, YES, YES, NO)), PARTS, "partial", 0.75, 0.5333),
        (
            OutcomeEvidence((YES, YES, YES, NO)),
            OutcomeDemands(allow_partial=True, min_partial=0.6),
            None,
            0.75,
            0.375,
        ),
        (OutcomeEvidence((YES, YES, YES, NO)), OutcomeDemands(), None, 0.75, 0.375),
        (OutcomeEvidence((YES, NO)), PARTS, None, 0.5, 0.25),
        # required evidence missing: failed, whatever else holds
        (OutcomeEvidence((YES,), required=(NO,)), OutcomeDemands(), None, 0.5, 0.25),
        (OutcomeEvidence((YES,), required=(DUNNO,)), PARTS, None, 0.5, 0.25),
        (OutcomeEvidence((NO,), (YES,), required=(NO,)), PARTS, None, 0, 0),
        (OutcomeEvidence((YES,), required=(YES,)), OutcomeDemands(), "achieved", 1, 1.0),
        # what could not be evaluated is not held
        (OutcomeEvidence((DUNNO,)), OutcomeDemands(), None, 0, 0),
        (OutcomeEvidence((DUNNO,), (DUNNO,)), PARTS, None, 0, 0),
        (OutcomeEvidence((YES,), optional=(DUNNO,)), OutcomeDemands(), "achieved", 1, 0.8),
    ],
)
def test_evidence_comes_to_an_outcome(evidence, demands, outcome, share, confidence):
    found = evaluate_outcome(evidence, demands)
    assert (found.outcome, found.share, found.confidence) == (outcome, share, pytest.approx(confidence))


statuses = st.lists(st.sampled_from(VerdictStatus), max_size=5).map(tuple)


@given(statuses, statuses, statuses, statuses, st.booleans(), st.floats(0, 1), st.floats(0, 1))
def test_an_outcome_is_never_more_certain_than_wr_allows(primary, others, required, optional, parts, a, b):
    evidence = OutcomeEvidence(primary, others, required, optional)
    found = evaluate_outcome(evidence, OutcomeDemands(parts, a, b))
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
    before = evaluate_outcome(OutcomeEvidence(*groups), PARTS)
    flat = [(g, i) for g, group in enumerate(groups) for i in range(len(group))]
    if not flat:
        return
    group, index = flat[where % len(flat)]
    groups[group] = (*groups[group][:index], YES, *groups[group][index + 1 :])
    after = evaluate_outcome(OutcomeEvidence(*groups), PARTS)
    rank = ["achieved", "alternative", "partial", None].index
    assert rank(after.outcome) <= rank(before.outcome)
    assert after.share >= before.share - 1e-9 or rank(after.outcome) < rank(before.outcome)


@pytest.mark.parametrize(
    ("success", "status", "told"),
    [(None, YES, YES), (True, NO, NO), (False, YES, NO), (False, NO, YES), (False, DUNNO, DUNNO)],
)
def test_a_sign_of_failure_speaks_for_success_where_it_does_not_hold(success, status, told):
    sign = DomContains(type="dom_contains", value="x", success=success)
    assert status_for_success(sign, Verdict(status, "")) is told
