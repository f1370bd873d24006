"""Records of runs and their results, shared by the agent, reports and stores.

First the results of the task runner, then what is stored: the tables of PACTS 9.1 under their own names, and
ours beside them. Records that live for hours only are in `run_storage.py`.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from kb_schema.base import Model, Probability
from kb_schema.model_use import ModelUse


def _moment(value: datetime) -> datetime:
    """Return a time in UTC with milliseconds, which every store can keep."""
    if value.tzinfo is None:
        raise ValueError("a time needs its zone")
    value = value.astimezone(UTC)
    return value.replace(microsecond=value.microsecond // 1_000 * 1_000)


Moment = Annotated[datetime, AfterValidator(_moment)]
"""A time in UTC with milliseconds, so that every store returns the same value."""
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""PACTS's INTEGER."""


class RunStatus(StrEnum):
    """How far a run got (WR phase 5)."""

    SUCCESS = "success"
    """Everything is done, and something seen in the application shows it."""
    UNVERIFIED = "unverified"
    """Everything is done, but nothing seen in the application shows it (decision 0045)."""
    PARTIAL = "partial"
    DEGRADED = "degraded"
    FAILURE = "failure"
    NEEDS_PERSON = "needs_person"

    @property
    def complete(self) -> bool:
        """Whether every step was done, with or without evidence."""
        return self in (RunStatus.SUCCESS, RunStatus.UNVERIFIED)

    def with_evidence(self, evidence: EvidenceLevel) -> RunStatus:
        """Return the status of a whole run: a success without evidence is `unverified`."""
        if self is RunStatus.SUCCESS and evidence is not EvidenceLevel.VERIFIED:
            return RunStatus.UNVERIFIED
        return self


class EvidenceLevel(StrEnum):
    """The kind of evidence for a result."""

    VERIFIED = "verified"
    """Conditions beyond the action itself held."""
    UNVERIFIED = "unverified"
    """Nothing was stated that could be checked, or it could not be evaluated."""
    CONTRADICTED = "contradicted"
    """A condition did not hold."""


class StepStatus(StrEnum):
    """How one step ended."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


StepOutcome = Literal["achieved", "alternative", "partial"]
"""What a finished step achieved (WR phase 3): its result, an acceptable alternative, or a part of it."""


class StepRecord(Model):
    """One step of a run."""

    task_id: str
    step_id: str
    action_type: str
    status: StepStatus
    duration_ms: float = Field(ge=0)
    screen_id: str | None = None
    """The screen on which the step ended."""
    evidence: tuple[str, ...] = ()
    error: str | None = None
    outcome: StepOutcome | None = None
    """The outcome of a finished step."""
    share: Probability | None = None
    """The share of its evidence that is present; None: all of it if done, else none."""
    confidence: Probability | None = None
    """The confidence that it is the wanted result (WR); None: not judged."""
    degraded: bool = False
    """Whether the run continued without it, or it was done only in part (WR `degraded`)."""
    approach: str = "authored"
    """The approach: `authored`, or the replanning strategy."""


class TriedApproach(Model):
    """An approach to a step that failed, or that replanning found (WR `failedApproaches`)."""

    fingerprint: str = Field(min_length=1)
    """Of action, target, path, item and page state: equal fingerprints are the same approach."""
    task_id: str
    step_id: str
    approach: str
    """`authored`, or the strategy: `other_selector`, `other_path`, `other_task`, `recovery_edge`, ..."""
    detail: str = ""
    """Which selector, path, task or edge; without secrets."""
    item: str | None = None
    """For an iterator: the item."""
    screen_id: str | None = None
    outcome: Literal["worked", "failed", "did_not_happen"]
    """`did_not_happen`: it had no effect and was therefore done again within its limits."""
    error: str | None = None
    attempts: int = Field(default=1, ge=1)
    """The number of attempts; authored retries belong to one approach."""
    failures: int = Field(default=0, ge=0)
    """The number of failed attempts."""


class RunResult(Model):
    """The result of one task: how far it got, the evidence, and all data that was read."""

    run_id: str
    website_id: str
    task_id: str
    workflow_version: str | None = None
    """For a workflow: the version that ran, as `periplus workflows versions` shows it."""
    goal: str = ""
    """What was to be reached: the task's description, else its name (WR 5.1)."""
    status: RunStatus
    evidence: EvidenceLevel
    started_at: datetime
    duration_ms: float = Field(ge=0)
    steps: tuple[StepRecord, ...] = ()
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    """The task's own outputs (WR `extractedData`), whatever the status."""
    error: str | None = None
    """What ended the run, else the first failure that it went on without."""
    errors: tuple[str, ...] = ()
    """Every error of the run, in order, those of steps that it went on without among them (WR 5.1)."""
    hint: str | None = None
    completion_percentage: float = Field(default=0.0, ge=0, le=100)
    """Weighted by the evidence for each step: docs/resilience.md has the rule."""
    completed_steps: int = Field(default=0, ge=0)
    total_steps: int = Field(default=0, ge=0)
    """The task's own steps, without skipped ones that did not apply."""
    degraded_steps: tuple[str, ...] = ()
    """Steps that the run continued without, or that were done only in part."""
    critical_missing: tuple[str, ...] = ()
    """Critical steps that were not done."""
    best_effort_data: dict[str, JsonValue] = Field(default_factory=dict)
    """Everything that was read, by name; inner tasks' values by the path of the task."""
    confidence_score: Probability = 0.0
    early_exit: bool = False
    """Whether it stopped because enough was done (WR `allowEarlyExit`)."""
    tried: tuple[TriedApproach, ...] = ()
    """The approaches that failed or that replanning found, in order of time."""
    replans: int = Field(default=0, ge=0)
    """The replans of the whole run so far, including inner tasks."""
    values_read: int = Field(default=0, ge=0)
    """The number of values read in the whole run; all of them are in `best_effort_data`."""
    state_bytes: int = Field(default=0, ge=0)
    """The size of the checkpoint in bytes."""
    model_use: ModelUse = Field(default_factory=ModelUse)
    """Calls, tokens and cost of language models; all zero is the usual."""

    @property
    def succeeded(self) -> bool:
        """Whether the run was a full success, with evidence."""
        return self.status is RunStatus.SUCCESS

    @property
    def complete(self) -> bool:
        """Whether every step was done, with or without evidence."""
        return self.status.complete


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


