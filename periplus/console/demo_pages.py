"""`/demos`: the presentation flows of all websites, and links for visitors.

`periplus.service.visits` creates the links. A link is shown only once, after it was created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import RedirectResponse, Response

from agent.presentation.visitor.visitor_analytics import DemoVisit, SegmentVisit
from kb_schema.presentation_flows import PresentationFlow
from mcp_server.errors import KnowledgeServerError
from periplus.console.console_framework import (
    ConsoleContext,
    ConsoleContextParam,
    get_person,
    render,
    require_role,
)
from periplus.console.lead_page import read_leads
from periplus.console.run_artifacts import has_film
from periplus.console.run_labels import MARKS, format_when
from periplus.console.run_list import RunListRow, build_run_row
from periplus.console.template_filters import format_duration
from periplus.demos.demo_measurements import read_visit
from periplus.errors import UserError
from periplus.service.problem_details import ApiProblem
from periplus.service.visits.visit import VisitActionUnavailable, VisitorVisit, VisitShow
from periplus.service.visits.visit_models import NAME
from periplus.service.visits.visit_registry import TooManyVisits, VisitRegistry
from periplus.service.visits.visit_routes import PREFIX
from periplus.settings import load_settings

EMBED = '<iframe src="{url}" title="{title}" width="1280" height="800" allow="autoplay; microphone; fullscreen" style="border:0"></iframe>'
"""What shows a visitor's page in another site's page."""
MOST_SITES = 200
MOST_PAST = 12
LOOKED_AT = 500
"""How many of the newest runs are searched for demos."""
_LANGUAGE = r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*)?$"

router = APIRouter()
_MAY_START = [Depends(require_role("operate"))]


@dataclass(frozen=True, slots=True)
class DemoFlowRow:
    """A presentation flow in the list."""

    site: str
    flow_id: str
    name: str
    purpose: str
    languages: tuple[str, ...]
    segments: int
    took: str
    """Approximate duration; empty if unknown."""


@dataclass(frozen=True, slots=True)
class VisitLinkRow:
    """A valid link in the list."""

    visit_id: str
    label: str
    site: str
    flow_id: str
    flow: str
    """The flow's name."""
    state: str
    ended: str
    shows: int
    watched_by: int
    run_id: str


@dataclass(frozen=True, slots=True)
class PastDemo:
    """A past demo in the list."""

    run: RunListRow
    film: bool
    """Whether it has a film."""


@dataclass(frozen=True, slots=True)
class CreatedLink:
    """A new link; it is shown only once."""

    url: str
    label: str
    flow: str
    embed: str = ""
    """HTML that shows it in a page of another site; empty if no origin may."""
    form_is_off: bool = False
    """Whether the flow has a form that visitors do not see, because their words are not stored."""


@dataclass(frozen=True, slots=True)
class LinkShowRow:
    """One presentation of a link: what was watched, where the visitor left, what was asked."""

    run_id: str
    began: str
    ended: str
    watched: str
    shown: int
    segments: tuple[SegmentVisit, ...]
    left_at: str
    """Title of the segment in which it ended; empty if it came to its end."""
    visit: DemoVisit


@router.get("/demos")
async def demos(request: Request, parts: ConsoleContextParam) -> Response:
    """List the flows, the valid links and past demos."""
    return await _page(request, parts)


@router.post("/demos/links", dependencies=_MAY_START)
async def make_link(
    request: Request,
    parts: ConsoleContextParam,
    site: Annotated[str, Form(pattern=NAME)],
    flow: Annotated[str, Form(pattern=NAME)],
    label: Annotated[str, Form(max_length=80)] = "",
    language: Annotated[str, Form(pattern=_LANGUAGE)] = "",
    then: Annotated[str, Form(pattern=r"^(link|watch)$")] = "link",
) -> Response:
    """Create a link for a visitor and show it once; `then=watch`: start the demo and redirect to it."""
    visits = _visits(parts)
    try:
        visit, token = await visits.make(site, flow, language=language or None, label=label)
        if then == "watch":
            visits.start(visit)
            return RedirectResponse(f"{PREFIX}/{token}", 303)
    except UserError as exc:
        raise ApiProblem(422, "invalid_request", exc.message, fix=exc.fix or "") from exc
    except TooManyVisits as exc:
        raise ApiProblem(503, "full", str(exc), fix=f"try again in {exc.retry_s} s, or end a demo") from exc
    except VisitActionUnavailable as exc:
        raise ApiProblem(409, "not_now", str(exc)) from exc
    base = visits.settings.public_url or str(request.base_url)
    url = f"{base.rstrip('/')}{PREFIX}/{token}"
    embed = (
        EMBED.format(url=escape(url), title=escape(visit.flow.name)) if visits.settings.embed_origins else ""
    )
    off = visit.flow.lead_form is not None and load_settings().visitor_retention_days == 0
    made = CreatedLink(url, visit.label, visit.flow.name, embed, off)
    response = await _page(request, parts, made)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/demos/links/{visit_id}/end", dependencies=_MAY_START)
