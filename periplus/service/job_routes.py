"""REST routes of jobs and schedules: run a task, a verification, a map or a demo now, or by a cron expression."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query, Request, Response
from fastapi import Path as InPath
from fastapi.openapi.models import Example
from fastapi.responses import PlainTextResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from kb_schema.model_use import ModelUse
from kb_schema.service_records import (
    USUAL_LATENESS_S,
    JobOrder,
    JobState,
    Schedule,
    StoredJob,
    describe_order,
)
from periplus.jobs.cron_times import describe_cron, find_next_time
from periplus.jobs.job_performers import OUTPUT, read_tail
from periplus.jobs.job_runner import JOBS, TooManyJobs
from periplus.jobs.job_scheduler import MOST_FOLLOWED
from periplus.jobs.service_jobs import ServiceJobs, new_schedule_id
from periplus.secret_names import find_secret_name
from periplus.service.operation_links import document_links
from periplus.service.problem_details import ApiProblem, document_problems
from periplus.service.refusals import translate_refusals

MOST_LISTED, MOST_WAIT_S = 200, 60
OUTPUT_BYTES = 200_000
"""The end of a command's output that is returned."""
RECORD_ID = r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,199}$"

router = APIRouter()

_EXAMPLES: dict[str, Example] = {
    "task": {
        "summary": "run a task or a workflow",
        "value": {
            "kind": "task",
            "website_id": "shop",
            "task_id": "add_product",
            "values": {"name": "Lamp"},
        },
    },
    "verification": {
        "summary": "verify requirements in the folder of files",
        "value": {"kind": "verification", "files": ["login.csv"], "base_url": "https://shop.example.com"},
    },
    "map": {
        "summary": "tell what has changed on a website",
        "value": {"kind": "map", "website_id": "shop", "update": True},
    },
    "demo": {
        "summary": "rehearse a demo",
        "value": {"kind": "demo", "website_id": "shop", "flow_id": "tour", "rehearse": True},
    },
}


class JobView(BaseModel):
    """A job."""

    job_id: str
    order: JobOrder
    description: str
    state: JobState = Field(
        description="`ended`: carried out, see `outcome`. `failed`: it could not be. `missed`: no server was there in time."
    )
    outcome: str | None = Field(description="A task's status, or `success`, `partial` or `failure`.")
    error: str | None
    hint: str | None = Field(description="What to do about it.")
    run_id: str | None = Field(description="For /api/runs and the console, once there is a run.")
    model_use: ModelUse | None = Field(
        description="Calls of a language model, tokens and list price of a task or a job in words; 0 calls are the usual."
    )
    folder: str | None = Field(description="Relative to the server's folder of runs.")
    asked_by: str
    created_at: AwareDatetime
    due_at: AwareDatetime | None
    schedule_id: str | None
    missed: int = Field(description="The number of due times that a missed job stands for.")
    started_at: AwareDatetime | None
    finished_at: AwareDatetime | None


class JobList(BaseModel):
    """Jobs, the latest first."""

    jobs: list[JobView]


