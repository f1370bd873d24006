"""The interface of fleets: jobs with a JSON body, each ending with a JSON result or a `JobTrouble`.

Jobs contain no live objects, so they can be executed in this process (`local_fleet`) or on another machine
(`cluster_fleet`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from pydantic import Field, JsonValue

from kb_schema.base import Model
from periplus.errors import UserError

LIVES = 3
"""Maximum number of starts of a job whose worker or browser dies, or loses its lease."""

Tell = Callable[[JsonValue], None]
"""Receives the progress messages of a job; each kind has its own."""


class Job(Model):
    """One job."""

    kind: str
    """A key of `job_kinds.KINDS`."""
    key: str = Field(min_length=1, max_length=200)
    """Its name in messages; contains no secret."""
    body: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    """The input for that kind; may contain secrets."""


class JobTrouble(Model):
    """Why a job has no result."""

    kind: Literal["user", "store", "lost", "stopped", "defect"]
    """`user`: the user can correct it. `store`: a store did not answer. `lost`: the worker died or lost its lease.
    `stopped`: the fleet was stopped. `defect`: an internal error."""
    message: str
    fix: str | None = None

    @property
    def elsewhere(self) -> bool:
        """Return whether another worker may succeed."""
        return self.kind in ("lost", "store")


class JobFailed(UserError):
    """A job has no result."""

    def __init__(self, job: Job, trouble: JobTrouble, *, worker: str = "") -> None:
        self.job, self.trouble, self.worker = job, trouble, worker
        where = f" (worker {worker})" if worker else ""
        super().__init__(f"{job.key}: {trouble.message}{where}", fix=trouble.fix)


class JobEnded(Model):
    """How a job ended on a worker."""

    worker: str
    """Its host and process."""
    result: JsonValue = None
    trouble: JobTrouble | None = None


class Fleet(Protocol):
    """Workers with browsers. Two implementations pass `tests/periplus/fleet/test_fleet.py`."""

    @property
    def width(self) -> int:
        """Return the number of parallel jobs, as far as known."""

    @property
    def in_this_process(self) -> bool:
        """Return whether jobs run in this process."""

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        """Execute a job on a free worker and return its result. Call it for many jobs in parallel; each waits for
        a worker.

        If a worker dies, another one executes its job. Raises `JobFailed`.
        """

    async def stop(self, reason: str) -> None:
        """Stop waiting jobs at once and running ones after their current step. Safe to repeat."""
