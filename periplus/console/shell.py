"""What every page of the console is made with: templates, guards against scripts, roles, forms, errors.

A page renders a template that extends `base.html.j2` by `render`; what it works with it gets by `parts_of`; what only
some may do asks for `requires(ROLE)`. Whatever a form sends is refused unless it was shown by this service to
the same person (`csrf_field()` in the form, checked here for every page). Not here: any page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import resources
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode, urlsplit

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Scope

from kb_store import Stores
from kb_store.errors import StoreError
from kb_store.runs import RunStore
from mcp_server.desk import Desk
from mcp_server.errors import BadRequest, Busy, DeskError, SourceDown, TookTooLong, UnknownName
from periplus import __version__
from periplus.console import telling
from periplus.console.pictures import Pictures
from periplus.service.access import ASSETS, SIGN_IN, is_page, person_of
from periplus.service.health import HealthReport
from periplus.service.problems import ApiProblem, request_id_of
from periplus.service.queue import RunQueue
from periplus.service.sessions import ANYBODY, Person, Role, Sessions
from periplus.service.visiting.book import Visits

THEME = "periplus_theme"
"""The cookie that remembers light or dark; without it the system's choice counts."""
THEMES = ("auto", "light", "dark")
FIELD = "csrf_token"
"""Of every form."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_GUARDS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",  # `no-referrer` would hide from us where a form comes from
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class ConsoleParts:
    """What the pages work with. Opened and closed by whoever made it."""

    desk: Desk
    """The questions about knowledge: `desk.visit(website)` gives the view in force, and a note where it is stale."""
    stores: Stores
    runs: RunStore
    folder: Path
    """Of runs: the only one from which what runs left is shown."""
    queue: RunQueue
    health: HealthReport
    sessions: Sessions
    pictures: Pictures = field(default_factory=Pictures)
    visits: Visits | None = None
    """Demos for visitors; None: there are none."""

    @property
    def views(self) -> Any:
        """The desk's views, as they were authored: `desk.visit` has them as they were learned."""
        return self.desk.views


@dataclass(frozen=True, slots=True)
class Link:
    """Where one can go from here."""

    label: str
    href: str
    current: bool = False


_MENU = (
    ("Websites", "/"),
    ("Runs", "/runs"),
    ("Demos", "/demos"),
    ("Reports", "/reports"),
    ("Health", "/health"),
)
_OF_A_SITE = (
    ("Map", ""),
    ("Search", "/search"),
    ("Where am I?", "/where"),
    ("Paths", "/paths"),
    ("Tasks", "/tasks"),
    ("Proposals", "/proposals"),
)
"""Shown where there is such a page."""


@dataclass(frozen=True, slots=True)
class _Mounted:
    parts: ConsoleParts
    paths: frozenset[str]
    """Of the pages there are."""


def mount(app: FastAPI, parts: ConsoleParts, pages: Sequence[APIRouter]) -> None:
    """Add the console to an app, its errors as pages among it."""
    paths = frozenset(str(getattr(route, "path", "")) for page in pages for route in page.routes)
    app.state.console = _Mounted(parts, paths)
    app.include_router(_assets)
    for page in pages:
        app.include_router(page, include_in_schema=False, dependencies=[Depends(_sent_by_our_form)])
    for kind in (ApiProblem, RequestValidationError, HTTPException, StoreError, DeskError):
        app.add_exception_handler(kind, _on_pages(app.exception_handlers.get(kind)))


def parts_of(request: Request) -> ConsoleParts:
    """What the pages of this app work with."""
    mounted: _Mounted = request.app.state.console
    return mounted.parts


TheParts = Annotated[ConsoleParts, Depends(parts_of)]


def person(request: Request) -> Person:
    """Who looks."""
    return person_of(request.scope) or ANYBODY


def requires(role: Role) -> Callable[[Request], Person]:
    """A dependency that lets only those pass who have this role, or one that includes it."""

    def check(request: Request) -> Person:
        found = person(request)
        if not found.may(role):
            raise ApiProblem(
                403, "forbidden", f"{found.name} has the role {found.role}; this needs {role}",
                fix=f"sign in with a key made by `periplus mcp token new --scope {role}`",
            )  # fmt: skip
        return found

    return check


