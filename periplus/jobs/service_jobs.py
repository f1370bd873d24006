"""Opens the jobs of a service: the runner, the scheduler while this server holds its lease, and the webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from kb_schema.service_records import Schedule, SentenceOrder, StoredJob, TeachOrder
from kb_store.audit.audit_recorder import record_async
from kb_store.errors import StoreError
from kb_store.runs.run_leases import RunLeaseConflict
from kb_store.runs.run_store import RunStore
from kb_store.runs.service_record_store import ServiceRecordStore
from periplus.errors import UserError
from periplus.jobs.cron_times import check_cron
from periplus.jobs.job_checks import OrderChecker
from periplus.jobs.job_runner import JobPerformer, JobRunner
from periplus.jobs.job_scheduler import MOST_SCHEDULES, JobScheduler, hold_scheduler_lease
from periplus.jobs.webhook_delivery import WebhookSender
from periplus.runs.task_runs import new_run_id

TURN_S = 5.0
"""Seconds between two looks at due times, at most."""
SHORTEST_S = 0.2

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServiceJobs:
    """What routes and pages use."""

    records: ServiceRecordStore
    runner: JobRunner
    checker: OrderChecker
    webhooks: WebhookSender
    workers: int
    adding: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One schedule or webhook at a time is counted and added."""

    async def save_schedule(self, schedule: Schedule) -> None:
        """Store a new schedule. Raises `UserError` for a wrong expression or order, and `StoreError`."""
        check_cron(schedule.cron, schedule.zone)
        if isinstance(schedule.order, SentenceOrder):
            raise UserError(
                "a job in words cannot be scheduled: each time a model would do it anew",
                fix="teach it (an order of the kind `teach`, or `periplus run SENTENCE --teach 3`), and schedule the workflow that is published",
            )
        if isinstance(schedule.order, TeachOrder):
            raise UserError("teaching cannot be scheduled", fix="order it once: POST /api/jobs")
        await self.checker.check(schedule.order)
        async with self.adding:
            if len(await self.records.select(Schedule, limit=MOST_SCHEDULES)) >= MOST_SCHEDULES:
                raise UserError(f"there are {MOST_SCHEDULES} schedules already", fix="delete one")
            await self.records.add(schedule)
        await record_async("schedule_changed", f"{schedule.schedule_id} made ({schedule.name})")

    async def switch_schedule(self, schedule_id: str, *, active: bool) -> Schedule | None:
        """Pause or resume a schedule; due times while it is paused are not made up for. None if it is unknown."""
        while (found := await self.records.find(Schedule, schedule_id)) is not None:
            if found.active == active:
                return found
            update = {"active": active, **({"decided_until": datetime.now(UTC)} if active else {})}
            changed = await self.records.replace(Schedule.model_validate({**found.model_dump(), **update}))
            if changed is not None:
                await record_async("schedule_changed", f"{schedule_id} {'resumed' if active else 'paused'}")
                return changed
        return None

    async def delete_schedule(self, schedule_id: str) -> bool:
        """Delete a schedule and its waiting jobs; False if it is unknown."""
        if not await self.records.delete(Schedule, schedule_id):
            return False
        for job in await self.records.select(StoredJob, states=["waiting"], group=schedule_id):
            await self.runner.cancel(job)
        await record_async("schedule_changed", f"{schedule_id} deleted")
        return True


def new_schedule_id() -> str:
    """Return a new id."""
    return f"schedule-{new_run_id()}"


@asynccontextmanager
async def open_service_jobs(
    runs: RunStore,
    checker: OrderChecker,
    performers: Mapping[str, JobPerformer],
    webhooks: WebhookSender,
    *,
    workers: int = 1,
) -> AsyncIterator[ServiceJobs]:
    """Open them; running jobs end with the block, and go on with the next server if they can be resumed."""
    runner = JobRunner(runs, performers, workers=workers, told=webhooks.tell)
    async with runner:
        tasks = [
            asyncio.create_task(_schedule_jobs(runs, runner), name="schedules"),
            asyncio.create_task(webhooks.keep_sending(), name="webhooks"),
        ]
        try:
            yield ServiceJobs(runs.service_records, runner, checker, webhooks, workers)
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task


async def _schedule_jobs(runs: RunStore, runner: JobRunner) -> None:
    """Be the scheduler whenever no other server is, until cancelled."""
    while True:
        try:
            await _schedule_while_held(runs, runner)
        except RunLeaseConflict:
            pass  # another server schedules
        except StoreError as exc:
            _log.warning("store_away", reason=str(exc))
        await asyncio.sleep(TURN_S)


async def _schedule_while_held(runs: RunStore, runner: JobRunner) -> None:
    lost = asyncio.Event()
    scheduler = JobScheduler(runs)
    async with hold_scheduler_lease(runs, lost.set):
        _log.info("schedules_followed")
        while not lost.is_set():
            upcoming = await scheduler.decide_due_times()
            runner.wake()
            wait = TURN_S
            if upcoming is not None:
                wait = min(TURN_S, max(SHORTEST_S, (upcoming - datetime.now(UTC)).total_seconds()))
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), wait)
