"""The one ASGI app: REST under /api, MCP at /mcp, the console for people at /.

Wires only; what it is wired of is handed in, so that tests hand in other parts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Security
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from periplus import __version__
from periplus.console import PAGES
from periplus.console import shell as console
from periplus.service import runs
from periplus.service.access import API, HEADER, Access, Guarded
from periplus.service.bodies import Sized
from periplus.service.health import HealthReport
from periplus.service.models import HealthView
from periplus.service.problems import ApiProblem, Problem, handle_problems
from periplus.service.requests import HEADER as REQUEST_ID
from periplus.service.requests import Requests
from periplus.service.runs import Desk
from periplus.service.visiting.book import Visits
from periplus.service.visiting.routes import mount as mount_visits

DESCRIPTION = """Verifies requirements in a real browser and gives generated pytest-playwright tests.

Every error has one shape, `Problem`, with `code` for programs and `fix` for people."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the app is made of."""

    desk: Desk
    health: HealthReport
    access: Access
    console: console.ConsoleParts
    mcp: Starlette | None = None
    """Answers at /mcp, behind a door of its own."""
    origins: frozenset[str] = frozenset()
    """Web pages that may ask."""
    visits: Visits | None = None
    """Demos for visitors; None: there are none."""
    max_body_bytes: int = 1_000_000
    """Of one request."""


class Service:
    """The app. Everything it works with is opened and closed by whoever made the parts."""

    def __init__(self, parts: Parts) -> None:
        self.api = _api(parts)
        self._mcp = parts.mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the server's start and end."""
        at_mcp = scope["type"] == "http" and (
            scope["path"] == "/mcp" or scope["path"].startswith("/.well-known/")
        )
        app: ASGIApp = self._mcp if at_mcp and self._mcp is not None else self.api
        await app(scope, receive, send)


class _Api(FastAPI):
    """Documents the one shape of errors among its schemas."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        if self.openapi_schema is None:
            document = get_openapi(
                title=self.title, version=self.version, description=self.description, routes=self.routes
            )
            schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas.update(schema.pop("$defs", {}))
            schemas["Problem"] = schema
            self.openapi_schema = document
        return self.openapi_schema


def _api(parts: Parts) -> FastAPI:
    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        if parts.mcp is None:
            yield
            return
        async with parts.mcp.router.lifespan_context(parts.mcp):
            yield

    def _refusal(problem: ApiProblem, scope: Scope) -> ASGIApp:
        return console.refusal_page(app)(problem, scope)

    app = _Api(
        title="Periplus",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        lifespan=alive,
        generate_unique_id_function=lambda route: route.name,
        middleware=[
            Middleware(
                CORSMiddleware,
                allow_origins=sorted(parts.origins),
                allow_methods=["GET", "POST"],
                allow_headers=[HEADER, "Authorization", "Content-Type", "Last-Event-ID", REQUEST_ID],
                expose_headers=["Location", "Retry-After", REQUEST_ID],
            ),
            Middleware(Requests, refusal=_refusal),
            Middleware(Guarded, access=parts.access, runs=parts.desk.runs, refusal=_refusal),
            Middleware(Sized, most=parts.max_body_bytes, refusal=_refusal),
        ],
    )
    app.state.desk, app.state.health = parts.desk, parts.health
    handle_problems(app)
    keys = [
        Security(APIKeyHeader(name="X-API-Key", scheme_name="ApiKey", auto_error=False)),
        Security(HTTPBearer(scheme_name="Bearer", auto_error=False)),
    ]
    guarded = keys if parts.access.verifier is not None else []
    app.include_router(runs.router, prefix=API, dependencies=guarded)
    if parts.visits is not None:
        mount_visits(app, parts.visits, API, guarded)
    app.include_router(_health(parts.health), prefix=API)
    console.mount(app, parts.console, PAGES)
    return app


def _health(report: HealthReport) -> APIRouter:
    router = APIRouter()

    @router.get(
        "/health",
        response_model=HealthView,
        summary="How the service is",
        tags=["service"],
        responses={503: {"model": HealthView, "description": "It is about to end."}},
    )
    async def health() -> Any:
        """Asks the stores and the browser now; needs no key. 503 once it takes no more runs."""
        view = await report()
        return JSONResponse(view.model_dump(mode="json"), 503 if view.status == "draining" else 200)

    return router
