"""What a fleet is: jobs of a kind with JSON in them, done somewhere, each ending in JSON or in a trouble.

No live object goes into a job and none comes out: it may be done in this process (`local`) or on another
machine (`cluster`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from pydantic import Field, JsonValue

from kb_schema.base import Model
from periplus.errors import UserError

LIVES = 3
"""How often a job is begun whose worker, or browser, dies of it or lets go of it; then it is given up."""

Tell = Callable[[JsonValue], None]
"""Hears what a job says while it goes on; each kind has its own."""


class Job(Model):
    """One thing to do."""

    kind: str
    """Which of `kinds.KINDS` does it."""
    key: str = Field(min_length=1, max_length=200)
    """Its name, in messages: no secret."""
    body: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    """What that kind reads; may hold secrets."""


class Trouble(Model):
    """Why a job has no result."""

    kind: Literal["user", "store", "lost", "stopped", "defect"]
    """`user`: a person can put it right. `store`: a store did not answer. `lost`: the worker died or had to let
    go of it. `stopped`: the fleet was asked to stop. `defect`: this should not have happened."""
    message: str
    fix: str | None = None

    @property
    def elsewhere(self) -> bool:
        """Whether another worker may do better."""
        return self.kind in ("lost", "store")


class JobFailed(UserError):
    """A job has no result."""

    def __init__(self, job: Job, trouble: Trouble, *, worker: str = "") -> None:
        self.job, self.trouble, self.worker = job, trouble, worker
        where = f" (worker {worker})" if worker else ""
        super().__init__(f"{job.key}: {trouble.message}{where}", fix=trouble.fix)


class JobEnded(Model):
    """How a job ended on a worker."""

    worker: str
    """Its host and process."""
    result: JsonValue = None
    trouble: Trouble | None = None


class Fleet(Protocol):
    """Workers with browsers. Two implementations pass `tests/periplus/fleet/test_fleet.py`."""

    @property
    def width(self) -> int:
        """How many jobs are done at the same time, as far as is known."""

    @property
    def in_this_process(self) -> bool:
        """Whether jobs are done here, and see all that is here."""

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        """Do a job when a worker is free for it; its result. Ask for many at once: each waits for its turn.

        What a worker that died had of it is done elsewhere. Raises `JobFailed`.
        """

    async def stop(self, reason: str) -> None:
        """Jobs that wait end as `stopped`; those that go on end after the step they are at. Safe to repeat."""
