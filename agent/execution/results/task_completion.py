"""How much of a task is done, and which status its run gets (WR phase 5). Pure.

A step that changes the site, reads something or calls a task has weight 1; one that only leads there
(navigation, a field, a wait) has weight 0.25. Optional steps and skipped steps that did not apply have
weight 0. A step done in part counts by its share. docs/resilience.md has examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.execution.outcome_evaluation import UNJUDGED
from kb_schema.resilience_policy import MIN_PARTIAL_CONFIDENCE, ResiliencePolicy
from kb_schema.run_records import RunStatus

LEADS = 0.25
"""Weight of a step that only leads to others."""
LEAVES = 1.0
"""Weight of a step that leaves something."""


@dataclass(frozen=True, slots=True)
class CompletionPart:
    """One step of a task, with what is done of it so far."""

    step_id: str
    share: float = 0.0
    """0 if it was not reached or failed, 1 if it is done."""
    leaves: bool = True
    """Whether it changes the site, reads, or calls a task."""
    counts: bool = True
    """False: optional, or it did not apply."""
    critical: bool = False
    confidence: float | None = None
    """None: nothing was judged."""
    reached: bool = True
    degraded: bool = False
    changes: bool = False
    """Whether it changes the site, or may."""

    @property
    def weight(self) -> float:
        """Its weight in the percentage."""
        if not self.counts:
            return 0.0
        return LEAVES if self.leaves else LEADS


@dataclass(frozen=True, slots=True)
class StatusFactors:
    """What besides its steps decides the status of a run."""

    needs_person: bool = False
    failed: bool = False
    """An error ended it, or its goal was missing at the end."""
    contradicted: bool = False
    """Evidence contradicted its goal, at the end or apart from its own page."""
    allow_partial: bool = False
    """The task's own `allow_partial_success`."""
    criteria_share: float = 1.0
    """How much of its success criteria held, if they were judged."""


def compute_percentage(parts: Iterable[CompletionPart]) -> float:
    """Return the completion in percent, to a tenth; 100 if no step applied.

    >>> compute_percentage([CompletionPart("a", share=1.0), CompletionPart("b", share=0.5)])
    75.0
    """
    parts = tuple(parts)
    whole = sum(part.weight for part in parts)
    if whole == 0:
        return 100.0
    done = sum(part.weight * part.share for part in parts)
    return min(round(100 * done / whole, 1), 99.9) if done < whole else 100.0


def list_missing_steps(parts: Iterable[CompletionPart]) -> tuple[str, ...]:
    """Return the critical steps of which nothing is done."""
    return tuple(part.step_id for part in parts if part.critical and part.share <= 0)


def compute_confidence(parts: Sequence[CompletionPart], *, contradicted: bool = False) -> float:
    """Return the mean over the steps that were reached (WR 5.2), 0.5 for steps that nothing was stated
    about.

    For a contradicted run, at most the confidence of a failure.
    """
    values = [
        UNJUDGED if part.confidence is None and part.share > 0 else part.confidence or 0.0
        for part in parts
        if part.counts and part.reached
    ]
    mean = sum(values) / len(values) if values else 0.0
    return round(min(mean, MIN_PARTIAL_CONFIDENCE) if contradicted else mean, 2)


def choose_status(
    parts: Sequence[CompletionPart], ending: StatusFactors, policy: ResiliencePolicy
) -> RunStatus:
    """Return the status. Without its critical steps, or against the evidence of the site, a run fails."""
    if ending.needs_person:
        return RunStatus.NEEDS_PERSON
    if list_missing_steps(parts):
        return RunStatus.FAILURE
    done = compute_percentage(parts) * ending.criteria_share
    degraded = any(part.degraded for part in parts)
    if ending.contradicted and not (degraded or ending.allow_partial):
        return RunStatus.FAILURE
    if done >= 100 and not ending.failed and not ending.contradicted:
        return RunStatus.SUCCESS
    if done >= policy.partial_from:
        return RunStatus.PARTIAL
    return RunStatus.DEGRADED if done >= policy.degraded_from and done > 0 else RunStatus.FAILURE


def is_enough(parts: Sequence[CompletionPart], policy: ResiliencePolicy) -> bool:
    """Return whether a run may exit early (WR 5.3): enough is done, and every critical step."""
    if not policy.allow_early_exit or list_missing_steps(parts):
        return False
    return policy.min_acceptable_completion <= compute_percentage(parts) < 100
