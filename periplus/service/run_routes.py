"""REST routes of runs: submit, list, follow and cancel them (PACTS 10.1), and read their artifacts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import FileResponse, StreamingResponse
from fastapi.sse import format_sse_event

from kb_schema.locator_expressions import to_source
from kb_schema.run_records import Artifact, StoredRun
from kb_schema.verification import OfferedElement, VerificationSummary
from kb_store.audit.audit_recorder import record_async
from kb_store.runs.run_store import RunStore
from periplus.service.offered_elements import OfferedElements
from periplus.service.operation_links import document_links
from periplus.service.problem_details import ApiProblem, document_problems
from periplus.service.requirement_requests import ClientPermissions, build_requirement
from periplus.service.rest_models import (
    REQ_ID,
    RUN_ID,
    AcceptedElement,
    AcceptedRun,
    AcceptRequest,
    ArtifactList,
    ArtifactView,
    CancelledRun,
    OfferView,
    RcaView,
    RunList,
    RunRequest,
    RunView,
    StepList,
    StepView,
    SummaryView,
)
from periplus.service.run_event_log import FINISHED, follow_run_events, progress_stream_name
from periplus.service.run_queue import RunQueue
from periplus.service.submission_records import read_submission_end, resolve_inside

MOST_SEQ = 2**31 - 1

_SSE = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["event", "data"],
}
"""The schema of one event in the OpenAPI document."""


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


@dataclass(frozen=True, slots=True)
class RunRoutesContext:
    """The stores and services that the routes use."""

    runs: RunStore
    queue: RunQueue
    folder: Path
    """The folder of runs; artifacts outside of it are not served."""
    lending: ClientPermissions
    offers: OfferedElements


def get_run_routes_context(request: Request) -> RunRoutesContext:
    """Return the context of the app."""
    context: RunRoutesContext = request.app.state.run_routes
    return context


_ABOUT_IT = ("get_run", "get_steps", "get_events", "cancel", "list_artifacts")

router = APIRouter()
RunRoutesContextParam = Annotated[RunRoutesContext, Depends(get_run_routes_context)]
ReqId = Annotated[
    str,
    InPath(
        pattern=REQ_ID,
        description="The requirement's id; selects its newest run.",
        examples=["REQ-LOGIN-001"],
    ),
]
OfRun = Annotated[
    str | None, Query(pattern=RUN_ID, description="The id of an earlier run of the requirement.")
]


@router.post(
    "/run",
    status_code=202,
    response_model=AcceptedRun,
    summary="Verify a requirement",
    tags=["runs"],
    responses={
        202: {
            "headers": {"Location": {"description": "The run's address.", "schema": {"type": "string"}}},
            **document_links(("req_id", "run_id"), *_ABOUT_IT),
        },
        **document_problems(401, 403, 409, 413, 422, 429, 503),
    },
)
async def submit(body: RunRequest, context: RunRoutesContextParam, response: Response) -> AcceptedRun:
    """Stores the run; it is executed even if the client disconnects.

    Runs are executed in the order of submission. A requirement that is already queued or running is refused
    (409); one that has ended can be verified again.
    """
    kept = await context.queue.submit(await build_requirement(body, context.lending))
    response.headers["Location"] = f"/api/runs/{body.req_id}"
    return AcceptedRun(
        req_id=body.req_id,
        status="running" if kept.begins else "queued",
        message="PACTS execution started" if kept.begins else f"queued: {kept.before} before it",
        run_id=kept.run_id,
        before=kept.before,
    )


@router.get(
    "/runs",
    response_model=RunList,
    summary="List runs",
    tags=["runs"],
    responses=document_problems(401, 422, 429, 503),
)
async def list_runs(
    context: RunRoutesContextParam,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Maximum number of runs.")] = 100,
    req_id: Annotated[str | None, Query(pattern=REQ_ID, description="Only runs of this requirement.")] = None,
) -> RunList:
    """Newest first."""
    return RunList(runs=await list_verifications(context, limit=limit, req_id=req_id))


@router.get(
    "/runs/{req_id}",
    response_model=RunView,
    summary="Get a run's progress and verdict",
    tags=["runs"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def get_run(req_id: ReqId, context: RunRoutesContextParam, run_id: OfRun = None) -> RunView:
    """The requirement's newest run, or the one with `run_id`."""
    run = await _find_run(context, req_id, run_id)
    view = await _view(context, run)
    offered = _read_offer(run)
    if offered is None:
        return view
    picture = f"/api/runs/{req_id}/offered/picture?run_id={run.run_id}" if offered.screenshot else None
    told = OfferView(
        step=offered.step_idx + 1,
        element=offered.element,
        candidate=offered.description,
        selector=to_source(offered.expression) if offered.expression else None,
        likeness=offered.likeness,
        support=offered.support,
        against=offered.against,
        picture=picture,
        open=await context.offers.is_open(offered),
    )
    return view.model_copy(update={"offered": told})


