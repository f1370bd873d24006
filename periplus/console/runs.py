"""The pages about runs: `/runs`, a run's timeline, and what it left.

How a page of a website looked is foreign HTML: it is given to a frame that runs nothing and loads nothing, and to
anything else as a file to save. What these pages show is made in `runs_views`, `runs_why` and `runs_listing`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from kb_schema.knowledge import KnowledgeBase
from kb_schema.runs import StoredRun
from kb_schema.storage import StoredEvent
from kb_schema.verification import VerdictReport
from kb_store import StoreError
from kb_store.runs import RunStore
from mcp_server.errors import DeskError
from periplus.console import runs_left
from periplus.console.runs_left import Film, KeptTrace
from periplus.console.runs_listing import LOOKED_AT, Choice, chosen, on_page, runs_page
from periplus.console.runs_views import Recorded, run_page, subject_name
from periplus.console.runs_why import explained, why
from periplus.console.runs_words import KINDS, MARKS, OUTCOMES
from periplus.console.shell import POLICY, ConsoleParts, TheParts, person, render, requires
from periplus.service.problems import ApiProblem

MOST_EVENTS = 5_000
"""Of one run that are read for its page."""
FRAMED = f"{POLICY}; frame-src 'self'"
"""For pages that show a website's page in a frame."""
SEALED = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
"""For what comes from a website: it runs nothing, loads nothing, sends nothing and has no origin."""
PLAIN = (
    "<!doctype html><style>svg{max-width:3rem;max-height:3rem}img{max-width:100%}"
    "body{font-family:system-ui,sans-serif}</style>"
)
"""Before a page whose own styles are not there: signs that they would make small are not page-high."""
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
class OnDisk:
    """What is on disk of a run."""

    trace: KeptTrace | None = None
    verdict: VerdictReport | None = None
    film: Film | None = None


@router.get("/runs")
async def runs(
    request: Request,
    parts: TheParts,
    site: Annotated[str | None, Query(max_length=200)] = None,
    kind: Annotated[str, Query(max_length=40)] = "",
    outcome: Annotated[str, Query(max_length=40)] = "",
    day: Annotated[str, Query(max_length=20)] = "",
    page: Annotated[int, Query(ge=1, le=1_000)] = 1,
) -> Response:
    """The newest first. What is not asked for, or is no choice there is, does not choose."""
    choice = Choice(
        site or None,
        kind if kind in KINDS else None,
        next((each for each in OUTCOMES if each == outcome), None),
        day,
        page,
    )
    newest = await parts.runs.runs(website_id=choice.site, limit=LOOKED_AT)
    now = today()
    fitting = chosen(newest, choice, now)
    listed = runs_page(
        fitting,
        choice,
        today=now,
        steps=await parts.runs.step_counts([each.run_id for each in on_page(fitting, choice)]),
        names=await _names(parts, on_page(fitting, choice)),
        looked_at=len(newest),
        sites={*(await _sites(parts)), *(each.website_id for each in newest)},
    )
    on = choice.on(now)
    return render(
        request, "runs.html.j2", page=listed, kinds=KINDS, outcomes=OUTCOMES, marks=MARKS,
        on="" if on is None else on.isoformat(),
    )  # fmt: skip


@router.get("/runs/{run_id}")
async def run(request: Request, parts: TheParts, run_id: RunId) -> Response:
    """Why it failed, if it did; then what was done, step by step."""
    found = await find(parts.runs, run_id)
    known, left = await _recorded(parts, found)
    shown = run_page(known, today())
    explanation, note = None, ""
    if shown.outcome not in ("worked", "open") and known.knowledge is not None:
        explanation, note = await explained(parts.desk, found, left.trace.last_page if left.trace else None)
    root = left.verdict.rca if left.verdict else None
    standing = await parts.queue.where_at_all(found) if shown.outcome == "open" else None
    answer = why(shown, found, explanation, root, note, known.knowledge, standing)
    may_stop = parts.queue.where(run_id) in ("queued", "running") and person(request).may("operate")
    response = render(
        request, "run.html.j2", run=shown, why=answer, marks=MARKS, may_stop=may_stop, film=left.film
    )
    response.headers["Content-Security-Policy"] = FRAMED
    return response


