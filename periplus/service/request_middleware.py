"""The outermost middleware: request ids, one log line per request, and a response after an internal error."""

from __future__ import annotations

import re
import time
import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from periplus.errors import write_traceback
from periplus.service.access_control import Refusal, wants_page
from periplus.service.problem_details import ApiProblem

HEADER = "x-request-id"
_FIT = re.compile(r"[A-Za-z0-9._-]{1,128}")
_LINK = re.compile(r"(?<=^/visit/)(?!static/)[^/]+")
"""Prefix of visitor links; their tokens are never logged."""

_log = structlog.get_logger(__name__)


class RequestMiddleware:
    """Wraps the whole app, except CORS."""

    def __init__(self, app: ASGIApp, refusal: Refusal | None = None) -> None:
        self._app, self._refusal = app, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _FIT.fullmatch(given) else uuid.uuid4().hex[:16]
        scope.setdefault("state", {})["request_id"] = request_id
        status, began = 0, time.monotonic()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[HEADER] = request_id
                headers["x-content-type-options"] = "nosniff"
                headers.setdefault("cache-control", "no-store")
            await send(message)

        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as exc:  # noqa: BLE001 - the outermost boundary of a request
            _log_defect(exc)
            if not status:
                await self._defect(request_id, scope)(scope, receive, send_with_headers)
        finally:
            _log.info(
                "request",
                method=scope["method"],
                path=_LINK.sub("***", scope["path"]),
                status=status,
                ms=round((time.monotonic() - began) * 1_000, 1),
            )

    def _defect(self, request_id: str, scope: Scope) -> ASGIApp:
        """Return the error response: a page for browsers, unless rendering pages fails; else JSON."""
        problem = ApiProblem(
            500, "defect", "internal error", fix="please report it; the service's log has this request_id"
        )
        if self._refusal is not None and wants_page(scope):
            try:
                return self._refusal(problem, scope)
            except Exception as exc:  # noqa: BLE001 - the same boundary: the client still needs a response
                _log_defect(exc)
        return problem.response(request_id)


def _log_defect(error: Exception) -> None:
    _log.error("request_failed", error=type(error).__name__, traceback=str(write_traceback(error)))
