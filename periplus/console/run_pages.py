"""The pages about runs: the list at `/runs`, a run's timeline, and its artifacts.

Stored pages of websites are untrusted HTML: they are shown in a sandboxed frame that loads nothing, or served as
a download. `run_view_models`, `run_explanation` and `run_list` build what the pages show.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path as FilePath
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.run_records import StepRecord, StoredRun
from kb_schema.run_storage import StoredEvent
from kb_schema.verification import OfferedElement, VerdictReport
from kb_store import StoreError
from kb_store.audit.audit_recorder import record_async
from kb_store.runs.run_store import RunStore
from mcp_server.errors import KnowledgeServerError
from periplus.console import run_artifacts
from periplus.console.console_framework import (
    POLICY,
    ConsoleContext,
    ConsoleContextParam,
    get_person,
    render,
    require_role,
)
from periplus.console.display_names import subject_name
from periplus.console.offer_view import build_offer_view
from periplus.console.run_artifacts import FilmArtifact, TraceArtifact
from periplus.console.run_explanation import explain_run, request_explanation
from periplus.console.run_labels import KINDS, MARKS, OUTCOMES
from periplus.console.run_list import LOOKED_AT, RunFilter, build_run_list_page, filter_runs, select_page
from periplus.console.run_view_models import MOST_STEPS, RunRecords, build_run_page
from periplus.console.step_pictures_view import (
    StepPictureList,
    build_bar,
    build_step_views,
    read_step_pictures,
    read_step_records,
)
from periplus.runs.run_averages import average_runs
from periplus.service.problem_details import ApiProblem

MOST_EVENTS = 5_000
"""Maximum number of steps read for a run's page."""
MOST_AVERAGED = 200
"""Newest runs whose metrics are averaged."""
FRAMED = f"{POLICY}; frame-src 'self'"
"""The content security policy of pages that show a website's page in a frame."""
SEALED = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
"""Headers for HTML of websites: no scripts, no requests, no forms, no origin."""
PLAIN = (
    "<!doctype html><style>svg{max-width:3rem;max-height:3rem}img{max-width:100%}"
    "body{font-family:system-ui,sans-serif}</style>"
)
"""Prepended to pages without their style sheets, so that icons do not fill the page."""
_KEPT = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}
_OF_A_FILM = {
    **_KEPT,
    "Content-Security-Policy": "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")

router = APIRouter()
RunId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$")]


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of a run on disk."""

    trace: TraceArtifact | None = None
    verdict: VerdictReport | None = None
    film: FilmArtifact | None = None
    pictures: StepPictureList | None = None
    records: tuple[StepRecord, ...] = ()
    """The steps of the result, with their evidence."""


@router.get("/runs")
async def runs(
    request: Request,
    parts: ConsoleContextParam,
    site: Annotated[str | None, Query(max_length=200)] = None,
    kind: Annotated[str, Query(max_length=40)] = "",
    outcome: Annotated[str, Query(max_length=40)] = "",
    day: Annotated[str, Query(max_length=20)] = "",
    page: Annotated[int, Query(ge=1, le=1_000)] = 1,
) -> Response:
    """List runs, newest first. Unknown filter values are ignored."""
    choice = RunFilter(
        site or None,
        kind if kind in KINDS else None,
        next((each for each in OUTCOMES if each == outcome), None),
        day,
        page,
    )
    newest = await parts.runs.runs(website_id=choice.site, limit=LOOKED_AT)
    now = today_utc()
    fitting = filter_runs(newest, choice, now)
    listed = build_run_list_page(
        fitting,
        choice,
        today=now,
        steps=await parts.runs.step_counts([each.run_id for each in select_page(fitting, choice)]),
        names=await _names(parts, select_page(fitting, choice)),
        looked_at=len(newest),
        sites={*(await list_sites(parts)), *(each.website_id for each in newest)},
    )
    on = choice.on(now)
    return render(
        request,
        "runs.html.j2",
        page=listed,
        kinds=KINDS,
        outcomes=OUTCOMES,
        marks=MARKS,
        on="" if on is None else on.isoformat(),
    )


@router.get("/runs/averages")
async def averages(
    request: Request,
    parts: ConsoleContextParam,
    site: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Show the means of the metrics of runs of tasks and workflows, among the newest runs."""
    return render(
        request,
        "averages.html.j2",
        averages=await average_runs(parts.runs, site or None, MOST_AVERAGED),
        chosen=site or "",
        sites=sorted(await list_sites(parts)),
        most=MOST_AVERAGED,
    )


