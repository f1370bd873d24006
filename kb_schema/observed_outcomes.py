"""Outcomes of using a website, as clients report them, and the statistics that stores keep of them.

They are keyed by ids of the knowledge, never by a generation, so they survive every reload.
`kb_store.learned.learned_numbers` computes the statistics.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AwareDatetime, Field, StringConstraints, WithJsonSchema, model_validator

from kb_schema.base import LocalId, Milliseconds, Model
from kb_schema.fingerprints import Fingerprint

OutcomeId = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:\-]*$")
]
"""The reporting client chooses it and sends the same one when it repeats the report."""

EdgeId = Annotated[str, StringConstraints(min_length=1, max_length=700, pattern=r"^[A-Za-z0-9_.\-]+$")]
"""An edge's local id; derived ones are longer than a `LocalId`."""


class ElementUse(Model):
    """One strategy for finding one element of a screen."""

    screen_id: LocalId
    element_id: LocalId
    strategy: LocalId
    """The selector strategy: `css`, `role_name`, ..."""


class ReportedOutcome(Model):
    """One attempt on a website and whether it worked, as clients report it."""

    outcome_id: OutcomeId
    transition_id: EdgeId | None = None
    recovery_id: EdgeId | None = None
    element: ElementUse | None = None
    succeeded: bool
    duration_ms: Milliseconds | None = None
    """The time from the action to the arrival. Learned from for successes only."""
    at: AwareDatetime | None = None
    """None: now."""
    run_id: OutcomeId | None = None
    fingerprint: Annotated[Fingerprint | None, WithJsonSchema({"type": "object"})] = None
    """For an element whose step worked: its description from now on."""

    @model_validator(mode="after")
    def _about_one_thing(self) -> Self:
        named = [self.transition_id, self.recovery_id, self.element]
        if sum(each is not None for each in named) != 1:
            raise ValueError("an outcome is about one of transition_id, recovery_id, element")
        if self.fingerprint is not None and (self.element is None or not self.succeeded):
            raise ValueError("a fingerprint belongs to an element that was found")
        return self


class Outcome(ReportedOutcome):
    """An outcome in the form that stores count."""

    website_id: LocalId
    at: AwareDatetime


class ObservedStats(Model):
    """Statistics of one thing; older observations count less."""

    succeeded: float = Field(ge=0)
    failed: float = Field(ge=0)
    """Both decayed to now: an outcome of today counts 1."""
    seen: int = Field(ge=0)
    """The number of outcomes ever counted, not decayed."""
    timed: int = Field(ge=0)
    """The number of those that have a duration."""
    mean_ms: float | None = None
    p95_ms: float | None = None
    """Within 5 % (or 1 ms) of the exact value."""


class TransitionStats(ObservedStats):
    """Statistics of one transition."""

    transition_id: EdgeId


class RecoveryStats(ObservedStats):
    """Statistics of one recovery edge."""

    recovery_id: EdgeId


class ElementStats(ObservedStats):
    """Statistics of one strategy for one element."""

    element: ElementUse


class OutcomeAnswer(Model):
    """The answer to a reported outcome."""

    website_id: str
    outcome_id: str
    counted: bool
    """False: it was counted before, or its time is too old or in the future."""
    reason: str = ""
    """Why it was not counted."""
