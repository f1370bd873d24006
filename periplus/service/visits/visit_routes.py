"""HTTP routes: links under /api/visits, with an API key; the page of a link at /visit/TOKEN."""

# ruff: noqa: FAST003 - the dependency `VisitParam` takes the token

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from importlib import resources
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, StreamingResponse
from fastapi.sse import format_sse_event
from jinja2 import Environment

from kb_store.audit.audit_recorder import record_async
from kb_store.runs.service_record_store import ServiceRecordStore
from periplus.demos.visitor_leads import VisitorLeads
from periplus.errors import UserError
from periplus.service.job_routes import refuse_secret_names
from periplus.service.operation_links import document_links
from periplus.service.problem_details import ApiProblem, document_problems
from periplus.service.visits.lead_routes import LeadRequest, LeadsParam, take_lead
from periplus.service.visits.lead_routes import api as lead_api
from periplus.service.visits.visit import VisitActionUnavailable, VisitorVisit, VisitRateExceeded
from periplus.service.visits.visit_models import Say, VisitList, VisitMade, VisitRequest, VisitView, Writing
from periplus.service.visits.visit_registry import TooManyVisits, VisitRegistry
from periplus.service.visits.visit_settings import find_livekit_client
from periplus.settings import load_settings

PREFIX = "/visit"
AGAIN_S = 5.0
"""Seconds until an unchanged picture is sent again, to detect closed connections."""
BOUNDARY = b"periplus-frame"
MOST_SEQ = 2**53

_HERE = resources.files("periplus.service.visits")
_FILES = {
    "visit.css": "text/css",
    "visit.js": "text/javascript",
    "view.js": "text/javascript",
    "lead.js": "text/javascript",
    "words.json": "application/json",
}
_PAGE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
    _HERE.joinpath("static", "visit.html.j2").read_text(encoding="utf-8")
)
_WORDS: dict[str, dict[str, str]] = json.loads(
    _HERE.joinpath("static", "words.json").read_text(encoding="utf-8")
)

api = APIRouter()
pages = APIRouter(prefix=PREFIX, include_in_schema=False)


def mount_visit_routes(
    app: FastAPI,
    visits: VisitRegistry,
    records: ServiceRecordStore,
    prefix: str,
    guarded: Sequence[Any],
) -> None:
    """Add the routes to the service. `records`: for visitors' forms; `prefix`: of REST; `guarded`: dependencies that
    check the API key.
    """
    app.state.visits = visits
    app.state.leads = VisitorLeads(records)
    app.include_router(api, prefix=prefix, dependencies=list(guarded))
    app.include_router(lead_api, prefix=prefix, dependencies=list(guarded))
    app.include_router(pages)


def _visits(request: Request) -> VisitRegistry:
    visits: VisitRegistry = request.app.state.visits
    return visits


VisitRegistryParam = Annotated[VisitRegistry, Depends(_visits)]


# -- with an API key -----------------------------------------------------------------------------


@api.post(
    "/visit",
    status_code=201,
    response_model=VisitMade,
    summary="Create a link to a demo",
    tags=["visits"],
    responses={
        201: document_links("visit_id", "get_visit", "end_visit"),
        **document_problems(401, 403, 413, 422, 429, 503),
    },
)
async def make_visit(
    body: VisitRequest, visits: VisitRegistryParam, request: Request, response: Response
) -> VisitMade:
    """Anyone who opens the link sees the demo, and may interrupt it and ask questions. It begins when they
    start it.
    """
    refuse_secret_names(body)
    wanted = body.model_dump(exclude={"website", "flow"})
    try:
        visit, token = await visits.make(body.website, body.flow, **wanted)
    except UserError as exc:
        raise ApiProblem(422, "invalid_request", exc.message, fix=exc.fix or "") from exc
    except TooManyVisits as exc:
        raise _full(exc) from exc
    base = visits.settings.public_url or str(request.base_url)
    url = f"{base.rstrip('/')}{PREFIX}/{token}"
    response.headers["Location"] = f"/api/visits/{visit.visit_id}"
    return VisitMade(**_view(visit).model_dump(), url=url, token=token)


@api.get(
    "/visits",
    response_model=VisitList,
    summary="List links to demos",
    tags=["visits"],
    responses=document_problems(401, 422, 429, 503),
)
async def list_visits(visits: VisitRegistryParam) -> VisitList:
    """Every valid link, newest last. The URLs cannot be read here."""
    return VisitList(visits=[_view(each) for each in visits.all()])


VisitId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", examples=["5f0c2a91d3b64e77"])]


