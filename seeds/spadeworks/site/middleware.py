"""What happens around every request: who is asking, how much they may send, and what goes wrong.

Plain ASGI middleware. Which faults are armed is decided in ``faults.py``.
"""

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seeds.spadeworks.site.faults import FaultKind
from seeds.spadeworks.site.site import site_of, visitor_of
from seeds.spadeworks.site.web import error_page, wants_json

VISITOR_COOKIE = "sw_visitor"
DROP_EXTENSION = "spadeworks.drop_connection"  # a callable our server puts into the scope
_NOT_PAGES = ("/static/", "/__control/")
_SIGN_IN_PAGES = ("/login", "/session-expired", "/forgot-password", "/authenticator")
_REPLAY_SECONDS = 1.0


class ConnectionDroppedError(ConnectionError):
    """The answer was withheld, and this server offers no way to close the connection."""


def _is_page(scope: Scope) -> bool:
    return scope["type"] == "http" and not scope["path"].startswith(_NOT_PAGES)


class BodyLimitMiddleware:
    """Refuses requests that say they are too large, or do not say how large they are."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it with 411 or 413."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            length = headers.get("content-length", "0")
            if "transfer-encoding" in headers or not length.isdecimal():
                await PlainTextResponse("Say how long the body is", 411)(scope, receive, send)
                return
            if int(length) > self.max_bytes:
                await PlainTextResponse("The file is too large", 413)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class VisitorMiddleware:
    """Finds the visitor by their cookie, or welcomes a new one and gives them a cookie."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put the visitor into the request's state."""
        if not _is_page(scope):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        known = connection.cookies.get(VISITOR_COOKIE)
        visitor = site_of(connection).visitors.visit(known)
        connection.state.visitor = visitor

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and visitor.id != known:
                cookie = f"{VISITOR_COOKIE}={visitor.id}; Path=/; HttpOnly; SameSite=Lax"
                MutableHeaders(scope=message).append("set-cookie", cookie)
            await send(message)

        await self.app(scope, receive, send_with_cookie)


@dataclass(frozen=True)
class _Dropped:
    """A request whose connection was closed unanswered, to recognise the browser's replay of it."""

    visitor_id: str
    method: str
    path: str
    length: str


class FaultMiddleware:
    """Carries out the faults that concern a request as a whole."""

    _kinds = (
        FaultKind.DELAY,
        FaultKind.NEW_EMAIL,
        FaultKind.ERROR_500,
        FaultKind.DROP_AFTER_COMMIT,
    )

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._dropped: dict[_Dropped, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Meet the armed faults, then handle the request as far as they let it."""
        if not _is_page(scope):
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        if self._is_replay(request):
            await self._drop(request)
            return
        if self._expires(request):
            await _session_expired(request)(scope, receive, send)
            return
        board, visitor = site_of(request).faults, visitor_of(request)
        fired = {f.kind: f for f in board.take(self._kinds, request.method, scope["path"], visitor.id)}
        if delay := fired.get(FaultKind.DELAY):
            await asyncio.sleep(delay.ms / 1000)
        if FaultKind.NEW_EMAIL in fired:
            visitor.receive_email()
        if FaultKind.ERROR_500 in fired:
            await error_page(request, 500)(scope, receive, send)
        elif FaultKind.DROP_AFTER_COMMIT in fired:
            await self.app(scope, receive, _discard)
            await self._drop(request)
        else:
            await self.app(scope, receive, send)

    def _expires(self, request: Request) -> bool:
        visitor, path = visitor_of(request), request.url.path
        if not visitor.signed_in or path.startswith(_SIGN_IN_PAGES):
            return False
        kinds = (FaultKind.EXPIRE_SESSION,)
        if not site_of(request).faults.take(kinds, request.method, path, visitor.id):
            return False
        visitor.sign_out()
        visitor.counts.sessions_expired += 1
        return True

    def _is_replay(self, request: Request) -> bool:
        """Say whether a browser repeats, by itself and at once, what was lost on a kept-alive connection."""
        now = asyncio.get_running_loop().time()
        self._dropped = {d: at for d, at in self._dropped.items() if now - at < _REPLAY_SECONDS}
        return bool(self._dropped) and _identity(request) in self._dropped

    async def _drop(self, request: Request) -> None:
        self._dropped[_identity(request)] = asyncio.get_running_loop().time()
        drop = request.scope.get("extensions", {}).get(DROP_EXTENSION)
        if drop is None:
            raise ConnectionDroppedError(request.url.path)
        drop()
        while (await request.receive())["type"] != "http.disconnect":
            pass


def _identity(request: Request) -> _Dropped:
    length = request.headers.get("content-length", "0")
    return _Dropped(visitor_of(request).id, request.method, request.url.path, length)


def _session_expired(request: Request) -> Response:
    if wants_json(request):
        return JSONResponse({"error": "Your session has expired"}, 401)
    back = request.url.path if request.method == "GET" else "/dashboard"
    return RedirectResponse(f"/session-expired?next={quote(back)}", 303)


async def _discard(_message: Message) -> None:
    """Send nothing."""