# -- stored records (PACTS 9.1) -------------------------------------------------------------------

RunKind = Literal["task", "workflow", "demo", "verification", "goal", "undo", "sentence"]
"""`goal`: reaching a screen; `undo`: a task that undoes another run; `sentence`: a job in words that no task does."""
PactsVerdict = Literal["pass", "partial", "fail"]


def to_pacts_verdict(status: RunStatus, evidence: EvidenceLevel) -> PactsVerdict:
    """Return PACTS's verdict of a run: `pass` needs success *and* evidence."""
    if status is RunStatus.SUCCESS and evidence is EvidenceLevel.VERIFIED:
        return "pass"
    return "partial" if status in (RunStatus.PARTIAL, RunStatus.DEGRADED) else "fail"


class RunEnding(Model):
    """How a run ended: everything that is not known at its start."""

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
    workflow_version: str | None = None
    """For a workflow: the version that ran."""

    @property
    def verdict(self) -> PactsVerdict:
        """The verdict in PACTS's terms."""
        return to_pacts_verdict(self.status, self.evidence)


class StoredRun(Model):
    """PACTS 9.1 `runs`: one record per run, written when it starts.

    `run_id` identifies the run; `req_id`, PACTS's key, names the requirement it verified. A run without
    `finished_at` is going on, or was killed.
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
    """The id of a task, a workflow, a presentation flow, a requirement, or a target screen."""
    status: RunStatus | None = None
    evidence: EvidenceLevel | None = None
    duration_ms: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    error: str | None = None
    hint: str | None = None
    workflow_version: str | None = None
    """For a workflow that has ended: the version that ran, as `periplus workflows versions` shows it."""

    def ended(self, ending: RunEnding) -> StoredRun:
        """Return the run with its ending."""
        return self.model_copy(update={**dict(ending), "verdict": ending.verdict})


class StoredStep(Model):
    """PACTS 9.1 `run_steps`: one record per step that ended, keyed by run and `step_idx`."""

    run_id: str = Field(min_length=1)
    step_idx: Count
    """The order in which steps ended, from 0."""
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
    """The screen on which the step ended."""
    duration_ms: float = Field(ge=0, allow_inf_nan=False)


class Artifact(Model):
    """PACTS 9.1 `artifacts`: a file or folder of a run, keyed by run and name; the newest counts.

    Either `file_path` (a file or a folder) or `content_ref` (where the store has the bytes) locates it.
    """

    run_id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    artifact_type: str = Field(min_length=1)
    """`film`, `report`, `captions`, `trace`, `result`; PACTS's `test_file`, `verdict_report`."""
    file_path: str | None = None
    content_ref: str | None = None
    file_hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256; for a folder, of its files' names and hashes, sorted by name."""
    size_bytes: int = Field(ge=0, le=2**63 - 1)
    created_at: Moment

    @model_validator(mode="after")
    def _is_somewhere(self) -> Artifact:
        if (self.file_path is None) == (self.content_ref is None):
            raise ValueError("an artifact has either a file_path or a content_ref")
        return self


class Metric(Model):
    """PACTS 9.1 `metrics`: one measurement. Repeated with the same `metric_id`, it counts once."""

    run_id: str = Field(min_length=1)
    metric_id: str = Field(default_factory=lambda: uuid.uuid4().hex, min_length=1)
    metric_name: str = Field(min_length=1)
    metric_value: float = Field(allow_inf_nan=False)
    recorded_at: Moment

    @field_validator("metric_value")
    @classmethod
    def _no_negative_zero(cls, value: float) -> float:
        return value + 0.0