# -- rendering -------------------------------------------------------------------------------------


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A page. `site` in the context (a website's id) gives it the menu of that site; `note` is told on top."""
    page = _ENVIRONMENT.get_template(template)
    return HTMLResponse(page.render(**_given(request, context)), status, headers=_GUARDS)


def site_path(site: str, *parts: str) -> str:
    """The address of a page about a website; parts are ids, and may hold anything."""
    return "/".join(["/sites", quote(site, safe=""), *(quote(part, safe="") for part in parts)])


def _given(request: Request, context: dict[str, Any]) -> dict[str, Any]:
    looks, path = person(request), request.url.path
    mounted: _Mounted = request.app.state.console
    sessions = mounted.parts.sessions

    def csrf_field() -> Markup:
        """The hidden field that every form needs."""
        return Markup('<input type="hidden" name="{}" value="{}">').format(
            FIELD, sessions.form_token(looks.bound_to)
        )

    theme = request.cookies.get(THEME, "auto")
    site = context.get("site")
    query = f"?{request.url.query}" if request.url.query else ""
    return {
        "person": looks,
        "known": person_of(request.scope) is not None,
        "csrf_field": csrf_field,
        "theme": theme if theme in THEMES else "auto",
        "version": __version__,
        "here": f"{path}{query}" if request.method in _READS else _before(request),
        "menu": _menu(mounted.paths, path),
        "site": None,
        "site_menu": [] if site is None else _site_menu(mounted.paths, str(site), path),
        "note": None,
        **context,
    }


def _menu(paths: frozenset[str], here: str) -> list[Link]:
    return [
        Link(
            label,
            href,
            here == href or (href == "/" and here.startswith("/sites/")) or here.startswith(f"{href}/"),
        )
        if href != "/"
        else Link(label, href, here == "/" or here.startswith("/sites/"))
        for label, href in _MENU
        if href in paths
    ]


def _site_menu(paths: frozenset[str], site: str, here: str) -> list[Link]:
    base = site_path(site)
    decoded = f"/sites/{site}"
    return [
        Link(
            label, base + rest, here == decoded + rest or bool(rest and here.startswith(f"{decoded}{rest}/"))
        )
        for label, rest in _OF_A_SITE
        if f"/sites/{{site}}{rest}" in paths
    ]


def _read_assets() -> dict[str, tuple[bytes, str]]:
    folder = resources.files("periplus.console").joinpath("static")
    found = {}
    for file in folder.iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            found[file.name] = (file.read_bytes(), kind)
    return found


_ASSETS = _read_assets()
_VERSIONS = {name: hashlib.sha256(content).hexdigest()[:12] for name, (content, _) in _ASSETS.items()}


def asset(name: str) -> str:
    """The address of a file of the console's, which changes with its content."""
    return f"{ASSETS}{name}?v={_VERSIONS[name]}"


_ENVIRONMENT = Environment(
    loader=PackageLoader("periplus.console", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals.update(asset=asset, site_path=site_path)
_ENVIRONMENT.filters.update(telling.FILTERS)

_assets = APIRouter(include_in_schema=False)


@_assets.get(f"{ASSETS}{{name}}")
async def _file(name: str) -> Response:
    if name not in _ASSETS:
        raise ApiProblem(404, "not_found", f"there is no {name}")
    content, kind = _ASSETS[name]
    kept = "public, max-age=31536000, immutable"
    return Response(content, media_type=kind, headers={"Cache-Control": kept})


# -- forms -----------------------------------------------------------------------------------------


async def _sent_by_our_form(request: Request) -> None:
    """Refuses what another site's page has a browser send."""
    if request.method in _READS:
        return
    refused = _from_elsewhere(request)
    if refused is None:
        given = (await request.form()).get(FIELD, "")
        token = "" if isinstance(given, UploadFile) else given
        ours = parts_of(request).sessions.form_is_ours(person(request).bound_to, token)
        refused = (
            None
            if ours
            else "the form is not one that this service showed you, or it is of an earlier session"
        )
    if refused is not None:
        raise ApiProblem(
            403, "not_our_form", refused, fix="open the page again, and send its form from there"
        )


def _from_elsewhere(request: Request) -> str | None:
    """Why a request does not come from a page of ours, as far as the browser tells."""
    origin = request.headers.get("origin")
    if origin is not None:
        try:
            netloc = urlsplit(origin).netloc
        except ValueError:
            netloc = ""
        if not netloc or netloc.lower() != request.headers.get("host", "").lower():
            return f"forms of {origin[:200]} may not be sent here"
    elif request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "forms of other sites may not be sent here"
    return None


# -- errors ----------------------------------------------------------------------------------------

_Handler = Callable[[Request, Exception], Any]


def _on_pages(elsewhere: _Handler | None) -> _Handler:
    async def handle(request: Request, error: Exception) -> Response:
        if is_page(request.url.path) and not request.url.path.startswith(ASSETS):
            return error_page(request, error)
        if elsewhere is None:
            raise error
        found: Response = await elsewhere(request, error)
        return found

    return handle


def error_page(request: Request, error: Exception) -> HTMLResponse:
    """What went wrong, in words, with what to do about it and where else to look."""
    told = _told(request, error)
    site = request.path_params.get("site")
    no_such_site = isinstance(error, UnknownName) and error.kind == "website"
    answer = render(
        request,
        "error.html.j2",
        told.status,
        site=site if isinstance(site, str) and not no_such_site and told.status != 422 else None,
        problem=told,
        title=_TITLES.get(told.status) or HTTPStatus(told.status).phrase.capitalize(),
        suggestions=_suggestions(request, error, told),
        request_id=request_id_of(request),
    )
    answer.headers.update(told.headers)
    if (
        told.status == 401
    ):  # a browser asked for `Basic` would open a dialog of its own, which does not help here
        answer.headers["WWW-Authenticate"] = 'Bearer realm="Periplus"'
    return answer


_TITLES = {
    400: "This cannot be read",
    401: "Sign in first",
    403: "Not for you to do",
    404: "There is no such page",
    408: "That took too long",
    409: "Not as things are",
    413: "Too large",
    422: "This cannot be read",
    429: "Too much at once",
    500: "Something went wrong here",
    503: "Not at the moment",
}
"""Of pages that say what went wrong."""


def refusal_page(app: FastAPI) -> Callable[[ApiProblem, Scope], ASGIApp]:
    """How who is let in (`service.access`) refuses pages."""

    def refuse(problem: ApiProblem, scope: Scope) -> ASGIApp:
        return error_page(Request({**scope, "app": app}), problem)

    return refuse


def _told(request: Request, error: Exception) -> ApiProblem:
    if isinstance(error, ApiProblem):
        return _of_ours(error)
    if isinstance(error, DeskError):
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)
        return ApiProblem(
            status, error.code, error.message, fix=error.hint if status == 503 and error.hint else ""
        )
    if isinstance(error, StoreError):
        fix = "it is asked again when you open the page again; the health page says when it is back"
        return ApiProblem(503, "store_unavailable", "the store does not answer", fix=fix)
    if isinstance(error, RequestValidationError):
        said = "; ".join(_invalid(each) for each in error.errors()[:5])
        fix = "open the page that led here again, and go on from there"
        return ApiProblem(
            422, "invalid_request", said or "something about this request cannot be read", fix=fix
        )
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: f"there is no page at {request.url.path}", 405: f"{request.method} is not for this page"}
    return ApiProblem(status, "refused", words.get(status, HTTPStatus(status).phrase.lower()))


def _of_ours(error: ApiProblem) -> ApiProblem:
    """As it says to programs, but for what a person has no use for."""
    if error.status == 401:
        said = "you are not signed in, or not any more: nothing was done of what you asked"
        return ApiProblem(401, error.code, said, headers=error.headers)
    if error.code == "defect":
        said = "this should not have happened: it is a fault of this service, and none of yours"
        fix = "try it again; where it comes back, tell whoever runs the service the request below"
        return ApiProblem(500, error.code, said, fix=fix)
    return error


_STATUS: dict[type[DeskError], int] = {
    UnknownName: 404, SourceDown: 503, Busy: 503, TookTooLong: 503, BadRequest: 422,
}  # fmt: skip


def _invalid(error: Mapping[str, Any]) -> str:
    """One field that cannot be accepted, for whoever typed or followed it."""
    place, *rest = error.get("loc") or ("request",)
    name = str(rest[-1] if rest else place)
    where = {"path": "in the address", "query": "in the address", "body": "of the form"}.get(str(place), "")
    kind, more = str(error.get("type", "")), error.get("ctx") or {}
    said = {
        "missing": "is missing",
        "int_parsing": "has to be a number",
        "string_pattern_mismatch": "is none",
        "string_too_long": f"is longer than {more.get('max_length')} characters",
        "literal_error": f"has to be {more.get('expected')}",
    }.get(kind) or f"cannot be accepted: {error.get('msg', '')}"
    return f"“{name}” {where} {said}".replace("  ", " ")


def _suggestions(request: Request, error: Exception, told: ApiProblem) -> list[Link]:
    """Where one may have wanted to go."""
    if told.status == 401:
        return [Link("Sign in", f"{SIGN_IN}?{urlencode({'next': _before(request)})}")]
    site = request.path_params.get("site")
    found = [Link("All websites", "/")]
    if request.url.path.startswith("/runs/"):
        found.insert(0, Link("All runs", "/runs"))
    if told.status == 500:
        found.append(Link("Health of the service", "/health"))
    if isinstance(error, UnknownName) and error.kind == "website":
        return found
    if isinstance(site, str):
        found.insert(0, Link(f"The map of {site}", site_path(site)))
        if isinstance(error, UnknownName):
            wanted = quote(error.name.replace("_", " "))
            found.insert(0, Link(f"Search {site} for “{error.name}”", f"{site_path(site)}/search?q={wanted}"))
    return found


def _before(request: Request) -> str:
    """The page of ours that led here, to come back to."""
    try:
        parts = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/"
    if parts.netloc.lower() != request.headers.get("host", "").lower() or not parts.path:
        return "/"
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