class ScheduleRequest(BaseModel):
    """A schedule to make."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "Smoke test before work",
                    "cron": "0 6 * * 1-5",
                    "zone": "Europe/Berlin",
                    "order": {"kind": "verification", "files": ["login.csv"]},
                }
            ]
        },
    )

    name: str = Field(min_length=1, max_length=200)
    cron: str = Field(
        min_length=9,
        max_length=200,
        description="Five fields: minute, hour, day of month, month, day of week.",
    )
    zone: str = Field(default="UTC", max_length=60, description="A name of the IANA time zone database.")
    order: JobOrder
    lateness_s: float = Field(
        default=USUAL_LATENESS_S,
        ge=0,
        le=86_400,
        description="Seconds after a due time for which its job may still begin; then it is `missed`.",
    )


class ScheduleView(BaseModel):
    """A schedule."""

    schedule_id: str
    name: str
    cron: str
    zone: str
    description: str
    order: JobOrder
    active: bool
    next_at: AwareDatetime | None = Field(description="The next due time; null while it is paused.")
    lateness_s: float
    created_at: AwareDatetime
    created_by: str


class ScheduleList(BaseModel):
    """Schedules, the latest first."""

    schedules: list[ScheduleView]


def get_service_jobs(request: Request) -> ServiceJobs:
    """Return the jobs of the app. Raises `ApiProblem` if this service runs none."""
    found: ServiceJobs | None = request.app.state.jobs
    if found is None:
        raise ApiProblem(404, "not_found", "this service runs no jobs", fix="use `periplus serve`")
    return found


def name_asker(request: Request) -> str:
    """Return the name of the client or person who makes a request."""
    person = request.scope.get("state", {}).get("person")
    return "this machine" if person is None else str(person.name)


Jobs = Annotated[ServiceJobs, Depends(get_service_jobs)]
JobId = Annotated[str, InPath(pattern=RECORD_ID, description="As `POST /api/jobs` returned it.")]
ScheduleId = Annotated[str, InPath(pattern=RECORD_ID, description="As `POST /api/schedules` returned it.")]


@router.post(
    "/jobs",
    status_code=202,
    response_model=JobView,
    summary="Run a task, a verification, a map or a demo",
    tags=["jobs"],
    responses={
        202: document_links("job_id", "get_job", "get_job_output", "cancel_job"),
        **document_problems(401, 403, 404, 413, 422, 429, 503),
    },
)
async def begin_job(
    request: Request,
    response: Response,
    jobs: Jobs,
    order: Annotated[JobOrder, Body(openapi_examples=_EXAMPLES)],
) -> JobView:
    """The job is stored when this answers, and runs in its turn, whatever happens to the connection."""
    job = await submit_order(jobs, order, name_asker(request))
    response.headers["Location"] = f"/api/jobs/{job.job_id}"
    return job_view(job)


@router.get(
    "/jobs",
    response_model=JobList,
    summary="List jobs",
    tags=["jobs"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def list_jobs(
    jobs: Jobs,
    schedule_id: Annotated[str | None, Query(pattern=RECORD_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 50,
) -> JobList:
    """The latest first; with `schedule_id`, those of one schedule."""
    found = await jobs.records.select(StoredJob, group=schedule_id, limit=limit)
    return JobList(jobs=[job_view(each) for each in found])


@router.get(
    "/jobs/{job_id}",
    response_model=JobView,
    summary="Get a job",
    tags=["jobs"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def get_job(
    job_id: JobId,
    jobs: Jobs,
    wait: Annotated[
        float, Query(ge=0, le=MOST_WAIT_S, description="Seconds to wait for the end of the job.")
    ] = 0,
) -> JobView:
    """With `wait`, as soon as it is over."""
    if wait:
        await jobs.runner.wait(job_id, wait)
    return job_view(await find_job(jobs, job_id))


@router.get(
    "/jobs/{job_id}/output",
    response_class=PlainTextResponse,
    summary="Get what the command of a job printed",
    tags=["jobs"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def get_job_output(request: Request, job_id: JobId, jobs: Jobs) -> Response:
    """The last 200 kB. Empty for a task, which is not a command: its steps are those of its run."""
    await find_job(jobs, job_id)
    folder = request.app.state.run_routes.folder
    text = await asyncio.to_thread(read_tail, folder / JOBS / job_id / OUTPUT, OUTPUT_BYTES)
    return PlainTextResponse(text)


@router.post(
    "/jobs/{job_id}/cancel",
    response_model=JobView,
    summary="Cancel a job",
    tags=["jobs"],
    responses=document_problems(401, 403, 404, 409, 422, 429, 503),
)
async def cancel_job(job_id: JobId, jobs: Jobs) -> JobView:
    """A waiting job is cancelled at once; a running one ends after its current step."""
    return job_view(await end_job(jobs, job_id))


@router.post(
    "/schedules",
    status_code=201,
    response_model=ScheduleView,
    summary="Make a schedule",
    tags=["schedules"],
    responses={
        201: document_links(
            "schedule_id", "get_schedule", "pause_schedule", "resume_schedule", "delete_schedule"
        ),
        **document_problems(401, 403, 404, 413, 422, 429, 503),
    },
)
async def make_schedule(
    request: Request, response: Response, body: ScheduleRequest, jobs: Jobs
) -> ScheduleView:
    """Each due time has exactly one job; one that no server was there for is `missed`, and webhooks are told."""
    schedule = await save_schedule(jobs, body, name_asker(request))
    response.headers["Location"] = f"/api/schedules/{schedule.schedule_id}"
    return schedule_view(schedule)


@router.get(
    "/schedules",
    response_model=ScheduleList,
    summary="List schedules",
    tags=["schedules"],
    responses=document_problems(401, 404, 429, 503),
)
async def list_schedules(jobs: Jobs) -> ScheduleList:
    """The latest first."""
    found = await jobs.records.select(Schedule, limit=MOST_FOLLOWED)
    return ScheduleList(schedules=[schedule_view(each) for each in found])


@router.get(
    "/schedules/{schedule_id}",
    response_model=ScheduleView,
    summary="Get a schedule",
    tags=["schedules"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def get_schedule(schedule_id: ScheduleId, jobs: Jobs) -> ScheduleView:
    """Its jobs are at `/api/jobs?schedule_id=ID`."""
    return schedule_view(_known(schedule_id, await jobs.records.find(Schedule, schedule_id)))


@router.post(
    "/schedules/{schedule_id}/pause",
    response_model=ScheduleView,
    summary="Pause a schedule",
    tags=["schedules"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def pause_schedule(schedule_id: ScheduleId, jobs: Jobs) -> ScheduleView:
    """Due times of a paused schedule have no job, and are not missed."""
    return schedule_view(_known(schedule_id, await jobs.switch_schedule(schedule_id, active=False)))


@router.post(
    "/schedules/{schedule_id}/resume",
    response_model=ScheduleView,
    summary="Resume a schedule",
    tags=["schedules"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def resume_schedule(schedule_id: ScheduleId, jobs: Jobs) -> ScheduleView:
    """It is due again from now on."""
    return schedule_view(_known(schedule_id, await jobs.switch_schedule(schedule_id, active=True)))


@router.delete(
    "/schedules/{schedule_id}",
    status_code=204,
    summary="Delete a schedule",
    tags=["schedules"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def delete_schedule(schedule_id: ScheduleId, jobs: Jobs) -> None:
    """Its waiting jobs are cancelled; a running one goes on."""
    if not await jobs.delete_schedule(schedule_id):
        _known(schedule_id, None)


# -- for the console, too --------------------------------------------------------------------------


async def submit_order(jobs: ServiceJobs, order: JobOrder, asked_by: str) -> StoredJob:
    """Check an order and store its job. Raises `ApiProblem`, `StoreError`."""
    refuse_secret_names(order)
    with translate_refusals():
        await jobs.checker.check(order)
    try:
        return await jobs.runner.submit(order, asked_by)
    except TooManyJobs as exc:
        raise ApiProblem(429, "rate_limited", str(exc), fix="wait for some to end, or cancel them") from exc


async def save_schedule(jobs: ServiceJobs, body: ScheduleRequest, asked_by: str) -> Schedule:
    """Check and store a schedule. Raises `ApiProblem`, `StoreError`."""
    refuse_secret_names(body)
    now = datetime.now(UTC)
    schedule = Schedule(
        schedule_id=new_schedule_id(),
        created_at=now,
        created_by=asked_by[:200],
        decided_until=now,
        **body.model_dump(),
    )
    with translate_refusals():
        await jobs.save_schedule(schedule)
    return schedule


def refuse_secret_names(body: BaseModel) -> None:
    """Raise `ApiProblem` for a `{secret:NAME}` anywhere in a body."""
    wrong = find_secret_name(body.model_dump(mode="json"), "$")
    if wrong is not None:
        fix = "leave it out: secrets are found on the server (PERIPLUS_SECRET_NAME)"
        raise ApiProblem(422, "invalid_request", wrong, fix=fix)


async def find_job(jobs: ServiceJobs, job_id: str) -> StoredJob:
    """Return a job. Raises `ApiProblem` (404), `StoreError`."""
    job = await jobs.records.find(StoredJob, job_id)
    if job is None:
        raise ApiProblem(404, "not_found", f"no job {job_id!r}", fix="GET /api/jobs lists all jobs")
    return job


async def end_job(jobs: ServiceJobs, job_id: str) -> StoredJob:
    """Cancel a job and return it. Raises `ApiProblem`, `StoreError`."""
    job = await find_job(jobs, job_id)
    cancelled = await jobs.runner.cancel(job)
    if cancelled is not None:
        return cancelled
    if job.over:
        raise ApiProblem(409, "already_over", f"job {job_id!r} is over: {job.state}", fix="nothing to do")
    fix = "cancel it there, or try again in a moment"
    raise ApiProblem(
        409, "runs_elsewhere", f"job {job_id!r} is run by another server, or just begins", fix=fix
    )


def job_view(job: StoredJob) -> JobView:
    """Return a job as clients see it."""
    return JobView(
        description=describe_order(job.order),
        **{name: getattr(job, name) for name in JobView.model_fields if name != "description"},
    )


def schedule_view(schedule: Schedule) -> ScheduleView:
    """Return a schedule as clients see it."""
    upcoming = None
    if schedule.active:
        with translate_refusals():
            upcoming = find_next_time(schedule.cron, schedule.zone, datetime.now(UTC))
    own = {name: getattr(schedule, name) for name in ScheduleView.model_fields if hasattr(schedule, name)}
    said = f"{describe_cron(schedule.cron)} ({schedule.zone}): {describe_order(schedule.order)}"
    return ScheduleView(description=said, next_at=upcoming, **own)


def _known(schedule_id: str, found: Schedule | None) -> Schedule:
    if found is None:
        fix = "GET /api/schedules lists all schedules"
        raise ApiProblem(404, "not_found", f"no schedule {schedule_id!r}", fix=fix)
    return found
