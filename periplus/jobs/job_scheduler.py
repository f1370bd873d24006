"""The scheduler: makes a job at each due time of each schedule, once, and tells the due times that were missed.

A job's id is made of its schedule and its due time, and the store accepts an id once: a scheduler that is killed at any point
and started again makes no second job. One scheduler works at a time; it holds a lease. Not here: who runs the jobs
(`job_runner`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

import structlog

from kb_schema.service_records import Schedule, StoredJob
from kb_store.runs.run_leases import hold_run_lease
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.jobs.cron_times import find_next_time, iterate_times

SCHEDULER_LEASE = "scheduler"
LEASE_S = 30.0
MOST_SCHEDULES = 200
"""That can be made."""
MOST_FOLLOWED = 1_000
"""That are followed and listed: earlier versions allowed so many."""
MOST_DUE = 10_000
"""Due times of one schedule that are looked at in one turn; the rest comes with the next turn."""
MOST_TOLD_APART = 20
"""Missed due times of one schedule that get a record each; earlier ones share one."""
TOO_LATE = "no server was running within {late:.0f} s of the due time"

_log = structlog.get_logger(__name__)


def hold_scheduler_lease(
    runs: RunStore, on_lost: Callable[[], object], *, ttl: float = LEASE_S
) -> AbstractAsyncContextManager[object]:
    """Hold the lease of the scheduler inside the block. Raises `RunLeaseConflict` while another server has it."""
    return hold_run_lease(runs.leases, SCHEDULER_LEASE, on_lost=on_lost, ttl=ttl)


class JobScheduler:
    """Decides due times. `now` gives the time."""

    def __init__(self, runs: RunStore, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._records, self._now = runs.service_records, now

    async def decide_due_times(self) -> datetime | None:
        """Make the jobs of all due times until now; return the next due time. Raises `StoreError`."""
        nexts = []
        for schedule in await self._records.select(Schedule, states=["active"], limit=MOST_FOLLOWED):
            try:
                nexts.append(await self._decide(schedule))
            except UserError as exc:  # a zone that this machine does not know
                _log.warning("schedule_not_decided", schedule=schedule.schedule_id, reason=exc.message)
        return min((each for each in nexts if each is not None), default=None)

    async def _decide(self, schedule: Schedule) -> datetime | None:
        now = self._now()
        times = iterate_times(schedule.cron, schedule.zone, schedule.decided_until)
        due = list(itertools.islice(itertools.takewhile(lambda each: each <= now, times), MOST_DUE))
        if not due:
            return find_next_time(schedule.cron, schedule.zone, now)
        late = timedelta(seconds=schedule.lateness_s)
        missed = [each for each in due if now - each > late]
        shared = missed[:-MOST_TOLD_APART]
        decided = due[-1]
        if shared:
            job = _build_missed(schedule, shared[0], shared[-1], len(shared), now)
            if not await self._records.add(job):
                # Told by a scheduler that was killed afterwards, perhaps when fewer had been missed.
                told = await self._records.find(StoredJob, job.job_id)
                last = told.due_at if told is not None and told.due_at is not None else shared[-1]
                missed = [each for each in missed if each > last]
                shared = []
        for each in missed[len(shared) :]:
            await self._records.add(_build_missed(schedule, each, each, 1, now))
        for each in due:
            if now - each <= late:
                await self._records.add(_build_due(schedule, each, now))
        await self._records.replace(schedule.model_copy(update={"decided_until": decided}))
        if missed:
            _log.warning("due_times_missed", schedule=schedule.schedule_id, missed=len(missed))
        return find_next_time(schedule.cron, schedule.zone, now)


def build_scheduled_job_id(schedule_id: str, due: datetime) -> str:
    """Return the id of the job of a due time."""
    return f"{schedule_id}-{due.astimezone(UTC):%Y%m%dT%H%M}"


def _build_due(schedule: Schedule, due: datetime, now: datetime) -> StoredJob:
    return StoredJob(
        job_id=build_scheduled_job_id(schedule.schedule_id, due),
        order=schedule.order,
        asked_by=f"schedule {schedule.name}"[:200],
        created_at=now,
        due_at=due,
        schedule_id=schedule.schedule_id,
        lateness_s=schedule.lateness_s,
    )


def _build_missed(schedule: Schedule, first: datetime, last: datetime, many: int, now: datetime) -> StoredJob:
    job = _build_due(schedule, last, now)
    return job.model_copy(
        update={
            "job_id": build_scheduled_job_id(schedule.schedule_id, first),
            "state": "missed",
            "missed": many,
            "finished_at": now,
            "error": TOO_LATE.format(late=schedule.lateness_s),
            "hint": "keep `periplus serve` running, or start a job by hand",
        }
    )
