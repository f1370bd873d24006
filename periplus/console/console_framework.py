"""The framework of all console pages: templates, security headers, roles, CSRF protection and error pages.

A page calls `render` with a template that extends `base.html.j2`, gets its dependencies from
`get_console_context`, and restricts access with `require_role(ROLE)`. Every form needs `csrf_field()`: a POST
without the token of the same session is refused.
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
from kb_store.runs.run_store import RunStore
from mcp_server.errors import (
    BadRequest,
    CallTimeout,
    KnowledgeServerError,
    ServerBusy,
    SourceUnavailable,
    UnknownName,
)
from mcp_server.security.key_lockout import KeyLockout
from mcp_server.server_context import ServerContext
from periplus import __version__
from periplus.console import template_filters
from periplus.console.screen_pictures import ScreenPictures
from periplus.jobs.service_jobs import ServiceJobs
from periplus.service.access_control import ASSETS, SIGN_IN, is_page, person_of
from periplus.service.console_sessions import ANYBODY, ConsolePerson, ConsoleSessions, Role
from periplus.service.offered_elements import OfferedElements
from periplus.service.problem_details import ApiProblem, get_request_id
from periplus.service.run_queue import RunQueue
from periplus.service.service_health import HealthReport
from periplus.service.single_sign_on import SingleSignOn
from periplus.service.visits.visit_registry import VisitRegistry

THEME = "periplus_theme"
"""The cookie with the colour scheme; without it the system's setting applies."""
THEMES = ("auto", "light", "dark")
FIELD = "csrf_token"
"""The name of the CSRF field in every form."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_GUARDS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",  # `no-referrer` would hide the origin of forms
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    """The stores and services that the pages use. The creator opens and closes them."""

    knowledge_server: ServerContext
    """The knowledge server: `open_request(website)` returns the current view, with a note if it is stale."""
    stores: Stores
    runs: RunStore
    folder: Path
    """The folder of runs; artifacts outside of it are not shown."""
    queue: RunQueue
    health: HealthReport
    sessions: ConsoleSessions
    offers: OfferedElements
    lockout: KeyLockout = field(default_factory=KeyLockout)
    """Refuses addresses that offer wrong keys."""
    pictures: ScreenPictures = field(default_factory=ScreenPictures)
    visits: VisitRegistry | None = None
    """Demos for visitors; None if the service has none."""
    jobs: ServiceJobs | None = None
    """Jobs and schedules; None if the service runs none."""
    sign_on: SingleSignOn | None = None
    """Single sign-on; None if people sign in with keys only."""

    @property
    def views(self) -> Any:
        """The authored views; `knowledge_server.open_request` returns them with learned data."""
        return self.knowledge_server.views


@dataclass(frozen=True, slots=True)
class SuggestedLink:
    """A link in a menu or on an error page."""

    label: str
    href: str
    current: bool = False


_MENU = (
    ("Websites", "/"),
    ("Runs", "/runs"),
    ("Jobs", "/jobs"),
    ("Demos", "/demos"),
    ("Reports", "/reports"),
    ("Health", "/health"),
    ("Audit log", "/audit"),
)
_FOR_OPERATORS = frozenset({"/audit"})
"""Entries of the menu that only the role `operate` sees."""
_OF_A_SITE = (
    ("Map", ""),
    ("Search", "/search"),
    ("Where am I?", "/where"),
    ("Paths", "/paths"),
    ("Tasks", "/tasks"),
    ("Review", "/review"),
    ("Proposals", "/proposals"),
)
"""Entries of a site's menu; shown only if the page exists."""


@dataclass(frozen=True, slots=True)
class _MountedConsole:
    parts: ConsoleContext
    paths: frozenset[str]
    """The mounted console's context, paths and session settings."""


def mount_console(app: FastAPI, parts: ConsoleContext, pages: Sequence[APIRouter]) -> None:
    """Add the console's pages and error pages to an app."""
    paths = frozenset(str(getattr(route, "path", "")) for page in pages for route in page.routes)
    app.state.console = _MountedConsole(parts, paths)
    app.include_router(_assets)
    for page in pages:
        app.include_router(page, include_in_schema=False, dependencies=[Depends(_check_own_form)])
    for kind in (ApiProblem, RequestValidationError, HTTPException, StoreError, KnowledgeServerError):
        app.add_exception_handler(kind, _build_page_handler(app.exception_handlers.get(kind)))


def get_console_context(request: Request) -> ConsoleContext:
    """Return the context of the app's console."""
    mounted: _MountedConsole = request.app.state.console
    return mounted.parts


ConsoleContextParam = Annotated[ConsoleContext, Depends(get_console_context)]


def get_person(request: Request) -> ConsolePerson:
    """Return the signed-in person, or the anonymous one."""
    return person_of(request.scope) or ANYBODY