@router.post("/runs/{run_id}/stop", dependencies=[Depends(requires("operate"))])
async def stop(parts: TheParts, run_id: RunId) -> Response:
    """One that waits is over at once; one that this service carries out stops after the step it is at."""
    await parts.queue.cancel(await find(parts.runs, run_id))
    return RedirectResponse(f"/runs/{run_id}", 303)


@router.get("/runs/{run_id}/steps/{number}/picture")
async def picture(parts: TheParts, run_id: RunId, number: Annotated[int, Path(ge=1, le=100_000)]) -> Response:
    """How the page looked at a step of a verification."""
    found = await find(parts.runs, run_id)
    artifacts = await parts.runs.artifacts(found.run_id)
    kept = await asyncio.to_thread(runs_left.verdict_of, artifacts, run_id)
    name = None
    if kept is not None:
        name = next((each.screenshot for each in kept[0].steps if each.step_idx == number - 1), None)
    shot = None if kept is None else await asyncio.to_thread(runs_left.picture, kept[1], name)
    if shot is None:
        raise ApiProblem(
            404, "not_found", f"there is no picture of step {number} of run {run_id!r} (any more)"
        )
    return Response(shot.content, media_type=shot.media_type, headers=_KEPT)


@router.get("/runs/{run_id}/film")
async def film(parts: TheParts, run_id: RunId) -> Response:
    """The film of a demo, also a piece of it at a time: so one may jump to any place in it."""
    kept = await _film(parts, run_id)
    return FileResponse(kept.path, media_type=kept.media_type, headers=_OF_A_FILM)


@router.get("/runs/{run_id}/film/{part}")
async def part_of_film(parts: TheParts, run_id: RunId, part: Literal["captions", "poster"]) -> Response:
    """What is said in it, as WebVTT; or its picture."""
    kept = await _film(parts, run_id)
    if part == "captions" and kept.captions is not None:
        return FileResponse(kept.captions, media_type="text/vtt", headers=_OF_A_FILM)
    if part == "poster" and kept.poster is not None:
        shot = await asyncio.to_thread(runs_left.picture, kept.poster.parent, kept.poster.name)
        if shot is not None:
            return Response(shot.content, media_type=shot.media_type, headers=_KEPT)
    raise ApiProblem(404, "not_found", f"the film of run {run_id!r} has no {part} (any more)")


@router.get("/runs/{run_id}/pages/{number}/{side}")
async def page_seen(
    request: Request,
    parts: TheParts,
    run_id: RunId,
    number: Annotated[int, Path(ge=0, le=100_000)],
    side: Literal["before", "after"],
) -> Response:
    """The page of the website before or after something was done on it: in a frame it is shown, else saved."""
    found = await find(parts.runs, run_id)
    artifacts = await parts.runs.artifacts(found.run_id)
    kept = await asyncio.to_thread(runs_left.trace_of, artifacts)
    html = None
    if kept is not None and number < len(kept.trace.steps):
        action = kept.trace.steps[number]
        html = action.html_before if side == "before" else action.html_after
    if html is None:
        raise ApiProblem(404, "not_found", f"run {run_id!r} has no page {number} {side} (any more)")
    return foreign_html(request, html, f"{run_id}-{number}-{side}.html")


