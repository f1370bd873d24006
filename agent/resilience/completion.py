"""How far a task came, and what its run is called for it (WR phase 5; DESIGN 6 and 9). Pure.

A step counts by what is left of it. One that changes the site, reads something, or is made of other
steps weighs 1; one that only leads there (a way, a field, a wait) weighs a quarter. Optional steps weigh
nothing, and neither do those that did not apply. What is done counts in full; what came in part, by the
share of its evidence or of its items. docs/resilience.md says the same with examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.resilience.evaluation import UNJUDGED
from kb_schema.resilience import MIN_PARTIAL_CONFIDENCE, ResiliencePolicy
from kb_schema.runs import RunStatus

LEADS = 0.25
"""Weight of a step that only leads to others, as DESIGN 5 weighs optional indicators."""
LEAVES = 1.0
"""Weight of one of which something is left."""


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a task, as it came out so far."""

    step_id: str
    share: float = 0.0
    """How much of it is there: 0 where it was not reached or failed."""
    leaves: bool = True
    """Whether something is left of it: it changes the site, reads, or is made of other steps."""
    counts: bool = True
    """False: optional, or it did not apply."""
    critical: bool = False
    confidence: float | None = None
    """None: nothing was judged."""
    reached: bool = True
    degraded: bool = False
    changes: bool = False
    """Whether doing it changes the site, or may."""

    @property
    def weight(self) -> float:
        """In the percentage."""
        if not self.counts:
            return 0.0
        return LEAVES if self.leaves else LEADS


@dataclass(frozen=True, slots=True)
class Ending:
    """What beside its steps decides what a run is called."""

    needs_person: bool = False
    failed: bool = False
    """An error ended it, or what it is for was not there at the end."""
    contradicted: bool = False
    """Something spoke against what it is for, at the end or seen apart from its own page."""
    allow_partial: bool = False
    """The task's own `allow_partial_success`: then a part of its criteria is no failure."""
    criteria_share: float = 1.0
    """How much of its success criteria held, where they were asked."""


def percentage(parts: Iterable[Part]) -> float:
    """Completion in percent, to a tenth; a task whose steps all did not apply is complete.

    >>> percentage([Part("a", share=1.0), Part("b", share=0.5)])
    75.0
    """
    parts = tuple(parts)
    whole = sum(part.weight for part in parts)
    if whole == 0:
        return 100.0
    done = sum(part.weight * part.share for part in parts)
    return min(round(100 * done / whole, 1), 99.9) if done < whole else 100.0


def missing(parts: Iterable[Part]) -> tuple[str, ...]:
    """Critical steps of which nothing is there."""
    return tuple(part.step_id for part in parts if part.critical and part.share <= 0)


def confidence(parts: Sequence[Part], *, contradicted: bool = False) -> float:
    """The mean over the steps that were reached (WR 5.2), 0.5 for those about which nothing was said; of
    a run that was contradicted never more than would be a failure.
    """
    told = [
        UNJUDGED if part.confidence is None and part.share > 0 else part.confidence or 0.0
        for part in parts
        if part.counts and part.reached
    ]
    mean = sum(told) / len(told) if told else 0.0
    return round(min(mean, MIN_PARTIAL_CONFIDENCE) if contradicted else mean, 2)


def status_of(parts: Sequence[Part], ending: Ending, policy: ResiliencePolicy) -> RunStatus:
    """DESIGN 6's word for it. Nothing counts without the critical steps, nor against what the site says."""
    if ending.needs_person:
        return RunStatus.NEEDS_PERSON
    if missing(parts):
        return RunStatus.FAILURE
    done = percentage(parts) * ending.criteria_share
    degraded = any(part.degraded for part in parts)
    if ending.contradicted and not (degraded or ending.allow_partial):
        return RunStatus.FAILURE
    if done >= 100 and not ending.failed and not ending.contradicted:
        return RunStatus.SUCCESS
    if done >= policy.partial_from:
        return RunStatus.PARTIAL
    return RunStatus.DEGRADED if done >= policy.degraded_from and done > 0 else RunStatus.FAILURE


def enough(parts: Sequence[Part], policy: ResiliencePolicy) -> bool:
    """Whether a run may stop here (WR 5.3): enough is done, and all that is critical."""
    if not policy.allow_early_exit or missing(parts):
        return False
    return policy.min_acceptable_completion <= percentage(parts) < 100
