"""The ASGI app: REST under /api, MCP at /mcp, the console at /.

All parts are passed in as `ServiceParts`, so that tests can replace them.
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
from periplus.console import console_framework as console
from periplus.console.page_registry import PAGES
from periplus.jobs.service_jobs import ServiceJobs
from periplus.service import (
    audit_routes,
    collection_routes,
    job_routes,
    run_routes,
    sentence_routes,
    webhook_routes,
)
from periplus.service.access_control import API, HEADER, AccessControl, GuardedApp
from periplus.service.collection_runner import CollectionRunner
from periplus.service.problem_details import ApiProblem, ProblemDetails, handle_problems
from periplus.service.request_bodies import SizeLimitedBodies
from periplus.service.request_middleware import HEADER as REQUEST_ID
from periplus.service.request_middleware import RequestMiddleware
from periplus.service.rest_models import HealthView
from periplus.service.run_routes import RunRoutesContext
from periplus.service.service_health import HealthReport
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_routes import mount_visit_routes as mount_visits

DESCRIPTION = """Verifies requirements in a real browser and returns generated pytest-playwright tests.

Every error is a `ProblemDetails` object, with `code` for programs and `fix` for people."""


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """The parts of the app."""

    run_routes: RunRoutesContext
    health: HealthReport
    access: AccessControl
    console: console.ConsoleContext
    mcp: Starlette | None = None
    """The MCP app at /mcp, with its own access control."""
    origins: frozenset[str] = frozenset()
    """Allowed origins (CORS)."""
    visits: VisitRegistry | None = None
    """Demos for visitors; None if there are none."""
    collections: CollectionRunner | None = None
    """Runs tasks many times; None if the service has no collections."""
    jobs: ServiceJobs | None = None
    """Jobs, schedules and webhooks; None if the service runs none."""
    max_body_bytes: int = 1_000_000
    """Maximum size of a request body."""


class ServiceApp:
    """The app. The creator of the parts opens and closes them."""

    def __init__(self, parts: ServiceParts) -> None:
        self.api = _api(parts)
        self._mcp = parts.mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the server's startup and shutdown."""
        at_mcp = scope["type"] == "http" and (
            scope["path"] == "/mcp" or scope["path"].startswith("/.well-known/")
        )
        app: ASGIApp = self._mcp if at_mcp and self._mcp is not None else self.api
        await app(scope, receive, send)


class _Api(FastAPI):
    """A FastAPI app whose OpenAPI document includes `ProblemDetails`."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            document = get_openapi(
                title=self.title, version=self.version, description=self.description, routes=self.routes
            )
            schema = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas.update(schema.pop("$defs", {}))
            schemas["Problem"] = schema
            self.openapi_schema = document
        return self.openapi_schema


def _api(parts: ServiceParts) -> FastAPI:
    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        if parts.mcp is None:
            yield
            return
        async with parts.mcp.router.lifespan_context(parts.mcp):
            yield

    def _refusal(problem: ApiProblem, scope: Scope) -> ASGIApp:
        return console.build_refusal_page(app)(problem, scope)

    app = _Api(
        title="Periplus",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # they would load scripts from a CDN
        redoc_url=None,
        lifespan=alive,
        generate_unique_id_function=lambda route: route.name,
        middleware=[
            Middleware(
                CORSMiddleware,
                allow_origins=sorted(parts.origins),
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=[HEADER, "Authorization", "Content-Type", "Last-Event-ID", REQUEST_ID],
                expose_headers=["Location", "Retry-After", REQUEST_ID],
            ),
            Middleware(RequestMiddleware, refusal=_refusal),
            Middleware(GuardedApp, access=parts.access, runs=parts.run_routes.runs, refusal=_refusal),
            Middleware(SizeLimitedBodies, most=parts.max_body_bytes, refusal=_refusal),
        ],
    )
    app.state.run_routes, app.state.health = parts.run_routes, parts.health
    app.state.collections, app.state.jobs = parts.collections, parts.jobs
    handle_problems(app)
    keys = [
        Security(APIKeyHeader(name="X-API-Key", scheme_name="ApiKey", auto_error=False)),
        Security(HTTPBearer(scheme_name="Bearer", auto_error=False)),
    ]
    guarded = keys if parts.access.verifier is not None else []
    app.include_router(run_routes.router, prefix=API, dependencies=guarded)
    app.include_router(collection_routes.router, prefix=API, dependencies=guarded)
    for routes in (job_routes, sentence_routes, webhook_routes):
        app.include_router(routes.router, prefix=API, dependencies=guarded)
    app.include_router(audit_routes.router, prefix=API, dependencies=guarded)
    if parts.visits is not None:
        mount_visits(app, parts.visits, parts.run_routes.runs.service_records, API, guarded)
    app.include_router(_health(parts.health), prefix=API)
    console.mount_console(app, parts.console, PAGES)
    return app


def _health(report: HealthReport) -> APIRouter:
    router = APIRouter()

    @router.get(
        "/health",
        response_model=HealthView,
        summary="Health of the service",
        tags=["service"],
        responses={503: {"model": HealthView, "description": "The service is shutting down."}},
    )
    async def health() -> Any:
        """Checks the stores and the browser now; needs no key. 503 when the service accepts no more runs."""
        view = await report()
        return JSONResponse(view.model_dump(mode="json"), 503 if view.status == "draining" else 200)

    return router
