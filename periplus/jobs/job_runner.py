"""Runs the jobs of the store, a few at a time, in the order of their due times; also those of a server that was killed.

A job has a lease while it runs. A task is resumed from its checkpoint under the same run id; other jobs of a killed server
are `interrupted`. Not here: what a kind of job does (`job_performers`), and due times (`job_scheduler`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Protocol, Self

import structlog

from kb_schema.base import Model
from kb_schema.model_use import ModelUse
from kb_schema.service_records import JobOrder, JobState, StoredJob
from kb_store.audit.audit_recorder import acting_as, record_async
from kb_store.errors import StoreError
from kb_store.runs.run_leases import RunLeaseConflict, find_live_holder, hold_run_lease
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError, write_traceback
from periplus.fleet.jobs import LIVES
from periplus.runs.task_runs import new_run_id

MOST_WAITING = 500
LOOK_S = 5.0
"""Seconds between looks for jobs of schedules and of servers that are gone."""
LEASE_PREFIX = "job-"
JOBS = "jobs"
"""Folder of the jobs in the folder of runs."""
LOOK = "look at what it had done, then start it again"

_log = structlog.get_logger(__name__)


class JobOutcome(Model):
    """How a job went that was carried out."""

    outcome: str
    error: str | None = None
    hint: str | None = None
    run_id: str | None = None
    model_use: ModelUse | None = None


class JobLeft(Exception):
    """The job ended because the server stops; `resumable`: the next server continues it."""

    def __init__(self, *, resumable: bool) -> None:
        self.resumable = resumable
        super().__init__("the server stops")


class JobCancelled(Exception):
    """The job ended because a person cancelled it."""


class JobWork(Protocol):
    """One job that is being carried out."""

    async def done(self) -> JobOutcome:
        """Carry it out. Raises `JobLeft`, `JobCancelled`, `UserError`, `StoreError`."""

    async def stop(self, *, leave: bool) -> None:
        """End it after its current step; `leave`: because the server stops, else because a person cancelled it."""


class JobPerformer(Protocol):
    """Carries out jobs of one kind."""

    resumable: bool
    """Whether a job that was killed is continued under the same run id."""

    def begin(self, job: StoredJob) -> JobWork:
        """Return the work of a job; nothing is done before `done` is awaited."""


class TooManyJobs(Exception):
    """The queue is full."""


@dataclass
class _Live:
    """A job that this server has taken; `work` is None until it has the lease."""

    job: StoredJob
    work: JobWork | None = None
    task: asyncio.Task[None] | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)


class JobRunner:
    """The runner of one server; an async context manager. `told` hears of every job that is over."""

    def __init__(
        self,
        runs: RunStore,
        performers: Mapping[str, JobPerformer],
        *,
        workers: int = 1,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        told: Callable[[StoredJob], Awaitable[None]] | None = None,
    ) -> None:
        self._runs, self._records, self._performers = runs, runs.service_records, performers
        self._workers, self._now, self._told = workers, now, told
        self._live: dict[str, _Live] = {}
        self._more, self._changed = asyncio.Event(), asyncio.Event()
        """There may be a job to begin; a job began or ended here."""
        self._loop: asyncio.Task[None] | None = None
        self._stopping = False
        self._adding = asyncio.Lock()
        """One job at a time is counted and added."""

    async def __aenter__(self) -> Self:
        self._loop = asyncio.create_task(self._work(), name="jobs")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = True
        self._more.set()
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop
        for live in list(self._live.values()):
            if live.work is not None:
                await live.work.stop(leave=True)
        for live in list(self._live.values()):
            if live.task is not None:
                await asyncio.wait([live.task])

    # -- for routes and pages

    async def submit(self, order: JobOrder, asked_by: str) -> StoredJob:
        """Store a job to be run now. Raises `TooManyJobs`, `StoreError`."""
        job = StoredJob(job_id=new_run_id(), order=order, asked_by=asked_by[:200], created_at=self._now())
        async with self._adding:
            waiting = await self._records.select(StoredJob, states=["waiting"], limit=MOST_WAITING)
            if len(waiting) >= MOST_WAITING:
                raise TooManyJobs(f"{MOST_WAITING} jobs wait already")
            await self._records.add(job)
        await record_async("job_submitted", f"{job.job_id} ({order.kind})", website=_website(order))
        self.wake()
        return job

    def wake(self) -> None:
        """Look for waiting jobs now."""
        self._more.set()

    async def cancel(self, job: StoredJob) -> StoredJob | None:
        """End a job: a waiting one at once, a running one of this server after its current step.

        Returns it as it is now; None if it is over, or another server runs it. Raises `StoreError`.
        """
        live = self._live.get(job.job_id)
        if live is not None and live.work is not None:
            await record_async("job_cancelled", job.job_id, website=_website(job.order))
            await live.work.stop(leave=False)
            return live.job
        if job.state != "waiting":
            return None
        ended = await self._end(job, "cancelled", error="cancelled before it began")
        if ended is not None:
            await record_async("job_cancelled", job.job_id, website=_website(job.order))
        return ended

    async def wait(self, job_id: str, most_s: float) -> None:
        """Return when a job of this server is over, or after so many seconds."""
        ends = asyncio.get_running_loop().time() + most_s
        while (left := ends - asyncio.get_running_loop().time()) > 0:
            live = self._live.get(job_id)
            if live is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(live.over.wait(), left)
                return
            job = await self._records.find(StoredJob, job_id)
            if job is None or job.over:
                return
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(left, LOOK_S))

    # -- implementation

    async def _work(self) -> None:
        while not self._stopping:
            self._more.clear()
            try:
                await self.take_up()
            except StoreError as exc:
                _log.warning("store_away", reason=str(exc))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), LOOK_S)

    async def take_up(self) -> None:
        """Begin waiting jobs while there are free workers, and decide about jobs of servers that are gone.

        Raises `StoreError`.
        """
        for job in await self._records.select(StoredJob, states=["running"], oldest_first=True):
            if job.job_id not in self._live and await self._is_free(job):
                await self._take_over(job)
        busy = {each.job.schedule_id for each in self._live.values()} - {None}
        for job in await self._records.select(StoredJob, states=["waiting"], oldest_first=True):
            if len(self._live) >= self._workers or self._stopping:
                return
            if job.job_id in self._live or job.schedule_id in busy:
                continue  # the jobs of a schedule run one after the other
            if await self._miss_if_late(job):
                continue
            live = self._live[job.job_id] = _Live(job)
            live.task = asyncio.create_task(self._carry_out(live), name=f"job {job.job_id}")
            busy |= {job.schedule_id} - {None}

    async def _is_free(self, job: StoredJob) -> bool:
        return await find_live_holder(self._runs.leases, LEASE_PREFIX + job.job_id) is None

    async def _take_over(self, job: StoredJob) -> None:
        """Decide about a job whose server was killed."""
        if not self._performers[job.order.kind].resumable:
            await self._end(job, "interrupted", error="the server ended while it ran", hint=LOOK)
        elif job.starts >= LIVES:
            await self._end(job, "failed", error=f"given up: the server ended {LIVES} times while it ran")
        else:
            await self._records.replace(job.model_copy(update={"state": "waiting"}))

    async def _miss_if_late(self, job: StoredJob) -> bool:
        """End a job that waited too long after its due time; return whether it did."""
        if job.due_at is None or job.starts or self._now() - job.due_at <= timedelta(seconds=job.lateness_s):
            return False
        error = f"it waited for more than {job.lateness_s:.0f} s after its due time"
        await self._end(job, "missed", error=error, hint="start it by hand", missed=1)
        return True

    async def _carry_out(self, live: _Live) -> None:
        job = live.job
        try:
            with acting_as(f"service for {job.asked_by}" if job.asked_by else "service"):
                await self._held(live)
        except RunLeaseConflict as exc:
            _log.info("job_elsewhere", job=job.job_id, reason=str(exc))
        except StoreError as exc:
            _log.warning(
                "job_left", job=job.job_id, reason=str(exc)
            )  # it still runs in the store: it is taken over
        finally:
            self._live.pop(job.job_id, None)
            live.over.set()
            self._changed.set()
            self._more.set()

    async def _held(self, live: _Live) -> None:
        """Begin the job while holding its lease, so that no other server takes it over, and store how it ended."""

        def lost() -> None:
            if live.work is not None:
                asyncio.ensure_future(live.work.stop(leave=True))  # noqa: RUF006 - the work is awaited below

        async with hold_run_lease(self._runs.leases, LEASE_PREFIX + live.job.job_id, on_lost=lost):
            performer = self._performers[live.job.order.kind]
            job = await self._records.replace(_begin(live.job, self._now(), has_run=performer.resumable))
            if job is None:  # another server was faster, or it was cancelled
                return
            live.job, live.work = job, performer.begin(job)
            _log.info("job_started", job=job.job_id, kind=job.order.kind)
            self._changed.set()
            try:
                done = await live.work.done()
            except JobCancelled:
                await self._end(job, "cancelled", error="cancelled")
            except JobLeft as left:
                if left.resumable:
                    update = {"state": "waiting", "starts": job.starts - 1}
                    await self._records.replace(job.model_copy(update=update))
                else:
                    await self._end(job, "interrupted", error="the server stopped while it ran", hint=LOOK)
            except UserError as exc:
                await self._end(job, "failed", error=exc.message, hint=exc.fix)
            except StoreError:
                raise
            except Exception as exc:  # noqa: BLE001 - the outermost boundary of a job: the server continues
                path = write_traceback(exc)
                _log.error("job_failed", job=job.job_id, error=type(exc).__name__, traceback=str(path))
                hint = "please report it; the service's log names the file with the details"
                await self._end(job, "failed", error=f"internal error: {type(exc).__name__}", hint=hint)
            else:
                await self._end(job, "ended", **dict(done))

    async def _end(self, job: StoredJob, state: JobState, **more: Any) -> StoredJob | None:
        """Store the end of a job, and tell it; None if another writer was faster."""
        ended = await self._records.replace(
            job.model_copy(update={"state": state, "finished_at": self._now(), **more})
        )
        self._changed.set()
        if ended is None:
            return None
        _log.info("job_finished", job=job.job_id, state=state, outcome=ended.outcome)
        if self._told is not None:
            await self._told(ended)
        return ended


def _begin(job: StoredJob, now: datetime, *, has_run: bool) -> StoredJob:
    """Return a job as it is stored when it begins; one that is resumed keeps its run."""
    update = {
        "state": "running",
        "started_at": job.started_at or now,
        "starts": job.starts + 1,
        "run_id": job.run_id or (new_run_id() if has_run else None),
        "folder": f"{JOBS}/{job.job_id}",
    }
    return job.model_copy(update=update)


def _website(order: JobOrder) -> str:
    return getattr(order, "website_id", "")
