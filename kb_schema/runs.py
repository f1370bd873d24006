"""What a run was and how it came out: shared by the engine, reports and stores.

The first half is what the engine hands back, the second what is kept of it: PACTS 9.1's tables
under their own names and fields, and ours beside them. What lives for hours only is `storage.py`.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from kb_schema.base import Model, Probability


def _moment(value: datetime) -> datetime:
    """In UTC, to the millisecond: what every store can keep."""
    if value.tzinfo is None:
        raise ValueError("a time needs its zone")
    value = value.astimezone(UTC)
    return value.replace(microsecond=value.microsecond // 1_000 * 1_000)


Moment = Annotated[datetime, AfterValidator(_moment)]
"""A time with its zone, kept in UTC to the millisecond, so that every store gives back the same."""
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""PACTS's INTEGER."""


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


Outcome = Literal["achieved", "alternative", "partial"]
"""What a step that is done brought about (WR phase 3): what it is for, an acceptable other outcome, or
a part of it."""


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
    outcome: Outcome | None = None
    """Of a step that is done."""
    share: Probability | None = None
    """How much of it is there by its evidence; None: all of it where it is done, else nothing."""
    confidence: Probability | None = None
    """That it is what was wanted (WR); None: nothing was judged."""
    degraded: bool = False
    """It failed, and the run went on without it (WR `degraded`)."""
    approach: str = "authored"
    """How it was done: as the task says, or by which strategy of the replanner."""


class Tried(Model):
    """One approach to a step that failed, or that was found by replanning (WR `failedApproaches`)."""

    fingerprint: str = Field(min_length=1)
    """Of action, target, way, item and state of the page: the same twice would be the same approach."""
    task_id: str
    step_id: str
    approach: str
    """`authored`, or the strategy: `other_selector`, `other_path`, `other_task`, `recovery_edge`, ..."""
    detail: str = ""
    """Which selector, way, task or edge; without secrets."""
    item: str | None = None
    """Of an iterator: which, from 1."""
    screen_id: str | None = None
    outcome: Literal["worked", "failed", "did_not_happen"]
    """`did_not_happen`: it never took effect, and was therefore done again within its limits."""
    error: str | None = None
    attempts: int = Field(default=1, ge=1)
    """Authored retries are part of one approach."""
    failures: int = Field(default=0, ge=0)
    """How often it failed: once, if at all."""


class RunResult(Model):
    """The outcome of one task: how far it came, what it rests on, and all the data it got."""

    run_id: str
    website_id: str
    task_id: str
    status: RunStatus
    evidence: EvidenceLevel
    started_at: datetime
    duration_ms: float = Field(ge=0)
    steps: tuple[StepRecord, ...] = ()
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    """What the task itself gives (WR `extractedData`), whatever the status."""
    error: str | None = None
    hint: str | None = None
    completion_percentage: float = Field(default=0.0, ge=0, le=100)
    """Weighted by the evidence for each step: docs/resilience.md has the rule."""
    completed_steps: int = Field(default=0, ge=0)
    total_steps: int = Field(default=0, ge=0)
    """Of the task itself, without those that were left out because they did not apply."""
    degraded_steps: tuple[str, ...] = ()
    """Steps that the run went on without, or that came to less than all."""
    critical_missing: tuple[str, ...] = ()
    """Steps without which nothing counts, and that are not done."""
    best_effort_data: dict[str, JsonValue] = Field(default_factory=dict)
    """Everything that was read, by name; what the tasks within it read: by the path of the task."""
    confidence_score: Probability = 0.0
    early_exit: bool = False
    """It stopped because enough was done (WR `allowEarlyExit`)."""
    tried: tuple[Tried, ...] = ()
    """Approaches that failed, or that replanning found, in the order of time."""
    replans: int = Field(default=0, ge=0)
    """Of the whole run so far, tasks within it included."""
    values_read: int = Field(default=0, ge=0)
    """Values that were read in the whole run, ever: all of them are in `best_effort_data`."""
    state_bytes: int = Field(default=0, ge=0)
    """Of what was kept to carry the run on."""

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
    action_group_index: int = 0
    parallel_index: int = 0
    reasoning: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


# -- what is kept (PACTS 9.1; DESIGN 9: the tables are collections) -------------------------------

