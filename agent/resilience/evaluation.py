"""What a step or a task came to, by its evidence (WR phase 3). Pure: verdicts in, a judgement out.

WR's rules: what it is for was achieved: confidence 0.8 to 1.0; an acceptable other outcome: 0.6 to
0.8; a part of more than 70 %, where parts are allowed: 0.5 to 0.7; required evidence missing: failed.
What could not be evaluated never counts as held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kb_schema.conditions import BaseCondition
from kb_schema.probes import Status, Verdict
from kb_schema.resilience import MIN_PARTIAL_CONFIDENCE
from kb_schema.runs import Outcome

UNJUDGED = 0.5
"""WR 5.2: confidence of what nothing was said about."""
PARTIAL_FROM = 0.7
"""WR 3.2: "partial success allowed and > 70 % complete"."""
ALTERNATIVE_ALONE = 0.65
"""WR 3.2, the example: an acceptable outcome about which nothing optional is known."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How each thing that was asked came out, in `satisfied`'s words."""

    primary: tuple[Status, ...] = ()
    """Postconditions and validation, or success criteria."""
    alternatives: tuple[Status, ...] = ()
    required: tuple[Status, ...] = ()
    optional: tuple[Status, ...] = ()


@dataclass(frozen=True, slots=True)
class Demands:
    """What is asked of the evidence."""

    allow_partial: bool = False
    min_confidence: float = 0.7
    """From which an acceptable other outcome counts in full."""
    min_partial: float = MIN_PARTIAL_CONFIDENCE


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The judgement. `outcome` None: it failed."""

    outcome: Outcome | None
    share: float
    """How much of it is there: 1 is all."""
    confidence: float
    reason: str = ""


def satisfied(condition: BaseCondition, verdict: Verdict) -> Status:
    """HELD where the condition speaks for success: one with `success: false` does where it does not hold."""
    if condition.success is not False or verdict.status is Status.UNKNOWN:
        return verdict.status
    return Status.NOT_HELD if verdict.held else Status.HELD


def evaluate(evidence: Evidence, demands: Demands = Demands()) -> Evaluation:
    """WR's rules, in their order.

    >>> evaluate(Evidence(primary=(Status.HELD,))).confidence
    1.0
    >>> evaluate(Evidence(primary=(Status.NOT_HELD,), alternatives=(Status.HELD,))).outcome
    'alternative'
    """
    if (missing := len(evidence.required) - _count(evidence.required)) > 0:
        share = _part(evidence)
        return Evaluation(
            None, share, share * MIN_PARTIAL_CONFIDENCE, f"{missing} of the required evidence missing"
        )
    if _count(evidence.primary) == len(evidence.primary):
        return _achieved(evidence)
    if Status.HELD in evidence.alternatives:
        return _alternative(evidence, demands)
    share = _part(evidence)
    if demands.allow_partial and share >= PARTIAL_FROM:
        confidence = 0.5 + 0.2 * (share - PARTIAL_FROM) / (1 - PARTIAL_FROM)
        if confidence >= demands.min_partial:
            return Evaluation("partial", share, round(confidence, 4), f"{share:.0%} of the evidence")
    return Evaluation(None, share, share * MIN_PARTIAL_CONFIDENCE, f"{share:.0%} of the evidence")


def _achieved(evidence: Evidence) -> Evaluation:
    if not (evidence.primary or evidence.required or evidence.optional):
        return Evaluation("achieved", 1.0, UNJUDGED, "nothing was stated that could be checked")
    return Evaluation("achieved", 1.0, round(0.8 + 0.2 * _optional(evidence, 1.0), 4))


def _alternative(evidence: Evidence, demands: Demands) -> Evaluation:
    """In full where one is as sure of it as was asked; else as near as one comes to that."""
    number = evidence.alternatives.index(Status.HELD) + 1
    alone = (ALTERNATIVE_ALONE - 0.6) / 0.2
    confidence = round(0.6 + 0.2 * _optional(evidence, alone), 4)
    share = 1.0 if confidence >= demands.min_confidence else round(confidence / demands.min_confidence, 4)
    return Evaluation("alternative", share, confidence, f"acceptable outcome {number}")


def _optional(evidence: Evidence, otherwise: float) -> float:
    return _count(evidence.optional) / len(evidence.optional) if evidence.optional else otherwise


def _part(evidence: Evidence) -> float:
    asked = (*evidence.primary, *evidence.required)
    return _count(asked) / len(asked) if asked else 0.0


def _count(statuses: Sequence[Status]) -> int:
    return sum(status is Status.HELD for status in statuses)
