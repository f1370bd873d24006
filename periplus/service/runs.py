"""REST: runs. Submitting, asking, following and cancelling them (PACTS 10.1), and what they left."""

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

from kb_schema.runs import Artifact, StoredRun
from kb_schema.verification import Summary
from kb_store.runs import RunStore
from periplus.service.keeping import inside, state_of
from periplus.service.models import (
    REQ_ID,
    RUN_ID,
    Accepted,
    ArtifactList,
    ArtifactView,
    Cancelled,
    RcaView,
    RunList,
    RunRequest,
    RunView,
    StepList,
    StepView,
    SummaryView,
)
from periplus.service.problems import ApiProblem, documented
from periplus.service.progress import FINISHED, follow, stream_of
from periplus.service.queue import RunQueue
from periplus.service.submissions import Lending, requirement_from

MOST_SEQ = 2**31 - 1

_SSE = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["event", "data"],
}
"""One event, as OpenAPI describes streams of them."""


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Desk:
    """What the routes ask."""

    runs: RunStore
    queue: RunQueue
    folder: Path
    """Of runs: the only one from which artifacts are given away."""
    lending: Lending


def desk_of(request: Request) -> Desk:
    """The app's."""
    desk: Desk = request.app.state.desk
    return desk


_ABOUT_IT = ("get_run", "get_steps", "get_events", "cancel", "list_artifacts")
_LINKED = {"req_id": "$response.body#/req_id"}

router = APIRouter()
TheDesk = Annotated[Desk, Depends(desk_of)]
ReqId = Annotated[
    str,
    InPath(
        pattern=REQ_ID,
        description="Names the requirement; its newest run is meant.",
        examples=["REQ-LOGIN-001"],
    ),
]
OfRun = Annotated[
    str | None, Query(pattern=RUN_ID, description="An earlier run of the requirement, by its id.")
]


@router.post(
    "/run",
    status_code=202,
    response_model=Accepted,
    summary="Verify a requirement",
    tags=["runs"],
    responses={
        202: {
            "headers": {"Location": {"description": "Where to ask.", "schema": {"type": "string"}}},
            "links": {name: {"operationId": name, "parameters": _LINKED} for name in _ABOUT_IT},
        },
        **documented(401, 403, 409, 413, 422, 429, 503),
    },
)
async def submit(body: RunRequest, desk: TheDesk, response: Response) -> Accepted:
    """Once this is answered the run is kept and will be carried out, whether or not anybody waits for it.

    Runs are carried out in the order of their submission. A requirement that waits or runs already is
    refused (409); one that is over may be verified again.
    """
    kept = await desk.queue.submit(requirement_from(body, desk.lending))
    response.headers["Location"] = f"/api/runs/{body.req_id}"
    return Accepted(
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
    responses=documented(401, 422, 429, 503),
)
async def list_runs(
    desk: TheDesk,
    limit: Annotated[int, Query(ge=1, le=1_000, description="At most so many.")] = 100,
    req_id: Annotated[str | None, Query(pattern=REQ_ID, description="Only of this requirement.")] = None,
) -> RunList:
    """The newest first."""
    return RunList(runs=await listed(desk, limit=limit, req_id=req_id))


@router.get(
    "/runs/{req_id}",
    response_model=RunView,
    summary="How far a run is, and its verdict",
    tags=["runs"],
    responses=documented(401, 404, 422, 429, 503),
)
async def get_run(req_id: ReqId, desk: TheDesk, run_id: OfRun = None) -> RunView:
    """Of the requirement's newest run, or of the one that is named."""
    return await _view(desk, await _found(desk, req_id, run_id))


@router.get(
    "/runs/{req_id}/steps",
    response_model=StepList,
    summary="What was done, step by step",
    tags=["runs"],
    responses=documented(401, 404, 422, 429, 503),
)
async def get_steps(req_id: ReqId, desk: TheDesk, run_id: OfRun = None) -> StepList:
    """All steps once the run is over; while it goes on, its events tell them."""
    run = await _found(desk, req_id, run_id)
    steps = await desk.runs.steps(run.run_id)
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
        204: {"description": "It is over, and everything was told up to `Last-Event-ID`."},
        **documented(401, 404, 422, 429, 503),
    },
)
async def get_events(
    req_id: ReqId,
    desk: TheDesk,
    run_id: OfRun = None,
    # Not in the document: tools that know it there take any other header for a mistake.
    last_event_id: Annotated[int, Header(ge=-1, le=MOST_SEQ, include_in_schema=False)] = -1,
) -> Response:
    """From the first event, or after the one whose `id` the header `Last-Event-ID` has, as `EventSource` sends it
    by itself. Ends with the run; events are kept for a day.
    """
    run = await _found(desk, req_id, run_id)
    told = run.finished_at is not None and last_event_id >= 0
    if told and not await desk.runs.events(stream_of(run.run_id), after=last_event_id, limit=1):
        return Response(status_code=204)
    return EventStream(_told(desk, run, last_event_id))


@router.post(
    "/runs/{req_id}/cancel",
    status_code=202,
    response_model=Cancelled,
    summary="Cancel a run",
    tags=["runs"],
    responses=documented(401, 403, 404, 409, 422, 429, 503),
)
async def cancel(req_id: ReqId, desk: TheDesk, run_id: OfRun = None) -> Cancelled:
    """One that waits is over at once; one that is carried out stops after the step it is at."""
    run = await _found(desk, req_id, run_id)
    status = await desk.queue.cancel(run)
    return Cancelled.model_validate({"req_id": req_id, "run_id": run.run_id, "status": status})


