"""Converts the state of a verification to and from JSON, without secrets (PACTS 7.1, 8.2).

LangGraph saves this JSON. Values that may be secret are removed ("sealed") before and restored from the
requirement itself when a run is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agent.redaction import REDACTED
from kb_schema.placeholders import is_open
from kb_schema.verification import (
    ExecutedStep,
    ExpectedOutcome,
    FailureEvidence,
    GeneratedTestProof,
    HealEvent,
    MissingItem,
    PlanCheck,
    PlanStep,
    Requirement,
    RequirementStep,
    RootCause,
    VerificationPlan,
    VerificationRunState,
)


@dataclass(frozen=True, slots=True)
class VerificationContext:
    """The context of a state, as models."""

    requirement: Requirement | None = None
    """Sealed."""
    began: datetime | None = None
    plan: VerificationPlan | None = None
    """Sealed."""
    held_before: bool = False
    """The same requirement passed before."""
    executed: tuple[ExecutedStep, ...] = ()
    healed: tuple[HealEvent, ...] = ()
    failed: ExecutedStep | None = None
    """The step that failed last."""
    evidence: FailureEvidence | None = None
    compared: int = 0
    """Steps whose element was compared with its fingerprint."""
    drifted: tuple[int, ...] = ()
    """Steps whose element was found with another selector."""
    rca: RootCause | None = None
    proof: GeneratedTestProof | None = None
    ended: datetime | None = None
    artifacts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def with_changes(self, **changes: Any) -> VerificationContext:
        """Return a copy with these fields replaced."""
        return replace(self, **changes)


def read_context(state: VerificationRunState) -> VerificationContext:
    """Read the context of a state."""
    data = state.context
    requirement = data.get("requirement")
    plan = data.get("plan_header")
    evidence, rca, failed = data.get("evidence"), data.get("rca"), data.get("failed_step")
    proof = data.get("proof")
    began, ended = data.get("began"), data.get("ended")
    return VerificationContext(
        requirement=Requirement.model_validate(requirement) if requirement else None,
        began=datetime.fromisoformat(began) if began else None,
        plan=_read_plan(plan, data) if plan and requirement else None,
        held_before=bool(data.get("held_before")),
        executed=tuple(ExecutedStep.model_validate(each) for each in data.get("executed_steps", ())),
        healed=tuple(HealEvent.model_validate(each) for each in data.get("heal_events", ())),
        failed=ExecutedStep.model_validate(failed) if failed else None,
        evidence=FailureEvidence.model_validate(evidence) if evidence else None,
        compared=int(data.get("compared", 0)),
        drifted=tuple(data.get("drifted", ())),
        rca=RootCause.model_validate(rca) if rca else None,
        proof=GeneratedTestProof.model_validate(proof) if proof else None,
        ended=datetime.fromisoformat(ended) if ended else None,
        artifacts=dict(data.get("artifacts", {})),
        notes=tuple(data.get("notes", ())),
    )


def write_context(values: VerificationContext) -> dict[str, Any]:
    """Write the context as the plain JSON of PACTS 8.2."""
    requirement = values.requirement
    context: dict[str, Any] = {
        "notes": list(values.notes),
        "artifacts": values.artifacts,
        "held_before": values.held_before,
    }
    if requirement is not None:
        context |= {
            "url": requirement.url,
            "raw_steps": [format_pipe_step(each) for each in requirement.steps],
            "intents": [each.to_json() for each in requirement.steps],
            "requirement": requirement.model_dump(mode="json"),
        }
    if values.began is not None:
        context["began"] = values.began.isoformat()
    if values.plan is not None:
        plan = values.plan
        context |= {
            "plan": [each.to_json() for each in plan.steps],
            "plan_header": {
                "base_url": plan.base_url,
                "signed_in_by": plan.signed_in_by,
                "usual_errors": list(plan.usual_errors),
                "obstacles": [each.to_json() for each in plan.obstacles],
            },
            "missing": [each.to_json() for each in plan.missing],
        }
    context |= {
        "executed_steps": [each.model_dump(mode="json") for each in values.executed],
        "heal_events": [each.model_dump(mode="json") for each in values.healed],
        "compared": values.compared,
        "drifted": list(values.drifted),
    }
    models = {
        "evidence": values.evidence,
        "rca": values.rca,
        "failed_step": values.failed,
        "proof": values.proof,
    }
    for name, model in models.items():
        if model is not None:
            context[name] = model.to_json()
    if values.ended is not None:
        context["ended"] = values.ended.isoformat()
    return context


def format_pipe_step(intent: RequirementStep) -> str:
    """Return a step in the pipe format: `Element@Region | action | value | expected`."""
    expected = "; ".join(each.said for each in intent.expected)
    return " | ".join((intent.intent, intent.action, intent.value or "", expected)).rstrip(" |")


def _read_plan(header: dict[str, Any], data: dict[str, Any]) -> VerificationPlan:
    return VerificationPlan(
        requirement=Requirement.model_validate(data["requirement"]),
        steps=tuple(PlanStep.model_validate(each) for each in data.get("plan", ())),
        missing=tuple(MissingItem.model_validate(each) for each in data.get("missing", ())),
        **header,
    )


# -- secret values -------------------------------------------------------------------------------------


def seal_requirement(requirement: Requirement, plan: VerificationPlan | None = None) -> Requirement:
    """Return the requirement without its secret values.

    The plan tells which fields are password fields. Without a plan every typed value is removed.
    """
    hidden = {step.step_idx for step in plan.steps if step.password} if plan is not None else None
    steps = tuple(
        _seal_step(intent) if hidden is None or index in hidden else intent
        for index, intent in enumerate(requirement.steps)
    )
    return requirement.model_copy(
        update={"steps": _seal_outcomes(collect_literal_secrets(requirement, plan), steps)}
    )


def collect_literal_secrets(requirement: Requirement, plan: VerificationPlan | None) -> frozenset[str]:
    """Return the values that the requirement contains literally and types into password fields."""
    found = set()
    for step in plan.steps if plan is not None else ():
        if step.password and step.step_idx < len(requirement.steps):
            value = requirement.steps[step.step_idx].value
            if value and not is_open(value) and value != REDACTED:
                found.add(value)
    return frozenset(found)


def seal_plan(plan: VerificationPlan, requirement: Requirement) -> VerificationPlan:
    """Return the plan as it is saved: its requirement and steps without secrets."""
    sealed = seal_requirement(requirement, plan)
    secrets = collect_literal_secrets(requirement, plan)
    steps = tuple(
        step.model_copy(
            update={
                "intent": sealed.steps[step.step_idx] if step.step_idx < len(sealed.steps) else step.intent,
                "checks": tuple(_seal_check(check, secrets) for check in step.checks),
            }
        )
        for step in plan.steps
    )
    return plan.model_copy(update={"requirement": sealed, "steps": steps})


def unseal_plan(plan: VerificationPlan, requirement: Requirement, base_url: str) -> VerificationPlan:
    """Return the plan with the requirement's own values, for the site at `base_url`."""
    steps = tuple(
        step.model_copy(update={"intent": intent, "checks": tuple(_unseal_checks(step.checks, intent))})
        for step, intent in ((step, requirement.steps[step.step_idx]) for step in plan.steps)
    )
    return plan.model_copy(update={"requirement": requirement, "steps": steps, "base_url": base_url})


