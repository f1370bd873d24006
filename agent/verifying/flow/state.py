"""The state of a verification as JSON, in and out, without secrets (PACTS 7.1, 8.2).

LangGraph keeps what is made here. Values that may be secret are taken out before and put back from the
requirement itself, which whoever resumes a run brings along.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agent.redaction import REDACTED
from kb_schema.placeholders import is_open
from kb_schema.verification import (
    Check,
    Evidence,
    ExecutedStep,
    HealEvent,
    Intent,
    Missing,
    Outcome,
    Plan,
    PlanStep,
    Requirement,
    RootCause,
    RunState,
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the context of a state says, as models."""

    requirement: Requirement | None = None
    """Sealed."""
    began: datetime | None = None
    plan: Plan | None = None
    """Sealed."""
    held_before: bool = False
    """This very test passed before."""
    executed: tuple[ExecutedStep, ...] = ()
    healed: tuple[HealEvent, ...] = ()
    failed: ExecutedStep | None = None
    """The step that did not come off last."""
    evidence: Evidence | None = None
    compared: int = 0
    """Elements that were looked for again."""
    drifted: tuple[int, ...] = ()
    """Steps whose element was found under another selector."""
    rca: RootCause | None = None
    ended: datetime | None = None
    artifacts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def told(self, **changes: Any) -> Kept:
        """The same, with something else in it."""
        return replace(self, **changes)


def read(state: RunState) -> Kept:
    """The context of a state."""
    told = state.context
    requirement = told.get("requirement")
    plan = told.get("plan_header")
    evidence, rca, failed = told.get("evidence"), told.get("rca"), told.get("failed_step")
    began, ended = told.get("began"), told.get("ended")
    return Kept(
        requirement=Requirement.model_validate(requirement) if requirement else None,
        began=datetime.fromisoformat(began) if began else None,
        plan=_plan(plan, told) if plan and requirement else None,
        held_before=bool(told.get("held_before")),
        executed=tuple(ExecutedStep.model_validate(each) for each in told.get("executed_steps", ())),
        healed=tuple(HealEvent.model_validate(each) for each in told.get("heal_events", ())),
        failed=ExecutedStep.model_validate(failed) if failed else None,
        evidence=Evidence.model_validate(evidence) if evidence else None,
        compared=int(told.get("compared", 0)),
        drifted=tuple(told.get("drifted", ())),
        rca=RootCause.model_validate(rca) if rca else None,
        ended=datetime.fromisoformat(ended) if ended else None,
        artifacts=dict(told.get("artifacts", {})),
        notes=tuple(told.get("notes", ())),
    )


def write(kept: Kept) -> dict[str, Any]:
    """The context of PACTS 8.2: plain JSON."""
    requirement = kept.requirement
    context: dict[str, Any] = {
        "notes": list(kept.notes),
        "artifacts": kept.artifacts,
        "held_before": kept.held_before,
    }
    if requirement is not None:
        context |= {
            "url": requirement.url,
            "raw_steps": [raw(each) for each in requirement.steps],
            "intents": [each.to_json() for each in requirement.steps],
            "requirement": requirement.model_dump(mode="json"),
        }
    if kept.began is not None:
        context["began"] = kept.began.isoformat()
    if kept.plan is not None:
        plan = kept.plan
        context |= {
            "plan": [each.to_json() for each in plan.steps],
            "plan_header": {"base_url": plan.base_url, "signed_in_by": plan.signed_in_by},
            "missing": [each.to_json() for each in plan.missing],
        }
    context |= {
        "executed_steps": [each.model_dump(mode="json") for each in kept.executed],
        "heal_events": [each.model_dump(mode="json") for each in kept.healed],
        "compared": kept.compared,
        "drifted": list(kept.drifted),
    }
    for name, model in (("evidence", kept.evidence), ("rca", kept.rca), ("failed_step", kept.failed)):
        if model is not None:
            context[name] = model.to_json()
    if kept.ended is not None:
        context["ended"] = kept.ended.isoformat()
    return context


def raw(intent: Intent) -> str:
    """A step in the pipe format: `Element@Region | action | value | expected`."""
    said = "; ".join(each.said for each in intent.expected)
    return " | ".join((intent.intent, intent.action, intent.value or "", said)).rstrip(" |")


