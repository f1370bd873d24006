"""Request and response models of the REST API: the models of PACTS 10 with additional fields.

`agent.verification.planning` defines the meaning of steps.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from kb_schema.verification import RootCauseClass

REQ_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$"
MAX_STEPS = 200
ReqId = Annotated[str, StringConstraints(pattern=REQ_ID)]
RunId = Annotated[str, StringConstraints(pattern=RUN_ID)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
RunViewState = Literal["queued", "running", "cancelling", "completed", "cancelled", "failed"]
"""`completed`: there is a verdict. `failed`: there is none, because the run could not verify it; see `error`."""

STEPS: list[JsonValue] = [
    "Username@LoginForm | fill | standard_user | field_populated",
    "Password@LoginForm | fill | secret_sauce",
    "Login@LoginForm | click | | navigates_to:Products",
]


class StepBody(BaseModel):
    """One step as an object instead of a line."""

    model_config = ConfigDict(extra="forbid")

    element: str = Field(
        default="",
        max_length=1_000,
        description="The element's label, or `Element@Region`.",
        examples=["Username"],
    )
    region: str = Field(default="", max_length=1_000, examples=["LoginForm"])
    action: str = Field(default="", max_length=100, description="Empty: only check.", examples=["fill"])
    value: str | None = Field(
        default=None,
        max_length=10_000,
        description="`{secret:NAME}` is a secret of the website at `url` if PERIPLUS_SERVE_SECRETS names it, and "
        "is typed on that website only; `{unique}` is a different word in every run.",
        examples=["standard_user"],
    )
    expected: str = Field(
        default="",
        max_length=10_000,
        description="Expected outcomes, separated by `;`.",
        examples=["field_populated"],
    )


class RunRequest(BaseModel):
    """A requirement to verify (PACTS 10.1)."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"req_id": "REQ-LOGIN-001", "url": "https://shop.example.com/login", "steps": STEPS}]
        },
    )

    req_id: ReqId = Field(description="The requirement's id. Verifying it again creates another run.")
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s/?#]+\S*$", max_length=2_000)] = Field(
        description="The start page."
    )
    steps: list[Line | StepBody] = Field(
        min_length=1,
        max_length=MAX_STEPS,
        description="Lines `Element@Region | action | value | expected outcome`, or objects.",
    )
    title: str = Field(default="", max_length=300)
    login: Annotated[str, StringConstraints(pattern=RUN_ID)] | None = Field(
        default=None, description="A task of the knowledge base to sign in with first."
    )
    tags: list[Annotated[str, StringConstraints(min_length=1, max_length=100)]] = Field(
        default_factory=list, max_length=50
    )


class AcceptedRun(BaseModel):
    """202: the run is stored and will be executed, even if the connection ends."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "req_id": "REQ-LOGIN-001",
                    "status": "running",
                    "message": "PACTS execution started",
                    "run_id": "serve-20261122T120000123-000007-5f3a1c",
                    "before": 0,
                }
            ]
        }
    )

    req_id: str
    status: Literal["running", "queued"] = Field(description="`queued` if other runs are before it.")
    message: str
    run_id: str = Field(description="The id of this run of the requirement.")
    before: int = Field(ge=0, description="The number of runs queued before it.")


class SummaryView(BaseModel):
    """PACTS 10.1 `summary`."""

    total_steps: int = 0
    executed_steps: int = 0
    failed_steps: int = 0
    heal_rounds: int = 0


class RcaView(BaseModel):
    """The root cause of the verdict (PACTS 4.6)."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    class_: RootCauseClass | str = Field(alias="class")
    confidence: float | None = None
    message: str = ""
    evidence: tuple[str, ...] = Field(
        default=(),
        description="With healing_declined: the candidate, its likeness and what spoke against it.",
    )
    recommendation: str = ""


class OfferView(BaseModel):
    """With `healing_declined`: the element that may be the one of a step, and was not used."""

    step: int = Field(ge=1, description="The number of the step, from 1.")
    element: str = Field(description="The step's element, as the requirement names it.")
    candidate: str
    selector: str | None = Field(default=None, description="The candidate in Playwright's Python.")
    likeness: float = Field(ge=0, le=1)
    support: tuple[str, ...] = Field(default=(), description="What agrees.")
    against: tuple[str, ...] = Field(default=(), description="What spoke against using it.")
    picture: str | None = Field(default=None, description="GET it here: the candidate and what is around it.")
    open: bool = Field(description="Whether POST /api/runs/{req_id}/accept can accept it.")


