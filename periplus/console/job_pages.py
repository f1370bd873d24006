"""The pages about jobs: `/jobs` with what goes on and the schedules, and a job that can be watched."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import RedirectResponse, Response

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.service_records import OPEN_STATES, JobOrder, Schedule, StoredJob, VerificationOrder
from periplus.console.console_framework import (
    ConsoleContext,
    ConsoleContextParam,
    get_person,
    render,
    require_role,
)
from periplus.console.job_orders import (
    OrderForm,
    describe_for_people,
    read_order,
    read_schedule,
    require_jobs,
)
from periplus.console.run_labels import DisplayedMoment, format_when
from periplus.console.run_pages import load_knowledge, today_utc
from periplus.console.template_filters import format_duration
from periplus.errors import UserError
from periplus.jobs.cron_times import describe_cron, find_next_time
from periplus.jobs.job_performers import OUTPUT, read_tail
from periplus.jobs.job_runner import JOBS
from periplus.jobs.job_scheduler import MOST_FOLLOWED
from periplus.service.job_routes import RECORD_ID, end_job, find_job, save_schedule, submit_order
from periplus.service.problem_details import ApiProblem

MOST_PAST = 30
OF_A_SCHEDULE = 10
OUTPUT_SHOWN = 20_000
"""Bytes of a command's output that a page shows."""
STATES = {
    "waiting": ("busy", "waiting"),
    "running": ("busy", "running"),
    "failed": ("bad", "could not run"),
    "cancelled": ("idle", "cancelled"),
    "missed": ("warn", "missed"),
    "interrupted": ("warn", "interrupted"),
}
"""State of a job that did not end by itself -> kind and text of its mark."""
OUTCOMES = {
    "success": ("good", "worked"),
    "unverified": ("warn", "done, not verified"),
    "partial": ("warn", "partly succeeded"),
    "degraded": ("warn", "partly succeeded"),
    "failure": ("bad", "failed"),
    "needs_person": ("warn", "needs a person"),
}
"""Outcome of a job that ended -> kind and text of its mark."""

router = APIRouter()
_MAY = [Depends(require_role("operate"))]
JobId = Annotated[str, Path(pattern=RECORD_ID)]


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as pages show it."""

    job_id: str
    said: str
    site: str
    kind: str
    mark: str
    words: str
    at: DisplayedMoment
    took: str
    error: str
    hint: str
    run_id: str
    asked_by: str
    schedule_id: str
    missed: int
    open: bool


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule as pages show it."""

    schedule_id: str
    name: str
    said: str
    when: str
    cron: str
    zone: str
    active: bool
    next_at: DisplayedMoment | None
    last: JobRow | None


@router.get("/jobs")
async def jobs_page(request: Request, parts: ConsoleContextParam) -> Response:
    """Show what goes on, the schedules, and the last jobs."""
    jobs = require_jobs(parts.jobs)
    going_on = await jobs.records.select(StoredJob, states=OPEN_STATES, oldest_first=True)
    newest = await jobs.records.select(StoredJob, limit=MOST_PAST)
    schedules = await jobs.records.select(Schedule, limit=MOST_FOLLOWED)
    orders = [*(each.order for each in (*going_on, *newest)), *(each.order for each in schedules)]
    names = await _knowledge(parts, orders)
    return render(
        request,
        "jobs.html.j2",
        going_on=[build_job_row(each, names) for each in going_on],
        past=[build_job_row(each, names) for each in newest if each.over],
        schedules=[await _schedule_row(parts, each, names) for each in schedules],
        files=await asyncio.to_thread(jobs.checker.list_files),
        folder=jobs.checker.files,
        sites=await _list_sites(parts),
        may=get_person(request).may("operate"),
    )


@router.post("/jobs", dependencies=_MAY)
async def begin(request: Request, parts: ConsoleContextParam, form: OrderForm) -> Response:
    """Order a job now, or make a schedule (`then=schedule`)."""
    jobs, asker = require_jobs(parts.jobs), get_person(request).name
    if form.get("then") == "schedule":
        await save_schedule(jobs, read_schedule(form), asker)
        return RedirectResponse("/jobs#schedules", 303)
    job = await submit_order(jobs, read_order(form), asker)
    return RedirectResponse(f"/jobs/{job.job_id}", 303)