async def end_link(
    parts: ConsoleContextParam, visit_id: Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
) -> Response:
    """Stop the demo and revoke its link."""
    visits = _visits(parts)
    visit = visits.by_id(visit_id)
    if visit is None:
        raise ApiProblem(404, "not_found", f"no link {visit_id!r}, or it was revoked")
    await visits.forget(visit)
    return RedirectResponse("/demos", 303)


@router.get("/demos/links/{visit_id}", dependencies=_MAY_START)
async def link_figures(
    request: Request,
    parts: ConsoleContextParam,
    visit_id: Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")],
) -> Response:
    """Show what visitors of a link watched, where they left, and what they asked."""
    visit = _visits(parts).by_id(visit_id)
    if visit is None:
        raise ApiProblem(404, "not_found", f"no link {visit_id!r}, or it was revoked")
    titles = {each.segment_id: each.heading for each in visit.flow.ordered_segments}
    shows = [await _show_row(parts, each, titles) for each in visit.past]
    return render(
        request,
        "link.html.j2",
        link=visit_row(visit),
        shows=shows[::-1],
        titles=titles,
        leads=await read_leads(parts, visit_id),
        words_are_kept=load_settings().visitor_retention_days > 0,
    )


async def _show_row(parts: ConsoleContext, show: VisitShow, titles: Mapping[str, str]) -> LinkShowRow:
    seen = await read_visit(parts.runs, show.run_id)
    left = ""
    if show.ended not in (None, "finished") and seen.segments:
        last = seen.segments[-1]
        left = titles.get(last.segment_id, last.segment_id)
    watched = sum(each.seconds or 0.0 for each in seen.segments)
    return LinkShowRow(
        show.run_id,
        format_when(show.started_at, datetime.now(UTC).date()).text,
        show.ended or "",
        format_duration(watched * 1_000),
        len({each.segment_id for each in seen.segments if each.status == "shown"} & titles.keys()),
        tuple(seen.segments),
        left,
        seen,
    )


def _visits(parts: ConsoleContext) -> VisitRegistry:
    if parts.visits is None:
        raise ApiProblem(409, "no_demos", "this service has no demos; start it with --demo NAME")
    return parts.visits


async def _page(request: Request, parts: ConsoleContext, made: CreatedLink | None = None) -> Response:
    flows, away = await _flows(parts)
    return render(
        request,
        "demos.html.j2",
        flows=flows,
        away=away,
        made=made,
        past=await _list_past_demos(parts, flows),
        marks=MARKS,
        visits=[visit_row(each) for each in reversed(parts.visits.all())] if parts.visits else [],
        may_start=parts.visits is not None and get_person(request).may("operate"),
        may_film=parts.jobs is not None and get_person(request).may("operate"),
        shown=parts.visits is not None,
    )


async def _list_past_demos(parts: ConsoleContext, flows: Sequence[DemoFlowRow]) -> list[PastDemo]:
    """Return past demos, newest first."""
    newest = await parts.runs.runs(limit=LOOKED_AT)
    shown = [run for run in newest if run.kind == "demo"][:MOST_PAST]
    names = {(flow.site, flow.flow_id): flow.name for flow in flows}
    left = await asyncio.gather(*(parts.runs.artifacts(run.run_id) for run in shown))
    today = datetime.now(UTC).date()
    return [
        PastDemo(
            build_run_row(run, today, name=names.get((run.website_id, run.subject), "")), has_film(artifacts)
        )
        for run, artifacts in zip(shown, left, strict=True)
    ]


async def _flows(parts: ConsoleContext) -> tuple[list[DemoFlowRow], list[str]]:
    """Return all flows, and the websites whose knowledge is not available."""
    found: list[DemoFlowRow] = []
    away: list[str] = []
    for site in (await parts.knowledge_server.views.websites())[:MOST_SITES]:
        try:
            view = (await parts.knowledge_server.views.current(site)).view
        except KnowledgeServerError:
            away.append(site)
            continue
        found += flow_rows(site, view.knowledge.flows)
    return found, away


def flow_rows(site: str, flows: Mapping[str, PresentationFlow]) -> list[DemoFlowRow]:
    """Return a website's flows, sorted by name."""
    return [
        DemoFlowRow(
            site,
            flow_id,
            flow.name or flow_id,
            flow.description,
            tuple(dict.fromkeys([flow.language, *flow.languages])),
            len(flow.segments),
            format_duration(None if flow.duration.typical is None else flow.duration.typical * 1_000),
        )
        for flow_id, flow in sorted(flows.items(), key=lambda each: each[1].name or each[0])
    ]


def visit_row(visit: VisitorVisit) -> VisitLinkRow:
    """Return a link's row, without its token."""
    return VisitLinkRow(
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