@router.get(
    "/runs/{req_id}/offered/picture",
    summary="Get a picture of the offered element",
    tags=["runs"],
    response_class=FileResponse,
    responses={
        200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}},
        **document_problems(401, 404, 422, 429, 503),
    },
)
async def get_offered_picture(
    req_id: ReqId, context: RunRoutesContextParam, run_id: OfRun = None
) -> FileResponse:
    """The candidate of a run with `healing_declined`, and what is around it; secrets are covered."""
    run = await _find_run(context, req_id, run_id)
    offered = _read_offer(run)
    named = offered.screenshot if offered else None
    path = resolve_inside(context.folder / run.run_id, named) if named else None
    if path is None:
        raise ApiProblem(404, "not_found", "the run has no picture of an offered element, or it was deleted")
    await record_async("artifact_opened", f"offered element of run {run.run_id}", website=run.website_id)
    return FileResponse(path, media_type="image/jpeg", headers={"Content-Security-Policy": "sandbox"})


@router.post(
    "/runs/{req_id}/accept",
    response_model=AcceptedElement,
    summary="Accept the offered element of a run",
    tags=["runs"],
    responses=document_problems(401, 403, 404, 409, 422, 429, 503),
)
async def accept(
    body: AcceptRequest, req_id: ReqId, context: RunRoutesContextParam, run_id: OfRun = None
) -> AcceptedElement:
    """Later runs use the element that a run with `healing_declined` offered for a step. Verify the requirement again."""
    run = await _find_run(context, req_id, run_id)
    offered = _read_offer(run)
    if offered is None or offered.step_idx != body.step - 1:
        fix = "only a run with rca.class healing_declined offers one"
        if offered is not None:
            fix = f"its step {offered.step_idx + 1} has an offer"
        raise ApiProblem(
            409, "not_offered", f"run {run.run_id!r} offers nothing for step {body.step}", fix=fix
        )
    await context.offers.accept(offered)
    return AcceptedElement(
        req_id=req_id,
        run_id=run.run_id,
        step=body.step,
        element=offered.element,
        candidate=offered.description,
    )


