"""`/demos`: the presentation flows of all websites, links for visitors, and starting one to watch it.

Links are made and shown by `periplus.service.visiting`; a link can be read once, when it was made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import RedirectResponse, Response

from kb_schema.presentation import PresentationFlow
from mcp_server.errors import DeskError
from periplus.console.runs_left import has_film
from periplus.console.runs_listing import RunRow, row_of
from periplus.console.runs_words import MARKS
from periplus.console.shell import ConsoleParts, TheParts, person, render, requires
from periplus.console.telling import duration
from periplus.errors import UserError
from periplus.service.problems import ApiProblem
from periplus.service.visiting.book import Full, Visits
from periplus.service.visiting.models import NAME
from periplus.service.visiting.routes import PREFIX
from periplus.service.visiting.visit import NotNow, Visit

MOST_SITES = 200
MOST_PAST = 12
LOOKED_AT = 500
"""Of the newest runs, among which those of demos are."""
_LANGUAGE = r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*)?$"

router = APIRouter()
_MAY_START = [Depends(requires("operate"))]


@dataclass(frozen=True, slots=True)
class FlowRow:
    """A flow that can be shown."""

    site: str
    flow_id: str
    name: str
    purpose: str
    languages: tuple[str, ...]
    segments: int
    took: str
    """About; empty where it is not said."""


@dataclass(frozen=True, slots=True)
class VisitRow:
    """A link that is good."""

    visit_id: str
    label: str
    site: str
    flow_id: str
    flow: str
    """What people call it."""
    state: str
    ended: str
    shows: int
    watched_by: int
    run_id: str


@dataclass(frozen=True, slots=True)
class Past:
    """A demo that was shown, newest first."""

    run: RunRow
    film: bool
    """Whether it left one."""


@dataclass(frozen=True, slots=True)
class Made:
    """A link, to be read once."""

    url: str
    label: str
    flow: str


@router.get("/demos")
async def demos(request: Request, parts: TheParts) -> Response:
    """What can be shown, and the links there are."""
    return await _page(request, parts)


@router.post("/demos/links", dependencies=_MAY_START)
async def make_link(
    request: Request,
    parts: TheParts,
    site: Annotated[str, Form(pattern=NAME)],
    flow: Annotated[str, Form(pattern=NAME)],
    label: Annotated[str, Form(max_length=80)] = "",
    language: Annotated[str, Form(pattern=_LANGUAGE)] = "",
    then: Annotated[str, Form(pattern=r"^(link|watch)$")] = "link",
) -> Response:
    """A link for a visitor, shown once; `then=watch`: begin at once, and go there."""
    visits = _visits(parts)
    try:
        visit, token = await visits.make(site, flow, language=language or None, label=label)
        if then == "watch":
            visits.start(visit)
            return RedirectResponse(f"{PREFIX}/{token}", 303)
    except UserError as exc:
        raise ApiProblem(422, "invalid_request", exc.message, fix=exc.fix or "") from exc
    except Full as exc:
        raise ApiProblem(503, "full", str(exc), fix=f"try again in {exc.retry_s} s, or end a demo") from exc
    except NotNow as exc:
        raise ApiProblem(409, "not_now", str(exc)) from exc
    base = visits.settings.public_url or str(request.base_url)
    made = Made(f"{base.rstrip('/')}{PREFIX}/{token}", visit.label, visit.flow.name)
    response = await _page(request, parts, made)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/demos/links/{visit_id}/end", dependencies=_MAY_START)
async def end_link(parts: TheParts, visit_id: Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]) -> Response:
    """What is being shown ends, and the link is good no more."""
    visits = _visits(parts)
    visit = visits.by_id(visit_id)
    if visit is None:
        raise ApiProblem(404, "not_found", f"there is no link {visit_id!r} (any more)")
    await visits.forget(visit)
    return RedirectResponse("/demos", 303)


def _visits(parts: ConsoleParts) -> Visits:
    if parts.visits is None:
        raise ApiProblem(409, "no_demos", "this service shows no demos to visitors")
    return parts.visits


async def _page(request: Request, parts: ConsoleParts, made: Made | None = None) -> Response:
    flows, away = await _flows(parts)
    return render(
        request, "demos.html.j2", flows=flows, away=away, made=made, past=await _past(parts, flows), marks=MARKS,
        visits=[visit_row(each) for each in reversed(parts.visits.all())] if parts.visits else [],
        may_start=parts.visits is not None and person(request).may("operate"), shown=parts.visits is not None,
    )  # fmt: skip


async def _past(parts: ConsoleParts, flows: Sequence[FlowRow]) -> list[Past]:
    """Demos that were shown, on a screen or to visitors."""
    newest = await parts.runs.runs(limit=LOOKED_AT)
    shown = [run for run in newest if run.kind == "demo"][:MOST_PAST]
    names = {(flow.site, flow.flow_id): flow.name for flow in flows}
    left = await asyncio.gather(*(parts.runs.artifacts(run.run_id) for run in shown))
    today = datetime.now(UTC).date()
    return [
        Past(row_of(run, today, name=names.get((run.website_id, run.subject), "")), has_film(artifacts))
        for run, artifacts in zip(shown, left, strict=True)
    ]


async def _flows(parts: ConsoleParts) -> tuple[list[FlowRow], list[str]]:
    """The flows there are, and the websites that cannot be asked."""
    found: list[FlowRow] = []
    away: list[str] = []
    for site in (await parts.desk.views.websites())[:MOST_SITES]:
        try:
            view = (await parts.desk.views.current(site)).view
        except DeskError:
            away.append(site)
            continue
        found += flow_rows(site, view.knowledge.flows)
    return found, away


def flow_rows(site: str, flows: Mapping[str, PresentationFlow]) -> list[FlowRow]:
    """A website's flows, by name."""
    return [
        FlowRow(
            site,
            flow_id,
            flow.name or flow_id,
            flow.description,
            tuple(dict.fromkeys([flow.language, *flow.languages])),
            len(flow.segments),
            duration(None if flow.duration.typical is None else flow.duration.typical * 1_000),
        )
        for flow_id, flow in sorted(flows.items(), key=lambda each: each[1].name or each[0])
    ]


def visit_row(visit: Visit) -> VisitRow:
    """A link in the list: never its token."""
    return VisitRow(
        visit.visit_id,
        visit.label,
        visit.wish.website,
        visit.wish.flow,
        visit.flow.name or visit.wish.flow,
        visit.state,
        visit.ended or "",
        visit.shows,
        visit.feed.followers,
        visit.run_id,
    )
