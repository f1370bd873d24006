"""Evaluates the outcome of a step or task from verdicts (WR phase 3). Pure.

WR's rules: the goal was achieved: confidence 0.8 to 1.0; an acceptable other outcome: 0.6 to 0.8; more than
70 % of the evidence, if partial success is allowed: 0.5 to 0.7; required evidence missing: failed. A
condition that cannot be evaluated does not count as held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kb_schema.conditions import BaseCondition
from kb_schema.probes import Verdict, VerdictStatus
from kb_schema.resilience_policy import MIN_PARTIAL_CONFIDENCE
from kb_schema.run_records import StepOutcome

UNJUDGED = 0.5
"""WR 5.2: confidence if nothing was stated that could be checked."""
PARTIAL_FROM = 0.7
"""WR 3.2: "partial success allowed and > 70 % complete"."""
ALTERNATIVE_ALONE = 0.65
"""WR 3.2, the example: an acceptable outcome about which nothing optional is known."""


@dataclass(frozen=True, slots=True)
class OutcomeEvidence:
    """The verdicts by kind of condition, as `status_for_success` gives them."""

    primary: tuple[VerdictStatus, ...] = ()
    """Postconditions and validation, or success criteria."""
    alternatives: tuple[VerdictStatus, ...] = ()
    required: tuple[VerdictStatus, ...] = ()
    optional: tuple[VerdictStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class OutcomeDemands:
    """The thresholds for the evidence."""

    allow_partial: bool = False
    min_confidence: float = 0.7
    """Confidence from which an acceptable other outcome counts in full."""
    min_partial: float = MIN_PARTIAL_CONFIDENCE


@dataclass(frozen=True, slots=True)
class OutcomeEvaluation:
    """The evaluation. `outcome` None: failed."""

    outcome: StepOutcome | None
    share: float
    """How much of the goal is there; 1 is all."""
    confidence: float
    reason: str = ""


def status_for_success(condition: BaseCondition, verdict: Verdict) -> VerdictStatus:
    """Return HELD if the condition speaks for success; one with `success: false` does if it does not hold."""
    if condition.success is not False or verdict.status is VerdictStatus.UNKNOWN:
        return verdict.status
    return VerdictStatus.NOT_HELD if verdict.held else VerdictStatus.HELD


def evaluate_outcome(
    evidence: OutcomeEvidence, demands: OutcomeDemands = OutcomeDemands()
) -> OutcomeEvaluation:
    """Apply WR's rules in their order.

    >>> evaluate_outcome(OutcomeEvidence(primary=(VerdictStatus.HELD,))).confidence
    1.0
    >>> missed = OutcomeEvidence(primary=(VerdictStatus.NOT_HELD,), alternatives=(VerdictStatus.HELD,))
    >>> evaluate_outcome(missed).outcome
    'alternative'
    """
    if (missing := len(evidence.required) - _count(evidence.required)) > 0:
        share = _part(evidence)
        return OutcomeEvaluation(
            None, share, share * MIN_PARTIAL_CONFIDENCE, f"{missing} of the required evidence missing"
        )
    if _count(evidence.primary) == len(evidence.primary):
        return _achieved(evidence)
    if VerdictStatus.HELD in evidence.alternatives:
        return _alternative(evidence, demands)
    share = _part(evidence)
    if demands.allow_partial and share >= PARTIAL_FROM:
        confidence = 0.5 + 0.2 * (share - PARTIAL_FROM) / (1 - PARTIAL_FROM)
        if confidence >= demands.min_partial:
            return OutcomeEvaluation("partial", share, round(confidence, 4), f"{share:.0%} of the evidence")
    return OutcomeEvaluation(None, share, share * MIN_PARTIAL_CONFIDENCE, f"{share:.0%} of the evidence")


def _achieved(evidence: OutcomeEvidence) -> OutcomeEvaluation:
    if not (evidence.primary or evidence.required or evidence.optional):
        return OutcomeEvaluation("achieved", 1.0, UNJUDGED, "nothing was stated that could be checked")
    return OutcomeEvaluation("achieved", 1.0, round(0.8 + 0.2 * _optional(evidence, 1.0), 4))


def _alternative(evidence: OutcomeEvidence, demands: OutcomeDemands) -> OutcomeEvaluation:
    """In full if the confidence reaches the threshold; else in proportion."""
    number = evidence.alternatives.index(VerdictStatus.HELD) + 1
    alone = (ALTERNATIVE_ALONE - 0.6) / 0.2
    confidence = round(0.6 + 0.2 * _optional(evidence, alone), 4)
    share = 1.0 if confidence >= demands.min_confidence else round(confidence / demands.min_confidence, 4)
    return OutcomeEvaluation("alternative", share, confidence, f"acceptable outcome {number}")


def _optional(evidence: OutcomeEvidence, otherwise: float) -> float:
    return _count(evidence.optional) / len(evidence.optional) if evidence.optional else otherwise


def _part(evidence: OutcomeEvidence) -> float:
    statuses = (*evidence.primary, *evidence.required)
    return _count(statuses) / len(statuses) if statuses else 0.0


def _count(statuses: Sequence[VerdictStatus]) -> int:
    return sum(status is VerdictStatus.HELD for status in statuses)
