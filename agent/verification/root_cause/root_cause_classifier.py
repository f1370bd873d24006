"""Chooses one root cause from the findings of the rules: the most certain wins, the second is named as
evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.verification.root_cause.rule_findings import GUESS, RULES, RuleFinding
from agent.verification.root_cause.step_failure_case import StepFailureCase, quote_excerpt
from kb_schema.verification import FailureEvidence, FailureKind, RootCause, RootCauseClass

CAUTION: Final[tuple[RootCauseClass, ...]] = (
    "app_defect",
    "env_fault",
    "data_issue",
    "assertion_mismatch",
    "enablement_issue",
    "visibility_issue",
    "timing_instability",
    "healing_declined",
    "selector_drift",
)
"""Of equally certain findings the first class in this list wins: those that must not be healed come first."""

_MOST_SENTENCES = 12

_BY_KIND: Final[dict[FailureKind, RootCauseClass]] = {
    FailureKind.NONE: "assertion_mismatch",
    FailureKind.NOT_UNIQUE: "selector_drift",
    FailureKind.NOT_VISIBLE: "visibility_issue",
    FailureKind.DISABLED: "enablement_issue",
    FailureKind.UNSTABLE: "timing_instability",
    FailureKind.NOT_SCOPED: "selector_drift",
    FailureKind.TIMEOUT: "timing_instability",
}
"""PACTS 4.6, phase 1: the class for each kind of failure, if nothing else is known."""


def collect_findings(evidence: FailureEvidence) -> list[RuleFinding]:
    """Return the findings of all rules, the most certain first."""
    case = StepFailureCase(evidence)
    found = [each for rule in RULES.values() for each in rule(case)]
    return sorted(found, key=lambda each: (-each.confidence, CAUTION.index(each.cause)))


def classify(evidence: FailureEvidence) -> RootCause:
    """Return the root cause of a failed step. Never raises, and never returns `success`.

    The confidence is how often such evidence means that class: 0.98 directly seen, 0.88 two observations
    agree, 0.7 the kind of the failure and a hint, 0.55 its kind alone, 0.35 a guess (`rule_findings`).
    """
    found = collect_findings(evidence)
    if not found:
        return _by_kind(evidence)
    best = found[0]
    same = [each for each in found if each.cause == best.cause]
    other = next((each for each in found if each.cause != best.cause), None)
    return RootCause.model_validate(
        {
            "class": best.cause,
            "confidence": round(best.confidence, 2),
            "message": best.message,
            "evidence": _render_evidence(same, other, evidence),
            "recommendation": best.recommendation,
            "metrics": {"heal_rounds": float(evidence.heal_rounds)},
        }
    )


def build_success(**metrics: float) -> RootCause:
    """Return the root cause of a pass (PACTS 4.6: all outcomes are classified)."""
    return RootCause.model_validate(
        {
            "class": "success",
            "confidence": 1.0,
            "message": "All steps executed successfully",
            "recommendation": "Nothing to do.",
            "metrics": metrics,
        }
    )


def _render_evidence(
    same: Sequence[RuleFinding], other: RuleFinding | None, evidence: FailureEvidence
) -> tuple[str, ...]:
    sentences = list(dict.fromkeys(sentence for each in same for sentence in each.evidence))[:_MOST_SENTENCES]
    if evidence.difference is not None:
        sentences.insert(0, str(evidence.difference))
    if evidence.heal_rounds:
        rounds = "round" if evidence.heal_rounds == 1 else "rounds"
        sentences.append(f"{evidence.heal_rounds} {rounds} of healing did not help")
    if other is not None:
        sentences.append(f"less likely: {other.cause} ({other.confidence:.2f}), {other.message}")
    return tuple(sentences)


def _by_kind(evidence: FailureEvidence) -> RootCause:
    cause = _BY_KIND[evidence.failure]
    reason = (
        f"the error says {quote_excerpt(evidence.message)}"
        if evidence.message
        else "no evidence was gathered"
    )
    return RootCause.model_validate(
        {
            "class": cause,
            "confidence": GUESS,
            "message": f"step {evidence.step_idx + 1} failed for an unknown reason",
            "evidence": (reason,),
            "recommendation": f"Run step {evidence.step_idx + 1} again with a trace, and examine it by hand.",
            "metrics": {"heal_rounds": float(evidence.heal_rounds)},
        }
    )