@router.get("/runs/{run_id}")
async def run(request: Request, parts: ConsoleContextParam, run_id: RunId) -> Response:
    """Show a run: the explanation, then its steps."""
    found = await find_run(parts.runs, run_id)
    known, left = await _load_run_records(parts, found)
    shown = build_run_page(known, today_utc())
    explanation, note = None, ""
    if shown.outcome not in ("worked", "open") and known.knowledge is not None:
        explanation, note = await request_explanation(
            parts.knowledge_server, found, left.trace.last_page if left.trace else None
        )
    root = left.verdict.rca if left.verdict else None
    standing = await parts.queue.where_at_all(found) if shown.outcome == "open" else None
    answer = explain_run(shown, found, explanation, root, note, known.knowledge, standing)
    offered = left.verdict.offered if left.verdict else None
    offer = None
    if offered is not None:
        offer = build_offer_view(
            offered, is_open=await parts.offers.is_open(offered), may_accept=get_person(request).may("review")
        )
    may_stop = parts.queue.where(run_id) in ("queued", "running") and get_person(request).may("operate")
    response = render(
        request,
        "run.html.j2",
        run=shown,
        why=answer,
        marks=MARKS,
        may_stop=may_stop,
        film=left.film,
        offer=offer,
        seen=build_step_views(known.steps, left.pictures, left.records),
        bar=build_bar(known.steps[:MOST_STEPS]),
        every=3 if standing is not None else None,
    )
    response.headers["Content-Security-Policy"] = FRAMED
    return response


@router.post("/runs/{run_id}/accept", dependencies=[Depends(require_role("review"))])
async def accept(parts: ConsoleContextParam, run_id: RunId) -> Response:
    """Accept the element that a verification offered for a step: later runs use it."""
    offered, _ = await _find_offer(parts, await find_run(parts.runs, run_id))
    await parts.offers.accept(offered)
    return RedirectResponse(f"/runs/{run_id}#offered", 303)


@router.get("/runs/{run_id}/offered/picture")
async def offered_picture(parts: ConsoleContextParam, run_id: RunId) -> Response:
    """Return the picture of the offered element."""
    found = await find_run(parts.runs, run_id)
    offered, folder = await _find_offer(parts, found)
    shot = await asyncio.to_thread(run_artifacts.picture, folder, offered.screenshot)
    if shot is None:
        raise ApiProblem(404, "not_found", f"run {run_id!r} has no picture of it, or it was deleted")
    await record_async("artifact_opened", f"offered element of run {run_id}", website=found.website_id)
    return Response(shot.content, media_type=shot.media_type, headers=_KEPT)


@router.post("/runs/{run_id}/stop", dependencies=[Depends(require_role("operate"))])
async def stop(parts: ConsoleContextParam, run_id: RunId) -> Response:
    """Stop a run: a queued one at once, a running one after its current step."""
    await parts.queue.cancel(await find_run(parts.runs, run_id))
    return RedirectResponse(f"/runs/{run_id}", 303)


@router.get("/runs/{run_id}/steps/{number}/picture")
async def picture(
    parts: ConsoleContextParam, run_id: RunId, number: Annotated[int, Path(ge=1, le=100_000)]
) -> Response:
    """Return the screenshot of a verification's step."""
    found = await find_run(parts.runs, run_id)
    artifacts = await parts.runs.artifacts(found.run_id)
    kept = await asyncio.to_thread(run_artifacts.read_verdict, artifacts, run_id)
    name = None
    if kept is not None:
        name = next((each.screenshot for each in kept[0].steps if each.step_idx == number - 1), None)
    shot = None if kept is None else await asyncio.to_thread(run_artifacts.picture, kept[1], name)
    if shot is None:
        raise ApiProblem(
            404, "not_found", f"run {run_id!r} has no screenshot of step {number}, or it was deleted"
        )
    await record_async(
        "artifact_opened", f"picture of step {number} of run {run_id}", website=found.website_id
    )
    return Response(shot.content, media_type=shot.media_type, headers=_KEPT)