def is_same_test(kept: Requirement, requirement: Requirement, plan: VerificationPlan | None) -> bool:
    """Whether a saved requirement asks for the same as this one. Its file, line, title and timeouts do not matter."""
    now = seal_requirement(requirement, plan)
    return (kept.url, kept.login) == (now.url, now.login) and [
        _without_place(each) for each in kept.steps
    ] == [_without_place(each) for each in now.steps]


def _without_place(intent: RequirementStep) -> RequirementStep:
    return intent.model_copy(
        update={
            "place": RequirementStep.model_fields["place"].get_default(call_default_factory=True),
            "timeout_s": None,
        }
    )


def _seal_step(intent: RequirementStep) -> RequirementStep:
    value = intent.value
    if not value or is_open(value):  # a placeholder reveals no secret
        return intent
    return intent.model_copy(update={"value": REDACTED})


def _seal_outcomes(
    secrets: frozenset[str], steps: tuple[RequirementStep, ...]
) -> tuple[RequirementStep, ...]:
    """Return the steps with these values removed from their outcomes."""
    if not secrets:
        return steps
    return tuple(
        each.model_copy(
            update={"expected": tuple(_seal_outcome(outcome, secrets) for outcome in each.expected)}
        )
        for each in steps
    )


def _seal_outcome(outcome: ExpectedOutcome, secrets: frozenset[str]) -> ExpectedOutcome:
    if outcome.value not in secrets:
        return outcome
    text = outcome.said.replace(outcome.value or "", REDACTED)
    return outcome.model_copy(update={"value": REDACTED, "said": text})


def _seal_check(check: PlanCheck, secrets: frozenset[str]) -> PlanCheck:
    return check.model_copy(update={"outcome": _seal_outcome(check.outcome, secrets)})


def _unseal_checks(checks: Iterable[PlanCheck], intent: RequirementStep) -> Iterable[PlanCheck]:
    for check in checks:
        if check.outcome.value != REDACTED:
            yield check
            continue
        own = next((each for each in intent.expected if each.kind == check.outcome.kind), check.outcome)
        yield check.model_copy(update={"outcome": own})