@api.get(
    "/visits/{visit_id}",
    response_model=VisitView,
    summary="State of a demo for a visitor",
    tags=["visits"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def get_visit(visit_id: VisitId, visits: VisitRegistryParam) -> VisitView:
    """Whether it was started, is being watched, or how it ended."""
    return _view(_find_visit(visits, visit_id))


@api.post(
    "/visits/{visit_id}/end",
    response_model=VisitView,
    summary="Revoke a link",
    tags=["visits"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def end_visit(visit_id: VisitId, visits: VisitRegistryParam) -> VisitView:
    """A running demo ends, and the link becomes invalid."""
    visit = _find_visit(visits, visit_id)
    await visits.forget(visit)
    return _view(visit)


def _find_visit(visits: VisitRegistry, visit_id: str) -> VisitorVisit:
    visit = visits.by_id(visit_id)
    if visit is None:
        raise ApiProblem(404, "not_found", f"no link {visit_id!r}", fix="list the links with GET /api/visits")
    return visit


def _view(visit: VisitorVisit) -> VisitView:
    return VisitView(
        visit_id=visit.visit_id,
        label=visit.label,
        website=visit.wish.website,
        flow=visit.wish.flow,
        language=visit.flow.language,
        state=visit.state,
        ended=visit.ended,
        shows=visit.shows,
        run_id=visit.run_id,
        watched_by=visit.feed.followers,
        lead_form=visit.flow.lead_form is not None and load_settings().visitor_retention_days > 0,
        expires_at=visit.expires_at,
    )


def _full(full: TooManyVisits) -> ApiProblem:
    return ApiProblem(
        503,
        "full",
        str(full),
        fix=f"try again in {full.retry_s} s",
        headers={"Retry-After": str(full.retry_s)},
    )


# -- with the link -------------------------------------------------------------------------------


def _visit(token: str, visits: VisitRegistryParam) -> VisitorVisit:
    visit = visits.find(token)
    if visit is None:
        raise ApiProblem(404, "not_found", "this link is no longer valid", fix="ask for a new one")
    return visit


VisitParam = Annotated[VisitorVisit, Depends(_visit)]


@pages.get("/static/{name}")
async def static(name: str) -> Response:
    """The page's own files; nothing is loaded from other hosts."""
    if name == "livekit-client.js" and (bundled := find_livekit_client()) is not None:
        return FileResponse(bundled, media_type="text/javascript", headers={"Cache-Control": "max-age=3600"})
    if name not in _FILES:
        raise ApiProblem(404, "not_found", f"no file {name}")
    content = _HERE.joinpath("static", name).read_bytes()
    return Response(content, media_type=_FILES[name], headers={"Cache-Control": "no-cache"})


@pages.get("/{token}", response_class=HTMLResponse)
async def page(token: str, visits: VisitRegistryParam) -> HTMLResponse:
    """The visitor's page; for an invalid link, a page that says so."""
    visit = visits.find(token)
    language = visit.flow.language.split("-")[0] if visit is not None else "en"
    words = _WORDS.get(language, _WORDS["en"])
    if visit is not None:
        await record_async("visit_opened", f"visit {visit.visit_id}", website=visit.wish.website)
    days = load_settings().visitor_retention_days
    privacy = words["kept"].format(n=f"{days:g}") if days > 0 else words["not_kept"]
    text = _PAGE.render(
        visit=visit,
        words=words,
        language=language if language in _WORDS else "en",
        privacy=privacy,
        form=visit.flow.lead_form if visit is not None and days > 0 else None,
        form_privacy=words["lead_kept"].format(n=f"{days:g}"),
    )
    return HTMLResponse(text, 200 if visit is not None else 404, headers=_build_security_headers(visits))


def _build_security_headers(visits: VisitRegistry) -> dict[str, str]:
    """Security headers: the link is a secret, so no referrer is sent, and nothing is loaded from other hosts."""
    sockets = "ws: wss:" if visits.in_rooms else ""
    frames = " ".join(visits.settings.embed_origins) or "'none'"
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' blob: data:; "
        f"connect-src 'self' {sockets}; frame-ancestors {frames}; base-uri 'none'; form-action 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex, nofollow",
        "Permissions-Policy": "camera=(), geolocation=()",
    }


@pages.get("/{token}/state")
async def state(visit: VisitParam) -> dict[str, Any]:
    """The complete state of the page, with a ticket for its room if there is one."""
    room = await visit.room()
    if room is not None:
        await record_async("room_link_made", f"visit {visit.visit_id}", website=visit.wish.website)
    return {**visit.as_data(), "livekit": None if room is None else {"url": room.url, "token": room.token}}


@pages.post("/{token}/start", status_code=202)
async def start(visit: VisitParam, visits: VisitRegistryParam) -> dict[str, str]:
    """Start or restart the demo."""
    try:
        visits.start(visit)
    except TooManyVisits as exc:
        raise _full(exc) from exc
    except VisitActionUnavailable as exc:
        raise _build_not_now_problem(exc) from exc
    return {"state": visit.state}


@pages.post("/{token}/say", status_code=202)
async def say(body: Say, visit: VisitParam) -> dict[str, str]:
    """The visitor's words, from the chat box or a button: the presenter stops speaking and handles them."""
    try:
        visit.hear(body.text, by=body.by)
    except VisitActionUnavailable as exc:
        raise _build_not_now_problem(exc) from exc
    except VisitRateExceeded as exc:
        wait = max(1, math.ceil(exc.wait_s))
        raise ApiProblem(
            429,
            "rate_limited",
            "too many messages",
            fix=f"try again in {wait} s",
            headers={"Retry-After": str(wait)},
        ) from exc
    return {"state": visit.state}


@pages.post("/{token}/attention", status_code=202)
async def attention(body: Writing, visit: VisitParam) -> dict[str, str]:
    """The visitor begins to type: the presenter stops speaking and waits for the words."""
    try:
        visit.attend(writing=body.writing)
    except VisitActionUnavailable as exc:
        raise _build_not_now_problem(exc) from exc
    return {"state": visit.state}


@pages.post("/{token}/lead", status_code=201)
async def lead(body: LeadRequest, visit: VisitParam, leads: LeadsParam) -> dict[str, str]:
    """The visitor sends the flow's form; the answer says until when it is stored."""
    return {"stored_until": (await take_lead(body, visit, leads)).isoformat(timespec="seconds")}


@pages.post("/{token}/end", status_code=202)
async def end(visit: VisitParam) -> dict[str, str]:
    """The visitor ends the demo."""
    visit.end("left")
    return {"state": visit.state}


def _build_not_now_problem(error: VisitActionUnavailable) -> ApiProblem:
    return ApiProblem(409, "not_now", str(error), fix="GET the link's /state for its current state")


@pages.get("/{token}/events")
async def events(
    visit: VisitParam,
    after: int = 0,
    last_event_id: Annotated[int, Header(ge=0, le=MOST_SEQ)] = 0,
) -> StreamingResponse:
    """Server-sent events, after the last number that `EventSource` received."""
    return StreamingResponse(
        _stream_feed(visit, max(after, last_event_id)),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _stream_feed(visit: VisitorVisit, after: int) -> AsyncGenerator[bytes]:
    yield format_sse_event(comment="here", retry=1_000)  # tells the page that it is connected
    async with aclosing(visit.follow(after)) as items:
        async for item in items:
            if item is None:
                yield format_sse_event(comment="quiet")
            else:
                yield format_sse_event(
                    id=str(item.number), event=item.kind, data_str=json.dumps(item.data, ensure_ascii=False)
                )


@pages.get("/{token}/picture")
async def picture(visit: VisitParam) -> StreamingResponse:
    """The picture as a stream of JPEGs (`multipart/x-mixed-replace`)."""
    if visit.state != "playing":
        raise _build_not_now_problem(VisitActionUnavailable("no demo is running"))
    return StreamingResponse(
        _parts(visit),
        media_type=f"multipart/x-mixed-replace; boundary={BOUNDARY.decode()}",
        headers={"X-Accel-Buffering": "no"},
    )


async def _parts(visit: VisitorVisit) -> AsyncGenerator[bytes]:
    """Yield each frame followed by the boundary: a browser only shows a frame after its end."""
    yield b"--" + BOUNDARY
    async with aclosing(visit.frames(again_after_s=AGAIN_S)) as frames:
        with suppress(VisitActionUnavailable):  # it has just ended
            async for jpeg in frames:
                head = b"\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg)
                yield head + jpeg + b"\r\n--" + BOUNDARY
    yield b"--\r\n"


@pages.get("/{token}/speech/{number}")
async def speech(visit: VisitParam, number: int) -> Response:
    """An utterance of the presenter, as WAV."""
    wav = visit.speaker.wav(number)
    if wav is None or not wav.is_file():
        raise ApiProblem(404, "not_found", "this utterance is not kept any more")
    return FileResponse(wav, media_type="audio/wav")