@router.get("/runs/{run_id}/pictures/{name}")
async def step_picture(
    parts: ConsoleContextParam, run_id: RunId, name: Annotated[str, Path(pattern=r"^[0-9]{4,8}\.jpg$")]
) -> Response:
    """Return a picture of a step of a task's run."""
    found = await find_run(parts.runs, run_id)
    artifacts = await parts.runs.artifacts(found.run_id)

    def read() -> run_artifacts.ArtifactPicture | None:
        kept = read_step_pictures(artifacts)
        return None if kept is None else kept.find(name)

    shot = await asyncio.to_thread(read)
    if shot is None:
        raise ApiProblem(404, "not_found", f"run {run_id!r} has no picture {name}, or it was deleted")
    await record_async("artifact_opened", f"picture {name} of run {run_id}", website=found.website_id)
    return Response(shot.content, media_type=shot.media_type, headers=_KEPT)


@router.get("/runs/{run_id}/film")
async def film(request: Request, parts: ConsoleContextParam, run_id: RunId) -> Response:
    """Return the film of a demo; range requests are supported."""
    kept = await _film(parts, run_id)
    if is_first_part(request):
        await record_async("artifact_opened", f"film of run {run_id}")
    return FileResponse(kept.path, media_type=kept.media_type, headers=_OF_A_FILM)


@router.get("/runs/{run_id}/film/{part}")
async def part_of_film(
    parts: ConsoleContextParam, run_id: RunId, part: Literal["captions", "poster"]
) -> Response:
    """Return the film's captions (WebVTT) or its poster."""
    kept = await _film(parts, run_id)
    if part == "captions" and kept.captions is not None:
        return FileResponse(kept.captions, media_type="text/vtt", headers=_OF_A_FILM)
    if part == "poster" and kept.poster is not None:
        shot = await asyncio.to_thread(run_artifacts.picture, kept.poster.parent, kept.poster.name)
        if shot is not None:
            return Response(shot.content, media_type=shot.media_type, headers=_KEPT)
    raise ApiProblem(404, "not_found", f"the film of run {run_id!r} has no {part}, or the file was deleted")


@router.get("/runs/{run_id}/pages/{number}/{side}")
async def page_seen(
    request: Request,
    parts: ConsoleContextParam,
    run_id: RunId,
    number: Annotated[int, Path(ge=0, le=100_000)],
    side: Literal["before", "after"],
) -> Response:
    """Return the website's page before or after an action: in a frame as HTML, else as a download."""
    found = await find_run(parts.runs, run_id)
    artifacts = await parts.runs.artifacts(found.run_id)
    kept = await asyncio.to_thread(run_artifacts.read_trace, artifacts)
    html = None
    if kept is not None and number < len(kept.trace.steps):
        action = kept.trace.steps[number]
        html = action.html_before if side == "before" else action.html_after
    if html is None:
        raise ApiProblem(404, "not_found", f"run {run_id!r} has no page {number} {side}, or it was deleted")
    await record_async("artifact_opened", f"page {number} {side} of run {run_id}", website=found.website_id)
    return website_html_response(request, html, f"{run_id}-{number}-{side}.html")


@router.get("/runs/{run_id}/files/{name}")
async def file(
    parts: ConsoleContextParam,
    run_id: RunId,
    name: Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]{0,199}$")],
) -> Response:
    """Return an artifact of the run as a download, if it is unchanged."""
    found = await find_run(parts.runs, run_id)
    artifact = next((each for each in await parts.runs.artifacts(found.run_id) if each.name == name), None)
    path = None if artifact is None else await asyncio.to_thread(run_artifacts.find_artifact, artifact)
    if path is None or not path.is_file():
        raise ApiProblem(
            404,
            "not_found",
            f"run {run_id!r} has no file {name!r}, or it was changed",
            fix="choose an artifact on the run's page",
        )
    await record_async("artifact_opened", f"{name} of run {run_id}", website=found.website_id)
    return FileResponse(path, media_type="application/octet-stream", filename=path.name, headers=SEALED)


# -- for the other pages ---------------------------------------------------------------------------


def is_first_part(request: Request) -> bool:
    """Return whether a request is for a whole file or its beginning: players fetch the rest in many parts."""
    return request.headers.get("range", "bytes=0-").startswith("bytes=0-")