@router.get(
    "/artifacts/{req_id}",
    response_model=ArtifactList,
    summary="What a run left",
    tags=["artifacts"],
    responses=documented(401, 404, 422, 429, 503),
)
async def list_artifacts(req_id: ReqId, desk: TheDesk, run_id: OfRun = None) -> ArtifactList:
    """The generated test, the verdict as JSON, reports."""
    run = await _found(desk, req_id, run_id)
    found = [_artifact(desk, each) for each in await desk.runs.artifacts(run.run_id)]
    return ArtifactList(req_id=req_id, run_id=run.run_id, artifacts=[each for each in found if each])


@router.get(
    "/artifacts/{req_id}/{name}",
    summary="The content of what a run left",
    tags=["artifacts"],
    response_class=FileResponse,
    responses={
        200: {
            "description": "The file, to be saved; `ETag` has its hash.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(401, 404, 422, 429, 503),
    },
)
async def get_artifact(
    req_id: ReqId,
    name: Annotated[
        str,
        InPath(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$",
            description="From the list.",
            examples=["test_file"],
        ),
    ],
    desk: TheDesk,
    run_id: OfRun = None,
) -> FileResponse:
    """As it was when the run ended: what changed since, or lies elsewhere, is not given away."""
    run = await _found(desk, req_id, run_id)
    found = next((each for each in await desk.runs.artifacts(run.run_id) if each.name == name), None)
    path = inside(desk.folder, found.file_path) if found is not None and found.file_path else None
    if found is None or path is None or path.stat().st_size != found.size_bytes:
        raise ApiProblem(
            404, "not_found", f"the run of {req_id!r} has no file {name!r}",
            fix=f"GET /api/artifacts/{req_id} lists what it has",
        )  # fmt: skip
    return FileResponse(
        path,
        media_type="application/octet-stream",
        filename=path.name,
        headers={"ETag": f'"sha256:{found.file_hash}"', "Content-Security-Policy": "sandbox"},
    )


# -- how ---------------------------------------------------------------------------------------------


async def listed(desk: Desk, *, limit: int, req_id: str | None = None) -> list[RunView]:
    """Verifications, the newest first. Raises `StoreError`."""
    runs = await desk.runs.runs(req_id=req_id, limit=limit)
    return [await _view(desk, run) for run in runs if run.kind == "verification" and run.req_id]


async def _found(desk: Desk, req_id: str, run_id: str | None) -> StoredRun:
    if run_id is None:
        run = next(iter(await desk.runs.runs(req_id=req_id, limit=1)), None)
    else:
        run = await desk.runs.run(run_id)
    if run is None or run.req_id != req_id:
        what = f"no run of {req_id!r}" if run_id is None else f"no run {run_id!r} of {req_id!r}"
        raise ApiProblem(404, "not_found", f"there is {what}", fix="GET /api/runs lists the runs there are")
    return run


async def _view(desk: Desk, run: StoredRun) -> RunView:
    end = state_of(run)
    status = end or await desk.queue.where_at_all(run)
    error = run.error if status else "interrupted: its process is gone"
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
        summary=_summary(run, Summary.model_validate(summary) if summary else None),
        rca=RcaView.model_validate(rca) if rca else None,
        before=desk.queue.before(run.run_id),
        error=error,
        fix=run.hint,
    )


def _summary(run: StoredRun, kept: Summary | None) -> SummaryView:
    if kept is not None:
        return SummaryView.model_validate(kept.model_dump())
    asked = run.outputs.get("requirement")
    steps = asked.get("steps") if isinstance(asked, dict) else None
    return SummaryView(total_steps=len(steps) if isinstance(steps, list) else 0, heal_rounds=run.heal_rounds)


def _artifact(desk: Desk, artifact: Artifact) -> ArtifactView | None:
    path = inside(desk.folder, artifact.file_path) if artifact.file_path else None
    if path is None:
        return None
    return ArtifactView(
        type=artifact.artifact_type,
        path=str(path.relative_to(desk.folder.resolve())),
        hash=f"sha256:{artifact.file_hash}",
        size_bytes=artifact.size_bytes,
        name=artifact.name,
        created_at=artifact.created_at,
    )


async def _told(desk: Desk, run: StoredRun, after: int) -> AsyncIterator[bytes]:
    queue, last = desk.queue, None
    told = follow(
        desk.runs, queue.followers, run.run_id, after=after, is_here=lambda one: queue.where(one) is not None
    )
    async for event in told:
        if event is None:
            yield format_sse_event(comment="still there")
            continue
        last = event.type
        data = {"at": event.at.isoformat(), **event.data}
        yield format_sse_event(
            data_str=json.dumps(data, ensure_ascii=False), event=event.type, id=str(event.seq)
        )
    over = await desk.runs.run(run.run_id)
    if last != FINISHED and over is not None and over.finished_at is not None:  # its events are forgotten
        view = (await _view(desk, over)).model_dump(mode="json", include={"status", "verdict", "error"})
        yield format_sse_event(data_str=json.dumps(view), event=FINISHED)