def _plan(header: dict[str, Any], told: dict[str, Any]) -> Plan:
    return Plan(
        requirement=Requirement.model_validate(told["requirement"]),
        steps=tuple(PlanStep.model_validate(each) for each in told.get("plan", ())),
        missing=tuple(Missing.model_validate(each) for each in told.get("missing", ())),
        **header,
    )


# -- values that are nobody's business ------------------------------------------------------------------


def sealed(requirement: Requirement, plan: Plan | None = None) -> Requirement:
    """The requirement without values that are secret, or may be: until a plan tells which fields hide what
    is typed, everything that is typed.
    """
    hidden = {step.step_idx for step in plan.steps if step.password} if plan is not None else None
    steps = tuple(
        _sealed(intent) if hidden is None or index in hidden else intent
        for index, intent in enumerate(requirement.steps)
    )
    return requirement.model_copy(update={"steps": _without(literals(requirement, plan), steps)})


def literals(requirement: Requirement, plan: Plan | None) -> frozenset[str]:
    """Values that are written out in the requirement and typed into a field that hides them."""
    found = set()
    for step in plan.steps if plan is not None else ():
        if step.password and step.step_idx < len(requirement.steps):
            value = requirement.steps[step.step_idx].value
            if value and not is_open(value) and value != REDACTED:
                found.add(value)
    return frozenset(found)


def sealed_plan(plan: Plan, requirement: Requirement) -> Plan:
    """The plan as it is kept: its requirement and intents without secrets."""
    kept = sealed(requirement, plan)
    told = literals(requirement, plan)
    steps = tuple(
        step.model_copy(
            update={
                "intent": kept.steps[step.step_idx] if step.step_idx < len(kept.steps) else step.intent,
                "checks": tuple(_sealed_check(check, told) for check in step.checks),
            }
        )
        for step in plan.steps
    )
    return plan.model_copy(update={"requirement": kept, "steps": steps})


def unsealed_plan(plan: Plan, requirement: Requirement, base_url: str) -> Plan:
    """The plan as it is carried out: with the requirement's own values, on the site as it is reached now."""
    steps = tuple(
        step.model_copy(update={"intent": intent, "checks": tuple(_unsealed(step.checks, intent))})
        for step, intent in ((step, requirement.steps[step.step_idx]) for step in plan.steps)
    )
    return plan.model_copy(update={"requirement": requirement, "steps": steps, "base_url": base_url})


def same_test(kept: Requirement, requirement: Requirement, plan: Plan | None) -> bool:
    """Whether a requirement that was kept says what this one says. Where it stands, or what it is called,
    does not matter.
    """
    now = sealed(requirement, plan)
    return (kept.url, kept.login) == (now.url, now.login) and [_bare(each) for each in kept.steps] == [
        _bare(each) for each in now.steps
    ]


def _bare(intent: Intent) -> Intent:
    return intent.model_copy(
        update={"place": Intent.model_fields["place"].get_default(call_default_factory=True)}
    )


def _sealed(intent: Intent) -> Intent:
    value = intent.value
    if not value or is_open(value):  # a placeholder says no secret
        return intent
    return intent.model_copy(update={"value": REDACTED})


def _without(told: Iterable[str], steps: tuple[Intent, ...]) -> tuple[Intent, ...]:
    """The steps' outcomes without values that stand in a hidden field."""
    hidden = frozenset(told)
    if not hidden:
        return steps
    return tuple(
        each.model_copy(update={"expected": tuple(_sealed_outcome(one, hidden) for one in each.expected)})
        for each in steps
    )


def _sealed_outcome(outcome: Outcome, told: frozenset[str]) -> Outcome:
    if outcome.value not in told:
        return outcome
    said = outcome.said.replace(outcome.value or "", REDACTED)
    return outcome.model_copy(update={"value": REDACTED, "said": said})


def _sealed_check(check: Check, told: frozenset[str]) -> Check:
    return check.model_copy(update={"outcome": _sealed_outcome(check.outcome, told)})


def _unsealed(checks: Iterable[Check], intent: Intent) -> Iterable[Check]:
    for check in checks:
        if check.outcome.value != REDACTED:
            yield check
            continue
        own = next((each for each in intent.expected if each.kind == check.outcome.kind), check.outcome)
        yield check.model_copy(update={"outcome": own})
