"""HTTP: links under /api/visits for whoever has a key, the page behind one at /visit/TOKEN for whoever has it."""

# ruff: noqa: FAST003 - the dependency `TheVisit` takes the token

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

from periplus.errors import UserError
from periplus.service.problems import ApiProblem, documented
from periplus.service.visiting.book import Full, Visits
from periplus.service.visiting.client import livekit_client
from periplus.service.visiting.models import Say, VisitList, VisitMade, VisitRequest, VisitView, Writing
from periplus.service.visiting.visit import NotNow, TooMuch, Visit

PREFIX = "/visit"
AGAIN_S = 5.0
"""A picture that does not change is sent again after so long: a watcher who left is then known to have."""
BOUNDARY = b"periplus-frame"
MOST_SEQ = 2**53

_HERE = resources.files("periplus.service.visiting")
_FILES = {
    "visit.css": "text/css",
    "visit.js": "text/javascript",
    "view.js": "text/javascript",
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


def mount(app: FastAPI, visits: Visits, prefix: str, guarded: Sequence[Any]) -> None:
    """Into the service: `prefix` is where REST is, `guarded` the dependencies of what needs a key."""
    app.state.visits = visits
    app.include_router(api, prefix=prefix, dependencies=list(guarded))
    app.include_router(pages)


def _visits(request: Request) -> Visits:
    visits: Visits = request.app.state.visits
    return visits


TheVisits = Annotated[Visits, Depends(_visits)]


# -- for whoever has a key -------------------------------------------------------------------------


@api.post(
    "/visit",
    status_code=201,
    response_model=VisitMade,
    summary="Make a link to a demo",
    tags=["visits"],
    responses=documented(401, 403, 413, 422, 429, 503),
)
async def make_visit(
    body: VisitRequest, visits: TheVisits, request: Request, response: Response
) -> VisitMade:
    """Whoever opens the link sees the demo, may interrupt it and ask. It begins when they start it."""
    wanted = body.model_dump(exclude={"website", "flow"})
    try:
        visit, token = await visits.make(body.website, body.flow, **wanted)
    except UserError as exc:
        raise ApiProblem(422, "invalid_request", exc.message, fix=exc.fix or "") from exc
    except Full as exc:
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
    responses=documented(401, 422, 429, 503),
)
async def list_visits(visits: TheVisits) -> VisitList:
    """Every link that is good, the newest last; none of them can be read from here."""
    return VisitList(visits=[_view(each) for each in visits.all()])


VisitId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", examples=["5f0c2a91d3b64e77"])]


@api.get(
    "/visits/{visit_id}",
    response_model=VisitView,
    summary="How a demo for a visitor stands",
    tags=["visits"],
    responses=documented(401, 404, 422, 429, 503),
)
async def get_visit(visit_id: VisitId, visits: TheVisits) -> VisitView:
    """Whether it was started, is being watched, or how it ended."""
    return _view(_by_id(visits, visit_id))


@api.post(
    "/visits/{visit_id}/end",
    response_model=VisitView,
    summary="Take a link back",
    tags=["visits"],
    responses=documented(401, 403, 404, 422, 429, 503),
)
async def end_visit(visit_id: VisitId, visits: TheVisits) -> VisitView:
    """A demo that is being shown ends, and the link is good no more."""
    visit = _by_id(visits, visit_id)
    await visits.forget(visit)
    return _view(visit)


def _by_id(visits: Visits, visit_id: str) -> Visit:
    visit = visits.by_id(visit_id)
    if visit is None:
        raise ApiProblem(
            404, "not_found", f"there is no link {visit_id!r}", fix="GET /api/visits lists those there are"
        )
    return visit


def _view(visit: Visit) -> VisitView:
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
        expires_at=visit.expires_at,
    )


def _full(full: Full) -> ApiProblem:
    return ApiProblem(
        503,
        "full",
        str(full),
        fix=f"try again in {full.retry_s} s",
        headers={"Retry-After": str(full.retry_s)},
    )


# -- for whoever has the link ----------------------------------------------------------------------


def _visit(token: str, visits: TheVisits) -> Visit:
    visit = visits.find(token)
    if visit is None:
        raise ApiProblem(404, "not_found", "this link is good no more", fix="ask for a new one")
    return visit


TheVisit = Annotated[Visit, Depends(_visit)]


@pages.get("/static/{name}")
async def static(name: str) -> Response:
    """The page's own files; nothing comes from elsewhere."""
    if name == "livekit-client.js" and (bundled := livekit_client()) is not None:
        return FileResponse(bundled, media_type="text/javascript", headers={"Cache-Control": "max-age=3600"})
    if name not in _FILES:
        raise ApiProblem(404, "not_found", f"there is no {name}")
    content = _HERE.joinpath("static", name).read_bytes()
    return Response(content, media_type=_FILES[name], headers={"Cache-Control": "no-cache"})