@router.get("/jobs/{job_id}")
async def job_page(request: Request, parts: ConsoleContextParam, job_id: JobId) -> Response:
    """Show a job; the page is loaded again while it goes on."""
    jobs = require_jobs(parts.jobs)
    job = await find_job(jobs, job_id)
    folder = parts.folder / JOBS / job_id
    row = build_job_row(job, await _knowledge(parts, [job.order]))
    run = await parts.runs.run(row.run_id) if row.run_id else None
    steps = await parts.runs.step_counts([row.run_id]) if run is not None else {}
    return render(
        request,
        "job.html.j2",
        job=row,
        has_run=run is not None,
        model_use=job.model_use,
        steps=steps.get(row.run_id, 0),
        output=await asyncio.to_thread(read_tail, folder / OUTPUT, OUTPUT_SHOWN),
        report=await asyncio.to_thread(
            lambda: any(folder.rglob("report.html")) if folder.is_dir() else False
        ),
        values=sorted(getattr(job.order, "values", {}).items()),
        may_cancel=row.open and get_person(request).may("operate"),
        may_repeat=not row.open and get_person(request).may("operate"),
        schedule=await jobs.records.find(Schedule, row.schedule_id) if row.schedule_id else None,
        every=2 if row.open else None,
    )


@router.post("/jobs/{job_id}/cancel", dependencies=_MAY)
async def cancel(parts: ConsoleContextParam, job_id: JobId) -> Response:
    """Cancel a job."""
    await end_job(require_jobs(parts.jobs), job_id)
    return RedirectResponse(f"/jobs/{job_id}", 303)


@router.post("/jobs/{job_id}/repeat", dependencies=_MAY)
async def repeat(request: Request, parts: ConsoleContextParam, job_id: JobId) -> Response:
    """Order the same job again."""
    jobs = require_jobs(parts.jobs)
    job = await submit_order(jobs, (await find_job(jobs, job_id)).order, get_person(request).name)
    return RedirectResponse(f"/jobs/{job.job_id}", 303)


@router.post("/schedules/{schedule_id}/{what}", dependencies=_MAY)
async def change_schedule(
    parts: ConsoleContextParam,
    schedule_id: JobId,
    what: Annotated[str, Path(pattern="^(pause|resume|delete)$")],
) -> Response:
    """Pause, resume or delete a schedule."""
    jobs = require_jobs(parts.jobs)
    if what == "delete":
        found: object = await jobs.delete_schedule(schedule_id)
    else:
        found = await jobs.switch_schedule(schedule_id, active=what == "resume")
    if not found:
        raise ApiProblem(404, "not_found", f"no schedule {schedule_id!r}", fix="choose one from the list")
    return RedirectResponse("/jobs#schedules", 303)


# -- rows ------------------------------------------------------------------------------------------


def build_job_row(job: StoredJob, names: dict[str, KnowledgeBase | None]) -> JobRow:
    """Return a job as pages show it."""
    site = "" if isinstance(job.order, VerificationOrder) else job.order.website_id
    kind, words = STATES.get(job.state) or OUTCOMES.get(job.outcome or "", ("idle", job.outcome or "ended"))
    took = None
    if job.started_at is not None:
        took = ((job.finished_at or datetime.now(UTC)) - job.started_at).total_seconds() * 1_000
    return JobRow(
        job_id=job.job_id,
        said=describe_for_people(job.order, names.get(site)),
        site=site,
        kind=job.order.kind,
        mark=kind,
        words=words,
        at=format_when(job.started_at or job.due_at or job.created_at, today_utc()),
        took=format_duration(took),
        error=job.error or "",
        hint=job.hint or "",
        run_id=job.run_id or "",
        asked_by=job.asked_by,
        schedule_id=job.schedule_id or "",
        missed=job.missed,
        open=not job.over,
    )


async def _schedule_row(
    parts: ConsoleContext, schedule: Schedule, names: dict[str, KnowledgeBase | None]
) -> ScheduleRow:
    jobs = require_jobs(parts.jobs)
    last = await jobs.records.select(StoredJob, group=schedule.schedule_id, limit=1)
    try:
        upcoming = find_next_time(schedule.cron, schedule.zone, datetime.now(UTC))
        when = describe_cron(schedule.cron)
    except UserError as exc:  # a zone that this machine does not know
        upcoming, when = None, exc.message
    site = "" if isinstance(schedule.order, VerificationOrder) else schedule.order.website_id
    return ScheduleRow(
        schedule_id=schedule.schedule_id,
        name=schedule.name,
        said=describe_for_people(schedule.order, names.get(site)),
        when=when,
        cron=schedule.cron,
        zone=schedule.zone,
        active=schedule.active,
        next_at=None if upcoming is None or not schedule.active else format_when(upcoming, today_utc()),
        last=build_job_row(last[0], names) if last else None,
    )


async def _knowledge(parts: ConsoleContext, orders: Sequence[JobOrder]) -> dict[str, KnowledgeBase | None]:
    sites = {each.website_id for each in orders if not isinstance(each, VerificationOrder)}
    return {site: await load_knowledge(parts, site) for site in sites}


async def _list_sites(parts: ConsoleContext) -> list[tuple[str, str, str]]:
    """Return id, name and address of the websites."""
    return [
        (each.website_id, each.name or each.website_id, each.base_url)
        for each in await require_jobs(parts.jobs).checker.websites()
    ]