def require_role(role: Role) -> Callable[[Request], ConsolePerson]:
    """Return a dependency that refuses persons without this role (or one that includes it)."""

    def check(request: Request) -> ConsolePerson:
        found = get_person(request)
        if not found.may(role):
            raise ApiProblem(
                403,
                "forbidden",
                f"this action requires the role {role}; {found.name} has {found.role}",
                fix=f"sign in with a token from `periplus mcp token new --scope {role}`",
            )
        return found

    return check


# -- rendering -------------------------------------------------------------------------------------


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a rendered page. `site` in the context (a website's id) adds that site's menu; `note` is shown on top."""
    page = _ENVIRONMENT.get_template(template)
    return HTMLResponse(page.render(**_given(request, context)), status, headers=_GUARDS)


def site_path(site: str, *parts: str) -> str:
    """Return the path of a page about a website. `parts` are ids; they are percent-encoded."""
    return "/".join(["/sites", quote(site, safe=""), *(quote(part, safe="") for part in parts)])


def _given(request: Request, context: dict[str, Any]) -> dict[str, Any]:
    looks, path = get_person(request), request.url.path
    mounted: _MountedConsole = request.app.state.console
    sessions = mounted.parts.sessions

    def csrf_field() -> Markup:
        """Return the hidden CSRF field for a form."""
        return Markup('<input type="hidden" name="{}" value="{}">').format(
            FIELD, sessions.form_token(looks.bound_to)
        )

    def named_site(website_id: str) -> str:
        """Return the name of a website, as far as its knowledge is in memory; else its id."""
        view = mounted.parts.views.peek(website_id)
        return website_id if view is None else view.website.name or website_id

    theme = request.cookies.get(THEME, "auto")
    site = context.get("site")
    query = f"?{request.url.query}" if request.url.query else ""
    return {
        "person": looks,
        "known": person_of(request.scope) is not None,
        "csrf_field": csrf_field,
        "named_site": named_site,
        "theme": theme if theme in THEMES else "auto",
        "version": __version__,
        "here": f"{path}{query}" if request.method in _READS else _find_previous_page(request),
        "menu": _menu(mounted.paths if looks.may("operate") else mounted.paths - _FOR_OPERATORS, path),
        "site": None,
        "site_menu": [] if site is None else _site_menu(mounted.paths, str(site), path),
        "note": None,
        **context,
    }


def _menu(paths: frozenset[str], here: str) -> list[SuggestedLink]:
    return [
        SuggestedLink(
            label,
            href,
            here == href or (href == "/" and here.startswith("/sites/")) or here.startswith(f"{href}/"),
        )
        if href != "/"
        else SuggestedLink(label, href, here == "/" or here.startswith("/sites/"))
        for label, href in _MENU
        if href in paths
    ]


def _site_menu(paths: frozenset[str], site: str, here: str) -> list[SuggestedLink]:
    base = site_path(site)
    decoded = f"/sites/{site}"
    return [
        SuggestedLink(
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
    """Return the URL of a static file; it contains a hash of the content."""
    return f"{ASSETS}{name}?v={_VERSIONS[name]}"


_ENVIRONMENT = Environment(
    loader=PackageLoader("periplus.console", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals.update(asset=asset, site_path=site_path)
_ENVIRONMENT.filters.update(template_filters.FILTERS)

_assets = APIRouter(include_in_schema=False)


@_assets.get(f"{ASSETS}{{name}}")
async def _file(name: str) -> Response:
    if name not in _ASSETS:
        raise ApiProblem(404, "not_found", f"no file {name}")
    content, kind = _ASSETS[name]
    kept = "public, max-age=31536000, immutable"
    return Response(content, media_type=kind, headers={"Cache-Control": kept})


# -- forms -----------------------------------------------------------------------------------------


async def _check_own_form(request: Request) -> None:
    """Refuse forms that another site's page made the browser send (CSRF)."""
    if request.method in _READS:
        return
    refused = _find_foreign_origin(request)
    if refused is None:
        given = (await request.form()).get(FIELD, "")
        token = "" if isinstance(given, UploadFile) else given
        ours = get_console_context(request).sessions.form_is_ours(get_person(request).bound_to, token)
        refused = None if ours else "the form has no valid token, or it belongs to an earlier session"
    if refused is not None:
        raise ApiProblem(403, "not_our_form", refused, fix="open the page again and submit its form there")


def _find_foreign_origin(request: Request) -> str | None:
    """Return why a request does not come from one of our pages, according to its headers; None if it may."""
    origin = request.headers.get("origin")
    if origin is not None:
        try:
            netloc = urlsplit(origin).netloc
        except ValueError:
            netloc = ""
        if not netloc or netloc.lower() != request.headers.get("host", "").lower():
            return f"forms from {origin[:200]} are not accepted"
    elif request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "forms from other sites are not accepted"
    return None


# -- errors ----------------------------------------------------------------------------------------

_Handler = Callable[[Request, Exception], Any]


def _build_page_handler(elsewhere: _Handler | None) -> _Handler:
    async def handle(request: Request, error: Exception) -> Response:
        if is_page(request.url.path) and not request.url.path.startswith(ASSETS):
            return render_error_page(request, error)
        if elsewhere is None:
            raise error
        found: Response = await elsewhere(request, error)
        return found

    return handle


def render_error_page(request: Request, error: Exception) -> HTMLResponse:
    """Return a page with the error, its fix and links to other pages."""
    told = _to_api_problem(request, error)
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
        request_id=get_request_id(request),
    )
    answer.headers.update(told.headers)
    if told.status == 401:  # `Basic` would open the browser's own sign-in dialog
        answer.headers["WWW-Authenticate"] = 'Bearer realm="Periplus"'
    return answer