def today_utc() -> date:
    """Return today's date in UTC."""
    return datetime.now(UTC).date()


async def find_run(store: RunStore, run_id: str) -> StoredRun:
    """Return a run. Raises `ApiProblem` for an unknown id."""
    found = await store.run(run_id)
    if found is None:
        raise ApiProblem(404, "not_found", f"no run {run_id!r}", fix="choose one from the list of runs")
    return found


def website_html_response(request: Request, html: str, name: str) -> Response:
    """Return a website's HTML: sandboxed for a frame, else as a download."""
    if request.headers.get("sec-fetch-dest") == "iframe":
        return HTMLResponse(PLAIN + html, headers=SEALED)
    return HTMLResponse(html, headers={**SEALED, "Content-Disposition": _attachment(name)})


def download_response(content: bytes, name: str) -> Response:
    """Return content as a download."""
    headers = {**SEALED, "Content-Disposition": _attachment(name)}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _attachment(name: str) -> str:
    return f'attachment; filename="{_UNSAFE.sub("_", name)}"'


async def load_knowledge(parts: ConsoleContext, site: str) -> KnowledgeBase | None:
    """Return a website's knowledge; None if it is unknown or the store does not answer."""
    try:
        return (await parts.knowledge_server.views.current(site)).view.knowledge
    except KnowledgeServerError:
        return None


# -- data ------------------------------------------------------------------------------------------


async def _names(parts: ConsoleContext, shown: Sequence[StoredRun]) -> dict[str, str]:
    known = {site: await load_knowledge(parts, site) for site in {each.website_id for each in shown}}
    return {each.run_id: subject_name(known[each.website_id], each) for each in shown}


async def list_sites(parts: ConsoleContext) -> Sequence[str]:
    """Return the websites of the knowledge base; none if the store does not answer."""
    try:
        return await parts.knowledge_server.views.websites()
    except KnowledgeServerError:
        return ()


async def _find_offer(parts: ConsoleContext, run: StoredRun) -> tuple[OfferedElement, FilePath]:
    """Return the offered element of a verification, and the folder of its pictures. Raises `ApiProblem`."""
    artifacts = await parts.runs.artifacts(run.run_id)
    kept = await asyncio.to_thread(run_artifacts.read_verdict, artifacts, run.run_id)
    if kept is None or kept[0].offered is None:
        raise ApiProblem(404, "not_found", f"run {run.run_id!r} offers no element", fix="verify it again")
    return kept[0].offered, kept[1]


async def _film(parts: ConsoleContext, run_id: str) -> FilmArtifact:
    artifacts = await parts.runs.artifacts((await find_run(parts.runs, run_id)).run_id)
    kept = await asyncio.to_thread(run_artifacts.find_film, artifacts)
    if kept is None:
        raise ApiProblem(404, "not_found", f"run {run_id!r} has no film, or it was deleted")
    return kept


async def _load_run_records(parts: ConsoleContext, run: StoredRun) -> tuple[RunRecords, RunFiles]:
    artifacts = await parts.runs.artifacts(run.run_id)
    left = await asyncio.to_thread(
        lambda: RunFiles(
            run_artifacts.read_trace(artifacts),
            (run_artifacts.read_verdict(artifacts, run.run_id) or (None,))[0],
            run_artifacts.find_film(artifacts),
            read_step_pictures(artifacts),
            read_step_records(artifacts),
        )
    )
    try:
        proposals = await parts.stores.proposals.proposals(run.website_id)
    except StoreError:  # the page can be shown without them
        proposals = ()
    return RunRecords(
        run,
        await parts.runs.steps(run.run_id),
        await _events(parts.runs, run.run_id),
        artifacts,
        await parts.runs.metrics(run.run_id),
        left.trace.trace if left.trace else None,
        left.verdict,
        proposals,
        await load_knowledge(parts, run.website_id),
    ), left


async def _events(store: RunStore, run_id: str) -> list[StoredEvent]:
    found: list[StoredEvent] = []
    while len(found) < MOST_EVENTS:
        more = await store.events(run_id, after=found[-1].seq if found else -1, limit=1_000)
        found += more
        if len(more) < 1_000:
            break
    return found