@router.get("/runs/{run_id}/files/{name}")
async def file(
    parts: TheParts, run_id: RunId, name: Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]{0,199}$")]
) -> Response:
    """A file that the run left, to be saved: as it was when the run ended, or not at all."""
    found = await find(parts.runs, run_id)
    artifact = next((each for each in await parts.runs.artifacts(found.run_id) if each.name == name), None)
    path = None if artifact is None else await asyncio.to_thread(runs_left.found, artifact)
    if path is None or not path.is_file():
        raise ApiProblem(
            404, "not_found", f"run {run_id!r} has no file {name!r}, or it was changed since",
            fix="the run's page lists what it left",
        )  # fmt: skip
    return FileResponse(path, media_type="application/octet-stream", filename=path.name, headers=SEALED)


# -- for the other pages ---------------------------------------------------------------------------


def today() -> date:
    """In UTC, as all of the console."""
    return datetime.now(UTC).date()


async def find(store: RunStore, run_id: str) -> StoredRun:
    """A run. Raises `ApiProblem` where there is none."""
    found = await store.run(run_id)
    if found is None:
        raise ApiProblem(
            404, "not_found", f"there is no run {run_id!r}", fix="the list of runs has those there are"
        )
    return found


def foreign_html(request: Request, html: str, name: str) -> Response:
    """HTML of a website's: shown where a frame asks for it, which then is sealed; else a file to save."""
    if request.headers.get("sec-fetch-dest") == "iframe":
        return HTMLResponse(PLAIN + html, headers=SEALED)
    return HTMLResponse(html, headers={**SEALED, "Content-Disposition": _attachment(name)})


def saved(content: bytes, name: str) -> Response:
    """A file to save, whatever is in it."""
    headers = {**SEALED, "Content-Disposition": _attachment(name)}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _attachment(name: str) -> str:
    return f'attachment; filename="{_UNSAFE.sub("_", name)}"'


async def knowledge_of(parts: ConsoleParts, site: str) -> KnowledgeBase | None:
    """What is known of a website; None where nothing is, or it cannot be asked."""
    try:
        return (await parts.desk.views.current(site)).view.knowledge
    except DeskError:
        return None


# -- what there is ---------------------------------------------------------------------------------


async def _names(parts: ConsoleParts, shown: Sequence[StoredRun]) -> dict[str, str]:
    known = {site: await knowledge_of(parts, site) for site in {each.website_id for each in shown}}
    return {each.run_id: subject_name(known[each.website_id], each) for each in shown}


async def _sites(parts: ConsoleParts) -> Sequence[str]:
    try:
        return await parts.desk.views.websites()
    except DeskError:
        return ()


async def _film(parts: ConsoleParts, run_id: str) -> Film:
    artifacts = await parts.runs.artifacts((await find(parts.runs, run_id)).run_id)
    kept = await asyncio.to_thread(runs_left.film_of, artifacts)
    if kept is None:
        raise ApiProblem(404, "not_found", f"run {run_id!r} has no film (any more)")
    return kept


async def _recorded(parts: ConsoleParts, run: StoredRun) -> tuple[Recorded, OnDisk]:
    artifacts = await parts.runs.artifacts(run.run_id)
    left = await asyncio.to_thread(
        lambda: OnDisk(
            runs_left.trace_of(artifacts),
            (runs_left.verdict_of(artifacts, run.run_id) or (None,))[0],
            runs_left.film_of(artifacts),
        )
    )
    try:
        proposals = await parts.stores.proposals.proposals(run.website_id)
    except StoreError:  # the run can be told without them
        proposals = ()
    return Recorded(
        run,
        await parts.runs.steps(run.run_id),
        await _events(parts.runs, run.run_id),
        artifacts,
        await parts.runs.metrics(run.run_id),
        left.trace.trace if left.trace else None,
        left.verdict,
        proposals,
        await knowledge_of(parts, run.website_id),
    ), left


async def _events(store: RunStore, run_id: str) -> list[StoredEvent]:
    found: list[StoredEvent] = []
    while len(found) < MOST_EVENTS:
        more = await store.events(run_id, after=found[-1].seq if found else -1, limit=1_000)
        found += more
        if len(more) < 1_000:
            break
    return found