class AcceptRequest(BaseModel):
    """The step whose offered element is accepted."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"step": 5}]})

    step: int = Field(
        ge=1, le=100_000, description="The number of the step, from 1: `offered.step` of the run."
    )


class AcceptedElement(BaseModel):
    """An element that is used for its step from now on; verify the requirement again."""

    req_id: str
    run_id: str
    step: int
    element: str
    candidate: str


class RunView(BaseModel):
    """One run: its progress and its result."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "req_id": "REQ-LOGIN-001",
                    "run_id": "serve-20261122T120000123-000007-5f3a1c",
                    "status": "completed",
                    "verdict": "pass",
                    "url": "https://shop.example.com/login",
                    "started_at": "2026-11-22T12:00:00.123Z",
                    "finished_at": "2026-11-22T12:00:05.543Z",
                    "duration_ms": 5420.0,
                    "summary": {"total_steps": 3, "executed_steps": 3, "failed_steps": 0, "heal_rounds": 0},
                    "rca": {
                        "class": "success",
                        "confidence": 1.0,
                        "message": "All steps executed successfully",
                    },
                    "before": None,
                    "error": None,
                    "fix": None,
                }
            ]
        }
    )

    req_id: str
    run_id: str
    status: RunViewState
    verdict: Literal["pass", "fail", "partial"] | None = None
    url: str = Field(description="Without its query, which may contain secrets.")
    started_at: datetime = Field(description="When it was submitted.")
    finished_at: datetime | None = None
    duration_ms: float | None = None
    summary: SummaryView
    rca: RcaView | None = None
    offered: OfferView | None = Field(default=None, description="Only of a single run, not in lists.")
    before: int | None = Field(default=None, description="While it is queued: the number of runs before it.")
    error: str | None = Field(default=None, description="Why there is no verdict.")
    fix: str | None = None


class RunList(BaseModel):
    """Runs, newest first."""

    runs: list[RunView]


class StepView(BaseModel):
    """One executed step."""

    step_idx: int
    element: str | None = None
    action: str
    selector: str | None = Field(
        default=None, description="The element in Playwright's Python, as it was proven on the page."
    )
    strategy: str | None = Field(default=None, description="What found it (PACTS 5).")
    confidence: float | None = None
    status: Literal["success", "skipped", "failed"]
    heal_round: int = 0
    error_message: str | None = None
    executed_at: datetime
    duration_ms: float = 0.0


class StepList(BaseModel):
    """A run's steps in order; complete once it has ended."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "req_id": "REQ-LOGIN-001",
                    "run_id": "serve-20261122T120000123-000007-5f3a1c",
                    "steps": [
                        {
                            "step_idx": 0,
                            "element": "Username",
                            "action": "fill",
                            "selector": 'page.get_by_placeholder("Username")',
                            "strategy": "placeholder",
                            "confidence": 0.88,
                            "status": "success",
                            "heal_round": 0,
                            "executed_at": "2026-11-22T12:00:01.200Z",
                        }
                    ],
                }
            ]
        }
    )

    req_id: str
    run_id: str
    steps: list[StepView]


class ArtifactView(BaseModel):
    """An artifact of a run."""

    type: str
    path: str = Field(description="Relative to the server's folder of runs.")
    hash: str = Field(description="`sha256:` and the hash of the content.")
    size_bytes: int
    name: str = Field(description="GET /api/artifacts/{req_id}/{name} returns the content.")
    created_at: datetime


class ArtifactList(BaseModel):
    """The artifacts of a run."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "req_id": "REQ-LOGIN-001",
                    "run_id": "serve-20261122T120000123-000007-5f3a1c",
                    "artifacts": [
                        {
                            "type": "test_file",
                            "path": "generated_tests/test_REQ-LOGIN-001.py",
                            "hash": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                            "size_bytes": 1234,
                            "name": "test_file",
                            "created_at": "2026-11-22T12:00:05.400Z",
                        }
                    ],
                }
            ]
        }
    )

    req_id: str
    run_id: str
    artifacts: list[ArtifactView]


class CancelledRun(BaseModel):
    """202: `cancelled` if the run was queued; `cancelling` until its current step has ended."""

    req_id: str
    run_id: str
    status: Literal["cancelling", "cancelled"]


class QueueView(BaseModel):
    """The state of the queue."""

    queued: int
    running: int
    workers: int
    limit: int = Field(description="Maximum number of queued runs.")


class HealthView(BaseModel):
    """The health of the service (PACTS 10.1). `degraded`: something does not work; see `reasons`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "status": "healthy",
                    "version": "0.1.0",
                    "services": {
                        "documents": "connected",
                        "graph": "connected",
                        "runs": "connected",
                        "playwright": "ready",
                    },
                    "reasons": [],
                    "queue": {"queued": 0, "running": 1, "workers": 2, "limit": 1000},
                }
            ]
        }
    )

    status: Literal["healthy", "degraded", "draining"]
    version: str
    services: dict[str, Literal["connected", "unavailable", "ready", "starting"]]
    reasons: list[str]
    queue: QueueView
