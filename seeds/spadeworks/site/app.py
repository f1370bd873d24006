"""Puts the application together: routes, middleware and error pages."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from seeds.spadeworks.site import control
from seeds.spadeworks.site.middleware import BodyLimitMiddleware, FaultMiddleware, VisitorMiddleware
from seeds.spadeworks.site.routes import (
    agents,
    campaigns,
    contacts,
    dashboard,
    inbox,
    preferences,
    sign_in,
)
from seeds.spadeworks.site.settings import Settings
from seeds.spadeworks.site.site import HERE, Site
from seeds.spadeworks.site.web import error_page

_AREAS = (sign_in, dashboard, agents, contacts, campaigns, inbox, preferences)


def create_app(settings: Settings | None = None) -> Starlette:
    """Return the application. ``app.state.site`` holds everything it remembers."""
    settings = settings or Settings()
    routes: list[BaseRoute] = [route for area in _AREAS for route in area.routes]
    routes.append(Mount("/static", StaticFiles(directory=HERE / "static"), name="static"))
    if settings.test_controls:
        routes.append(Mount("/__control", routes=control.routes))
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(BodyLimitMiddleware, max_bytes=settings.max_body_bytes),
            Middleware(VisitorMiddleware),
            Middleware(FaultMiddleware),
        ],
        exception_handlers={HTTPException: _http_error, 500: _server_error},
    )
    app.state.site = Site.from_settings(settings)
    return app


async def _http_error(request: Request, exc: Exception) -> Response:
    return _error(request, exc.status_code if isinstance(exc, HTTPException) else 500)


async def _server_error(request: Request, _exc: Exception) -> Response:
    return _error(request, 500)


def _error(request: Request, status: int) -> Response:
    if not hasattr(request.state, "visitor"):  # a static file or a control that does not exist
        return Response(status_code=status)
    return error_page(request, status)
