"""What the bench answers: a step that did not come off, and one round of healing."""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema.verification import Evidence, ExecutedStep, Failure, HealEvent, PlanStep


@dataclass(frozen=True, slots=True)
class Undone:
    """A step that did not come off, with everything a root cause is decided from."""

    failure: Failure
    evidence: Evidence
    executed: ExecutedStep


@dataclass(frozen=True, slots=True)
class Healing:
    """One round of healing: `step` leads to the element again where it succeeded, else it is as it was."""

    event: HealEvent
    step: PlanStep
