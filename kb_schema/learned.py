"""What was observed while a website was used: outcomes as they are reported, numbers as they are kept.

Keyed by ids of the knowledge, never by a generation, so that they survive every reload. How outcomes
become numbers is `kb_store.learned`.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AwareDatetime, Field, StringConstraints, WithJsonSchema, model_validator

from kb_schema.base import LocalId, Milliseconds, Model
from kb_schema.fingerprints import Fingerprint

OutcomeId = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:\-]*$")
]
"""Whoever reports an outcome makes one up, and sends the same when it sends the outcome again."""

EdgeId = Annotated[str, StringConstraints(min_length=1, max_length=700, pattern=r"^[A-Za-z0-9_.\-]+$")]
"""An edge's local id; derived ones are longer than a `LocalId`."""


class ElementUse(Model):
    """One way of finding one element of one screen."""

    screen_id: LocalId
    element_id: LocalId
    strategy: LocalId
    """Which of the selector's strategies: `css`, `role_name`, ..."""


class ReportedOutcome(Model):
    """One thing that was tried on a website, and whether it worked, as clients report it."""

    outcome_id: OutcomeId
    transition_id: EdgeId | None = None
    recovery_id: EdgeId | None = None
    element: ElementUse | None = None
    succeeded: bool
    duration_ms: Milliseconds | None = None
    """From the action until one had arrived. Only that of a success is learned from."""
    at: AwareDatetime | None = None
    """None: now."""
    run_id: OutcomeId | None = None
    fingerprint: Annotated[Fingerprint | None, WithJsonSchema({"type": "object"})] = None
    """Of the element, where its step held: what it is known by from now on."""

    @model_validator(mode="after")
    def _about_one_thing(self) -> Self:
        named = [self.transition_id, self.recovery_id, self.element]
        if sum(each is not None for each in named) != 1:
            raise ValueError("an outcome is about one of transition_id, recovery_id, element")
        if self.fingerprint is not None and (self.element is None or not self.succeeded):
            raise ValueError("a fingerprint belongs to an element that was found")
        return self


class Outcome(ReportedOutcome):
    """An outcome as stores count it."""

    website_id: LocalId
    at: AwareDatetime


class Observed(Model):
    """What was observed of one thing, older observations counting less (DESIGN 5)."""

    succeeded: float = Field(ge=0)
    failed: float = Field(ge=0)
    """Both decayed to now: an outcome of today counts 1."""
    seen: int = Field(ge=0)
    """Outcomes ever counted, undecayed."""
    timed: int = Field(ge=0)
    """Those of them with a duration."""
    mean_ms: float | None = None
    p95_ms: float | None = None
    """Within 5 % (or 1 ms) of the exact one."""


class TransitionStats(Observed):
    """Of one transition."""

    transition_id: EdgeId


class RecoveryStats(Observed):
    """Of one recovery edge."""

    recovery_id: EdgeId


class ElementStats(Observed):
    """Of one way of finding one element."""

    element: ElementUse


class OutcomeRecorded(Model):
    """The desk's answer to a reported outcome."""

    website_id: str
    outcome_id: str
    counted: bool
    """False: it had been counted before, or is too old or from the future."""
    reason: str = ""
    """Why it was not counted."""
