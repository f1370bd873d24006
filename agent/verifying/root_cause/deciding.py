"""From what the rules found to one root cause: the surest wins, the runner-up is told in the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.verifying.root_cause.case import Case, quoted
from agent.verifying.root_cause.findings import GUESS, RULES, Finding
from kb_schema.verification import Evidence, Failure, RootCause, RootCauseClass

CAUTION: Final[tuple[RootCauseClass, ...]] = (
    "app_defect",
    "env_fault",
    "data_issue",
    "assertion_mismatch",
    "enablement_issue",
    "visibility_issue",
    "timing_instability",
    "selector_drift",
)
"""Of two explanations as sure as each other the first in this list counts: what must not be healed away."""

_MOST_SENTENCES = 12

_BY_KIND: Final[dict[Failure, RootCauseClass]] = {
    Failure.NONE: "assertion_mismatch",
    Failure.NOT_UNIQUE: "selector_drift",
    Failure.NOT_VISIBLE: "visibility_issue",
    Failure.DISABLED: "enablement_issue",
    Failure.UNSTABLE: "timing_instability",
    Failure.NOT_SCOPED: "selector_drift",
    Failure.TIMEOUT: "timing_instability",
}
"""PACTS 4.6, phase 1: what the kind of a failure means where nothing else is known."""


def findings(evidence: Evidence) -> list[Finding]:
    """What every rule has to say, surest first."""
    case = Case(evidence)
    found = [each for rule in RULES for each in rule(case)]
    return sorted(found, key=lambda each: (-each.confidence, CAUTION.index(each.cause)))


def classify(evidence: Evidence) -> RootCause:
    """The root cause of a failed step. Never raises, and never says `success`.

    Confidence is how often such evidence means that class: 0.98 seen itself, 0.9 two observations agree,
    0.7 the kind of the failure and a hint, 0.5 its kind alone, 0.35 a guess (`findings.py`).
    """
    found = findings(evidence)
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
            "evidence": _told(same, other, evidence),
            "recommendation": best.recommendation,
            "metrics": {"heal_rounds": float(evidence.heal_rounds)},
        }
    )


def succeeded(**metrics: float) -> RootCause:
    """The root cause of what did not fail (PACTS 4.6: all outcomes are classified)."""
    return RootCause.model_validate(
        {
            "class": "success",
            "confidence": 1.0,
            "message": "All steps executed successfully",
            "recommendation": "Nothing to do.",
            "metrics": metrics,
        }
    )


def _told(same: Sequence[Finding], other: Finding | None, evidence: Evidence) -> tuple[str, ...]:
    sentences = list(dict.fromkeys(sentence for each in same for sentence in each.evidence))[:_MOST_SENTENCES]
    if evidence.heal_rounds:
        rounds = "round" if evidence.heal_rounds == 1 else "rounds"
        sentences.append(f"{evidence.heal_rounds} {rounds} of healing did not help")
    if other is not None:
        sentences.append(f"less likely: {other.cause} ({other.confidence:.2f}), {other.message}")
    return tuple(sentences)


def _by_kind(evidence: Evidence) -> RootCause:
    cause = _BY_KIND[evidence.failure]
    said = f"the error says {quoted(evidence.message)}" if evidence.message else "no evidence was gathered"
    return RootCause.model_validate(
        {
            "class": cause,
            "confidence": GUESS,
            "message": f"step {evidence.step_idx + 1} failed, and nothing tells why",
            "evidence": (said,),
            "recommendation": f"Run step {evidence.step_idx + 1} again with a trace, and look at it by hand.",
            "metrics": {"heal_rounds": float(evidence.heal_rounds)},
        }
    )