@router.get(
    "/runs/{req_id}/steps",
    response_model=StepList,
    summary="List a run's steps",
    tags=["runs"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def get_steps(req_id: ReqId, context: RunRoutesContextParam, run_id: OfRun = None) -> StepList:
    """All steps once the run has ended; while it runs, follow its events instead."""
    run = await _find_run(context, req_id, run_id)
    steps = await context.runs.steps(run.run_id)
    views = [StepView.model_validate(step.model_dump(include=set(StepView.model_fields))) for step in steps]
    return StepList(req_id=req_id, run_id=run.run_id, steps=views)


@router.get(
    "/runs/{req_id}/events",
    summary="Follow a run (server-sent events)",
    tags=["runs"],
    response_class=EventStream,
    responses={
        200: {
            "description": "Events with `id`, `event` and JSON in `data`; the last one is `finished`.",
            "content": {
                "text/event-stream": {
                    "schema": _SSE,
                    "example": 'id: 3\nevent: step_verified\ndata: {"step_idx": 0, "status": "success"}\n\n',
                }
            },
        },
        204: {"description": "The run has ended, and there are no events after `Last-Event-ID`."},
        **document_problems(401, 404, 422, 429, 503),
    },
)
async def get_events(
    req_id: ReqId,
    context: RunRoutesContextParam,
    run_id: OfRun = None,
    # Not in the OpenAPI document: some tools would report other headers as errors.
    last_event_id: Annotated[int, Header(ge=-1, le=MOST_SEQ, include_in_schema=False)] = -1,
) -> Response:
    """Sends all events, or those after the header `Last-Event-ID` (which `EventSource` sends automatically).

    The stream ends with the run. Events are stored for a day.
    """
    run = await _find_run(context, req_id, run_id)
    told = run.finished_at is not None and last_event_id >= 0
    if told and not await context.runs.events(progress_stream_name(run.run_id), after=last_event_id, limit=1):
        return Response(status_code=204)
    return EventStream(_stream_events(context, run, last_event_id))


@router.post(
    "/runs/{req_id}/cancel",
    status_code=202,
    response_model=CancelledRun,
    summary="Cancel a run",
    tags=["runs"],
    responses=document_problems(401, 403, 404, 409, 422, 429, 503),
)
async def cancel(req_id: ReqId, context: RunRoutesContextParam, run_id: OfRun = None) -> CancelledRun:
    """Cancels a queued run at once, and a running one after its current step."""
    run = await _find_run(context, req_id, run_id)
    status = await context.queue.cancel(run)
    return CancelledRun.model_validate({"req_id": req_id, "run_id": run.run_id, "status": status})


@router.get(
    "/artifacts/{req_id}",
    response_model=ArtifactList,
    summary="List a run's artifacts",
    tags=["artifacts"],
    responses={
        200: document_links(("req_id", "run_id"), "get_artifact", name="artifacts/0/name"),
        **document_problems(401, 404, 422, 429, 503),
    },
)
async def list_artifacts(req_id: ReqId, context: RunRoutesContextParam, run_id: OfRun = None) -> ArtifactList:
    """The generated test, the verdict as JSON, and reports."""
    run = await _find_run(context, req_id, run_id)
    found = [_artifact(context, each) for each in await context.runs.artifacts(run.run_id)]
    return ArtifactList(req_id=req_id, run_id=run.run_id, artifacts=[each for each in found if each])


@router.get(
    "/artifacts/{req_id}/{name}",
    summary="Download an artifact",
    tags=["artifacts"],
    response_class=FileResponse,
    responses={
        200: {
            "description": "The file as a download; `ETag` has its hash.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        **document_problems(401, 404, 422, 429, 503),
    },
)
async def get_artifact(
    req_id: ReqId,
    name: Annotated[
        str,
        InPath(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$",
            description="A name from the list of artifacts.",
            examples=["test_file"],
        ),
    ],
    context: RunRoutesContextParam,
    run_id: OfRun = None,
) -> FileResponse:
    """Returns the file if it has not changed since the run ended."""
    run = await _find_run(context, req_id, run_id)
    found = next((each for each in await context.runs.artifacts(run.run_id) if each.name == name), None)
    path = resolve_inside(context.folder, found.file_path) if found is not None and found.file_path else None
    if found is None or path is None or path.stat().st_size != found.size_bytes:
        raise ApiProblem(
            404,
            "not_found",
            f"the run of {req_id!r} has no file {name!r}",
            fix=f"GET /api/artifacts/{req_id} lists its files",
        )
    await record_async("artifact_opened", f"{name} of run {run.run_id}", website=run.website_id)
    return FileResponse(
        path,
        media_type="application/octet-stream",
        filename=path.name,
        headers={"ETag": f'"sha256:{found.file_hash}"', "Content-Security-Policy": "sandbox"},
    )


# -- implementation ----------------------------------------------------------------------------------


async def list_verifications(
    context: RunRoutesContext, *, limit: int, req_id: str | None = None
) -> list[RunView]:
    """Return verifications, newest first. Raises `StoreError`."""
    runs = await context.runs.runs(req_id=req_id, limit=limit)
    return [await _view(context, run) for run in runs if run.kind == "verification" and run.req_id]


async def _find_run(context: RunRoutesContext, req_id: str, run_id: str | None) -> StoredRun:
    if run_id is None:
        run = next(iter(await context.runs.runs(req_id=req_id, limit=1)), None)
    else:
        run = await context.runs.run(run_id)
    if run is None or run.req_id != req_id:
        what = f"no run of {req_id!r}" if run_id is None else f"no run {run_id!r} of {req_id!r}"
        raise ApiProblem(404, "not_found", what, fix="GET /api/runs lists all runs")
    return run


async def _view(context: RunRoutesContext, run: StoredRun) -> RunView:
    end = read_submission_end(run)
    status = end or await context.queue.where_at_all(run)
    error = run.error if status else "interrupted: its process has ended"
    summary = run.outputs.get("summary")
    told = run.outputs.get("rca")
    rca: dict[str, Any] | None = told if isinstance(told, dict) else None
    if rca is None and run.rca_class:
        rca = {"class": run.rca_class, "message": run.rca_message or ""}
    return RunView(
        req_id=run.req_id or "",
        run_id=run.run_id,
        status=status or "failed",
        verdict=run.verdict if end == "completed" else None,
        url=run.url,
        started_at=run.started_at,
        finished_at=run.finished_at,
        duration_ms=run.duration_ms,
        summary=_summary(run, VerificationSummary.model_validate(summary) if summary else None),
        rca=RcaView.model_validate(rca) if rca else None,
        before=context.queue.before(run.run_id),
        error=error,
        fix=run.hint,
    )


def _read_offer(run: StoredRun) -> OfferedElement | None:
    told = run.outputs.get("offered")
    return OfferedElement.model_validate(told) if isinstance(told, dict) else None


def _summary(run: StoredRun, kept: VerificationSummary | None) -> SummaryView:
    if kept is not None:
        return SummaryView.model_validate(kept.model_dump())
    asked = run.outputs.get("requirement")
    steps = asked.get("steps") if isinstance(asked, dict) else None
    return SummaryView(total_steps=len(steps) if isinstance(steps, list) else 0, heal_rounds=run.heal_rounds)


def _artifact(context: RunRoutesContext, artifact: Artifact) -> ArtifactView | None:
    path = resolve_inside(context.folder, artifact.file_path) if artifact.file_path else None
    if path is None:
        return None
    return ArtifactView(
        type=artifact.artifact_type,
        path=str(path.relative_to(context.folder.resolve())),
        hash=f"sha256:{artifact.file_hash}",
        size_bytes=artifact.size_bytes,
        name=artifact.name,
        created_at=artifact.created_at,
    )


async def _stream_events(context: RunRoutesContext, run: StoredRun, after: int) -> AsyncIterator[bytes]:
    queue, last = context.queue, None
    told = follow_run_events(
        context.runs,
        queue.followers,
        run.run_id,
        after=after,
        is_here=lambda one: queue.where(one) is not None,
    )
    async for event in told:
        if event is None:
            yield format_sse_event(comment="keep-alive")
            continue
        last = event.type
        data = {"at": event.at.isoformat(), **event.data}
        yield format_sse_event(
            data_str=json.dumps(data, ensure_ascii=False), event=event.type, id=str(event.seq)
        )
    over = await context.runs.run(run.run_id)
    if last != FINISHED and over is not None and over.finished_at is not None:  # its events were deleted
        view = (await _view(context, over)).model_dump(mode="json", include={"status", "verdict", "error"})
        yield format_sse_event(data_str=json.dumps(view), event=FINISHED)
