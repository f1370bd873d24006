"""What a run was and how it came out: shared by the engine, reports and stores."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue

from kb_schema.base import Model


class RunStatus(StrEnum):
    """How far a run got (DESIGN 6, WR phase 5)."""

    SUCCESS = "success"
    PARTIAL = "partial"
    DEGRADED = "degraded"
    FAILURE = "failure"
    NEEDS_PERSON = "needs_person"


class EvidenceLevel(StrEnum):
    """What a result rests on."""

    VERIFIED = "verified"
    """Conditions beyond the action itself held."""
    UNVERIFIED = "unverified"
    """Nothing was stated that could be checked, or it could not be evaluated."""
    CONTRADICTED = "contradicted"
    """A condition spoke against it."""


class StepStatus(StrEnum):
    """How one step came out."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


class StepRecord(Model):
    """One step of a run."""

    task_id: str
    step_id: str
    action_type: str
    status: StepStatus
    duration_ms: float = Field(ge=0)
    screen_id: str | None = None
    """Where the step ended."""
    evidence: tuple[str, ...] = ()
    error: str | None = None


class RunResult(Model):
    """The outcome of one task."""

    run_id: str
    website_id: str
    task_id: str
    status: RunStatus
    evidence: EvidenceLevel
    started_at: datetime
    duration_ms: float = Field(ge=0)
    steps: tuple[StepRecord, ...] = ()
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    error: str | None = None
    hint: str | None = None

    @property
    def succeeded(self) -> bool:
        """Only full success."""
        return self.status is RunStatus.SUCCESS


class TraceEntry(Model):
    """One line of a session log (MA, session format)."""

    type: str
    timestamp: datetime
    action_type: str | None = None
    target: Any = None
    args: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    source_url: str | None = None
    body_html_before_last_action: Any = None
    body_html_after_last_action: Any = None
    metadata: dict[str, Any] = Field(default_factory=dict)