_TITLES = {
    400: "Invalid request",
    401: "Sign in first",
    403: "Not allowed",
    404: "Page not found",
    408: "Timeout",
    409: "Not possible in the current state",
    413: "Too large",
    422: "Invalid request",
    429: "Too many requests",
    500: "Internal error",
    503: "Temporarily unavailable",
}
"""Titles of error pages by status code."""


def build_refusal_page(app: FastAPI) -> Callable[[ApiProblem, Scope], ASGIApp]:
    """Return how access control (`service.access_control`) answers refused page requests."""

    def refuse(problem: ApiProblem, scope: Scope) -> ASGIApp:
        return render_error_page(Request({**scope, "app": app}), problem)

    return refuse


def _to_api_problem(request: Request, error: Exception) -> ApiProblem:
    if isinstance(error, ApiProblem):
        return _reword_for_people(error)
    if isinstance(error, KnowledgeServerError):
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)
        return ApiProblem(
            status, error.code, error.message, fix=error.hint if status == 503 and error.hint else ""
        )
    if isinstance(error, StoreError):
        fix = "open the page again later; the health page shows the state of the stores"
        return ApiProblem(503, "store_unavailable", "the store does not answer", fix=fix)
    if isinstance(error, RequestValidationError):
        said = "; ".join(_invalid(each) for each in error.errors()[:5])
        fix = "open the previous page again and continue from there"
        return ApiProblem(422, "invalid_request", said or "the request is invalid", fix=fix)
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: f"no page at {request.url.path}", 405: f"this page does not support {request.method}"}
    return ApiProblem(status, "refused", words.get(status, HTTPStatus(status).phrase.lower()))


def _reword_for_people(error: ApiProblem) -> ApiProblem:
    """Return the problem with texts for people instead of API clients."""
    if error.status == 401:
        said = "you are not signed in, or your session has ended; nothing was changed"
        return ApiProblem(401, error.code, said, headers=error.headers)
    if error.code == "defect":
        said = "internal error of this service"
        fix = "try again; if it happens again, report the request id below to the operator"
        return ApiProblem(500, error.code, said, fix=fix)
    return error


_STATUS: dict[type[KnowledgeServerError], int] = {
    UnknownName: 404,
    SourceUnavailable: 503,
    ServerBusy: 503,
    CallTimeout: 503,
    BadRequest: 422,
}


def _invalid(error: Mapping[str, Any]) -> str:
    """Return a message about one invalid field."""
    place, *rest = error.get("loc") or ("request",)
    name = str(rest[-1] if rest else place)
    where = {"path": "in the address", "query": "in the address", "body": "of the form"}.get(str(place), "")
    kind, more = str(error.get("type", "")), error.get("ctx") or {}
    said = {
        "missing": "is missing",
        "int_parsing": "must be a number",
        "string_pattern_mismatch": "has an invalid format",
        "string_too_long": f"is longer than {more.get('max_length')} characters",
        "literal_error": f"must be {more.get('expected')}",
    }.get(kind) or f"is invalid: {error.get('msg', '')}"
    return f"“{name}” {where} {said}".replace("  ", " ")


def _suggestions(request: Request, error: Exception, told: ApiProblem) -> list[SuggestedLink]:
    """Return links to pages that the person may have wanted."""
    if told.status == 401:
        return [SuggestedLink("Sign in", f"{SIGN_IN}?{urlencode({'next': _find_previous_page(request)})}")]
    site = request.path_params.get("site")
    found = [SuggestedLink("All websites", "/")]
    if request.url.path.startswith("/runs/"):
        found.insert(0, SuggestedLink("All runs", "/runs"))
    if told.status == 500:
        found.append(SuggestedLink("Health of the service", "/health"))
    if isinstance(error, UnknownName) and error.kind == "website":
        return found
    if isinstance(site, str):
        found.insert(0, SuggestedLink(f"The map of {site}", site_path(site)))
        if isinstance(error, UnknownName):
            wanted = quote(error.name.replace("_", " "))
            found.insert(
                0, SuggestedLink(f"Search {site} for “{error.name}”", f"{site_path(site)}/search?q={wanted}")
            )
    return found


def _find_previous_page(request: Request) -> str:
    """Return the path of the previous page of this service, to return to after signing in."""
    try:
        parts = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/"
    if parts.netloc.lower() != request.headers.get("host", "").lower() or not parts.path:
        return "/"
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