RunKind = Literal["task", "workflow", "demo", "verification", "goal", "undo"]
"""`goal`: getting to a screen; `undo`: a task that undoes what another run did."""
PactsVerdict = Literal["pass", "partial", "fail"]


def verdict_of(status: RunStatus, evidence: EvidenceLevel) -> PactsVerdict:
    """PACTS's verdict of a run (DESIGN 6): `pass` needs success *and* evidence."""
    if status is RunStatus.SUCCESS and evidence is EvidenceLevel.VERIFIED:
        return "pass"
    return "partial" if status in (RunStatus.PARTIAL, RunStatus.DEGRADED) else "fail"


class RunEnding(Model):
    """How a run ended: everything about it that is not known at its start."""

    status: RunStatus
    evidence: EvidenceLevel
    finished_at: Moment
    duration_ms: float = Field(ge=0, allow_inf_nan=False)
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    """Without secrets."""
    error: str | None = None
    hint: str | None = None
    heal_rounds: Count = 0
    rca_class: str | None = None
    rca_message: str | None = None

    @property
    def verdict(self) -> PactsVerdict:
        """PACTS's word for it."""
        return verdict_of(self.status, self.evidence)


class StoredRun(Model):
    """PACTS 9.1 `runs`: one per run, there from its first moment.

    `run_id` names the run everywhere; `req_id`, PACTS's key, names the requirement it verified.
    A run without `finished_at` is going on, or was killed.
    """

    run_id: str = Field(min_length=1)
    req_id: str | None = None
    url: str
    verdict: PactsVerdict | None = None
    started_at: Moment
    finished_at: Moment | None = None
    heal_rounds: Count = 0
    rca_class: str | None = None
    rca_message: str | None = None
    website_id: str
    kind: RunKind
    subject: str
    """The id of what was run: a task, a workflow, a presentation flow, a requirement, a screen to get to."""
    status: RunStatus | None = None
    evidence: EvidenceLevel | None = None
    duration_ms: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    error: str | None = None
    hint: str | None = None

    def ended(self, ending: RunEnding) -> StoredRun:
        """The same run, over."""
        return self.model_copy(update={**dict(ending), "verdict": ending.verdict})


class StoredStep(Model):
    """PACTS 9.1 `run_steps`: one per step that ended, keyed by run and `step_idx`."""

    run_id: str = Field(min_length=1)
    step_idx: Count
    """In the order in which steps ended, from 0."""
    element: str | None = None
    action: str
    selector: str | None = None
    strategy: str | None = None
    confidence: Probability | None = None
    status: Literal["success", "skipped", "failed"]
    heal_round: Count = 0
    error_message: str | None = None
    executed_at: Moment
    task_id: str
    step_id: str
    screen_id: str | None = None
    """Where the step ended."""
    duration_ms: float = Field(ge=0, allow_inf_nan=False)


class Artifact(Model):
    """PACTS 9.1 `artifacts`: something a run left, keyed by run and name; the newest counts.

    Either `file_path` (a file, or a folder as a whole) or `content_ref` (where its bytes are, in
    the words of whoever keeps them) says where it is.
    """

    run_id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    artifact_type: str = Field(min_length=1)
    """`film`, `report`, `captions`, `trace`, `result`; PACTS's `test_file`, `verdict_report`."""
    file_path: str | None = None
    content_ref: str | None = None
    file_hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256; of a folder: of its files' names and hashes, by name."""
    size_bytes: int = Field(ge=0, le=2**63 - 1)
    created_at: Moment

    @model_validator(mode="after")
    def _is_somewhere(self) -> Artifact:
        if (self.file_path is None) == (self.content_ref is None):
            raise ValueError("an artifact has either a file_path or a content_ref")
        return self


class Metric(Model):
    """PACTS 9.1 `metrics`: one measurement. Sent twice under one `metric_id`, it counts once."""

    run_id: str = Field(min_length=1)
    metric_id: str = Field(default_factory=lambda: uuid.uuid4().hex, min_length=1)
    metric_name: str = Field(min_length=1)
    metric_value: float = Field(allow_inf_nan=False)
    recorded_at: Moment

    @field_validator("metric_value")
    @classmethod
    def _no_negative_zero(cls, value: float) -> float:
        return value + 0.0