@pages.get("/{token}", response_class=HTMLResponse)
async def page(token: str, visits: TheVisits) -> HTMLResponse:
    """The visitor's page; of a link that is not good, one that says so."""
    visit = visits.find(token)
    language = visit.flow.language.split("-")[0] if visit is not None else "en"
    words = _WORDS.get(language, _WORDS["en"])
    text = _PAGE.render(visit=visit, words=words, language=language if language in _WORDS else "en")
    return HTMLResponse(text, 200 if visit is not None else 404, headers=_guards(visits))


def _guards(visits: Visits) -> dict[str, str]:
    """The link is a secret, so it goes nowhere; and nothing from elsewhere comes in."""
    sockets = "ws: wss:" if visits.in_rooms else ""
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' blob: data:; "
        f"connect-src 'self' {sockets}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex, nofollow",
        "Permissions-Policy": "camera=(), geolocation=()",
    }


@pages.get("/{token}/state")
async def state(visit: TheVisit) -> dict[str, Any]:
    """All that the page shows, and the way into its room where there is one."""
    room = await visit.room()
    return {**visit.as_data(), "livekit": None if room is None else {"url": room.url, "token": room.token}}


@pages.post("/{token}/start", status_code=202)
async def start(visit: TheVisit, visits: TheVisits) -> dict[str, str]:
    """Begin, or begin again."""
    try:
        visits.start(visit)
    except Full as exc:
        raise _full(exc) from exc
    except NotNow as exc:
        raise _not_now(exc) from exc
    return {"state": visit.state}


@pages.post("/{token}/say", status_code=202)
async def say(body: Say, visit: TheVisit) -> dict[str, str]:
    """By the chat box or by a button: the presenter falls silent and attends to it."""
    try:
        visit.hear(body.text, by=body.by)
    except NotNow as exc:
        raise _not_now(exc) from exc
    except TooMuch as exc:
        wait = max(1, math.ceil(exc.wait_s))
        raise ApiProblem(
            429, "rate_limited", "that was a lot at once", fix=f"come back in {wait} s",
            headers={"Retry-After": str(wait)},
        ) from exc  # fmt: skip
    return {"state": visit.state}


@pages.post("/{token}/attention", status_code=202)
async def attention(body: Writing, visit: TheVisit) -> dict[str, str]:
    """The visitor begins to write: the presenter falls silent and waits for the words."""
    try:
        visit.attend(writing=body.writing)
    except NotNow as exc:
        raise _not_now(exc) from exc
    return {"state": visit.state}


@pages.post("/{token}/end", status_code=202)
async def end(visit: TheVisit) -> dict[str, str]:
    """The visitor has seen enough."""
    visit.end("left")
    return {"state": visit.state}


def _not_now(error: NotNow) -> ApiProblem:
    return ApiProblem(409, "not_now", str(error), fix="GET the link's /state to see how it stands")


@pages.get("/{token}/events")
async def events(
    visit: TheVisit,
    after: int = 0,
    last_event_id: Annotated[int, Header(ge=0, le=MOST_SEQ)] = 0,
) -> StreamingResponse:
    """Server-sent events, from the number that `EventSource` had last."""
    return StreamingResponse(
        _told(visit, max(after, last_event_id)),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _told(visit: Visit, after: int) -> AsyncGenerator[bytes]:
    yield format_sse_event(comment="here", retry=1_000)  # the page knows that it is connected
    async with aclosing(visit.follow(after)) as items:
        async for item in items:
            if item is None:
                yield format_sse_event(comment="quiet")
            else:
                yield format_sse_event(
                    id=str(item.number), event=item.kind, data_str=json.dumps(item.data, ensure_ascii=False)
                )


@pages.get("/{token}/picture")
async def picture(visit: TheVisit) -> StreamingResponse:
    """The picture as JPEGs that take each other's place (`multipart/x-mixed-replace`)."""
    if visit.state != "playing":
        raise _not_now(NotNow("nothing is being shown"))
    return StreamingResponse(
        _parts(visit),
        media_type=f"multipart/x-mixed-replace; boundary={BOUNDARY.decode()}",
        headers={"X-Accel-Buffering": "no"},
    )


async def _parts(visit: Visit) -> AsyncGenerator[bytes]:
    """Each frame with the boundary after it: a browser shows it once it knows that it is over."""
    yield b"--" + BOUNDARY
    async with aclosing(visit.frames(again_after_s=AGAIN_S)) as frames:
        with suppress(NotNow):  # it was over just now
            async for jpeg in frames:
                head = b"\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg)
                yield head + jpeg + b"\r\n--" + BOUNDARY
    yield b"--\r\n"


@pages.get("/{token}/speech/{number}")
async def speech(visit: TheVisit, number: int) -> Response:
    """What the presenter says, as a WAV."""
    wav = visit.speaker.wav(number)
    if wav is None or not wav.is_file():
        raise ApiProblem(404, "not_found", "that was said a while ago")
    return FileResponse(wav, media_type="audio/wav")
