"""The HTTP app: the SDK's server as an ASGI app behind access checks.

A request passes these checks in order: Host and Origin, lockout, token, rate, the scope `read`, body size, and for tools that
change something the scope `write`. Each refusal is a JSON-RPC error that says what to do, with the matching HTTP status
and headers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, BaseUser
from starlette.datastructures import Headers
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb_schema.url_patterns import LOOPBACK
from mcp_server.identification.snapshot_limits import MAX_BYTES
from mcp_server.security.access_scopes import READ, SCOPES, WRITE
from mcp_server.security.key_lockout import KeyLockout
from mcp_server.security.oauth_tokens import OAuthResource
from mcp_server.security.rate_limits import RateLimit, RateLimiter

MCP_PATH = "/mcp"
MOST_DISCARDED = 10
"""How many times the size limit is read and discarded before the connection is closed."""
REFUSED = -32_000
"""The JSON-RPC code of a refused request; its data say which refusal."""


@dataclass(frozen=True, slots=True)
class HttpAccessPolicy:
    """Which requests are admitted, and how large they may be."""

    hosts: frozenset[str] = LOOPBACK
    """Names by which clients may address the server, without port."""
    origins: frozenset[str] = frozenset()
    """Origins of web pages that may; pages of this machine may besides where `hosts` has it."""
    verifier: TokenVerifier | None = None
    """None: no token is required."""
    resource: OAuthResource | None = None
    """With OAuth: the protected resource metadata for clients (RFC 9728)."""
    rate: RateLimit = field(default_factory=RateLimit)
    lockout: KeyLockout = field(default_factory=KeyLockout)
    """Refuses addresses that offer wrong tokens."""
    max_body_bytes: int = 3 * MAX_BYTES
    """A page grows when it is written as JSON: quotes and characters beyond ASCII are escaped."""
    body_seconds: float = 30.0
    """How long a client may take to send a request."""
    bodies_at_once: int = 8
    """How many of the largest requests are held in memory at once."""


class TokenVerifierChain:
    """Several verifiers, tried in order."""

    def __init__(self, *verifiers: TokenVerifier) -> None:
        self._verifiers = verifiers

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the answer of the first verifier that knows the token."""
        for verifier in self._verifiers:
            found = await verifier.verify_token(token)
            if found is not None:
                return found
        return None


def create_http_app(
    server: MCPServer, door: HttpAccessPolicy, write_tools: Collection[str] = ()
) -> Starlette:
    """Create the ASGI app with the server at `MCP_PATH`. Requests are stateless. Run it once: it has the server's
    lifespan.
    """
    server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        stateless_http=True,
        max_request_body_size=door.max_body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    manager = server.session_manager
    inside: ASGIApp = _BodyLimit(manager.asgi_app, door)
    routes: list[Route] = []
    metadata_url: AnyHttpUrl | None = None
    if door.resource is not None:
        metadata_url = build_resource_metadata_url(AnyHttpUrl(door.resource.url))
        routes = create_protected_resource_routes(
            AnyHttpUrl(door.resource.url), [AnyHttpUrl(door.resource.issuer)], list(SCOPES), "Periplus"
        )
    if door.verifier is not None:
        inside = _BodyLimit(_WriteScopeCheck(manager.asgi_app, frozenset(write_tools), metadata_url), door)
        inside = RequireAuthMiddleware(inside, [READ], metadata_url)
    inside = _RateCheck(inside, RateLimiter(door.rate))
    if door.verifier is not None:
        backend = _CountingAuthBackend(door.verifier, door.lockout)
        inside = AuthenticationMiddleware(AuthContextMiddleware(inside), backend=backend)
        inside = _LockoutCheck(inside, door.lockout)
    app = Starlette(
        routes=[Route(MCP_PATH, endpoint=_AsgiEndpoint(inside)), *routes], lifespan=lambda _: manager.run()
    )
    app.add_middleware(_HostAndOriginCheck, door=door)
    return app


class _AsgiEndpoint:
    """Starlette takes objects for ASGI apps, and functions for handlers of a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _HostAndOriginCheck:
    """Only requests to one of our names, from no web page but those that may (DNS rebinding)."""

    def __init__(self, app: ASGIApp, door: HttpAccessPolicy) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if self._door.verifier is None and came_through_proxy(headers):
                hint = "set a token: periplus mcp token new"
                await _refuse(421, "unknown_host", f"without tokens no proxy is answered; {hint}")(
                    scope, receive, send
                )
                return
            host = _host_of(f"//{headers.get('host', '')}")
            if host not in self._door.hosts:
                hint = "allow the name with PERIPLUS_MCP_ALLOWED_HOSTS"
                await _refuse(421, "unknown_host", f"{host or 'no host'} is no name of this server; {hint}")(
                    scope, receive, send
                )
                return
            origin = headers.get("origin")
            if origin is not None and not self._may(origin):
                hint = "allow it with PERIPLUS_MCP_ALLOWED_ORIGINS"
                message = f"pages of this origin may not use this server; {hint}"
                await _refuse(403, "unknown_origin", message)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _may(self, origin: str) -> bool:
        host = _host_of(origin)
        return origin in self._door.origins or (host in LOOPBACK and host in self._door.hosts)


class _CountingAuthBackend(BearerAuthBackend):
    """Looks at bearer tokens, and notes for each address whether they were right."""

    def __init__(self, verifier: TokenVerifier, lockout: KeyLockout) -> None:
        super().__init__(verifier)
        self._lockout = lockout

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        found: tuple[AuthCredentials, BaseUser] | None = await super().authenticate(conn)
        token = _token_of(conn.headers)
        if token:
            self._lockout.note(_address_of(conn.scope), token, right=found is not None)
        return found


class _LockoutCheck:
    """Tokens of an address that offered too many wrong ones are not looked at for a time."""

    def __init__(self, app: ASGIApp, lockout: KeyLockout) -> None:
        self._app, self._lockout = app, lockout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = _token_of(Headers(scope=scope)) if scope["type"] == "http" else ""
        wait = self._lockout.wait(_address_of(scope), token) if token else 0.0
        if wait > 0:
            seconds = max(1, math.ceil(wait))
            message = f"too many wrong tokens; come back in {seconds} s with the right one"
            await _refuse(429, "locked_out", message, {"retry-after": str(seconds)})(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _RateCheck:
    """At most so many requests a second of one client, with or without a good token."""

    def __init__(self, app: ASGIApp, limiter: RateLimiter) -> None:
        self._app, self._limiter = app, limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope.get("user")
        # Without a valid token the address counts, so that guessing is slow.
        if isinstance(user, AuthenticatedUser):
            name = f"token {user.username}"
        else:
            name = f"address {_address_of(scope)}"
        wait = self._limiter.wait(name)
        if wait > 0:
            seconds = max(1, math.ceil(wait))
            message = f"too many requests; come back in {seconds} s"
            await _refuse(429, "rate_limited", message, {"retry-after": str(seconds)})(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _BodyLimit:
    """Limits bodies by size and time. Anything beyond is not read."""

    def __init__(self, app: ASGIApp, door: HttpAccessPolicy) -> None:
        self._app, self._door = app, door
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        try:
            refused = await self._read(body, scope, receive)
            if refused is not None:
                await refused(scope, receive, send)
                return
            await self._app(scope, replay_body(bytes(body), receive), send)
        finally:
            self._held -= len(body)

    async def _read(self, body: bytearray, scope: Scope, receive: Receive) -> ASGIApp | None:
        """Fill `body`; return the refusal if it cannot be read."""
        declared = Headers(scope=scope).get("content-length", "")
        size = int(declared) if declared.isdecimal() else 0
        with anyio.move_on_after(self._door.body_seconds):
            if size > self._door.max_body_bytes:
                return await self._too_large(size, receive)
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return _ignore  # disconnected before the body was complete
                part = message.get("body", b"")
                if len(body) + len(part) > self._door.max_body_bytes:
                    return await self._too_large(size, receive)
                if self._held + len(part) > self._door.bodies_at_once * self._door.max_body_bytes:
                    again = {"retry-after": "1", "connection": "close"}
                    return _refuse(503, "busy", "too many large requests at once; come back in 1 s", again)
                body += part
                self._held += len(part)
                if not message.get("more_body", False):
                    return None
        text = f"the request was not sent within {self._door.body_seconds:g} s"
        return _refuse(408, "too_slow", text, {"connection": "close"})

    async def _too_large(self, declared: int, receive: Receive) -> ASGIApp:
        """Answer after discarding the rest of the body: a client that is still sending would not read the refusal."""
        text = (
            f"the request is larger than {self._door.max_body_bytes / 1e6:g} MB; "
            "send the page without scripts, styles and data URLs, or send its text"
        )
        patience = MOST_DISCARDED * self._door.max_body_bytes
        more = declared <= patience
        while more and patience > 0:
            message = await receive()
            patience -= len(message.get("body", b""))
            more = message.get("more_body", False)
        return _refuse(413, "too_large", text, {"connection": "close"})


class _WriteScopeCheck:
    """Tools that change something only for tokens that may. Stands inside `_BodyLimit`: bodies come whole.

    The tools refuse by themselves, too. Here the refusal has OAuth's form, so that clients can request a token with
    more scope.
    """

    def __init__(self, app: ASGIApp, write_tools: frozenset[str], metadata_url: AnyHttpUrl | None) -> None:
        self._app, self._write_tools, self._metadata_url = app, write_tools, metadata_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope.get("user")
        if isinstance(user, AuthenticatedUser) and WRITE in user.scopes:
            await self._app(scope, receive, send)
            return
        message = await receive()
        body = message.get("body", b"")
        if self._calls_one(body):
            said = [
                'error="insufficient_scope"',
                f'scope="{READ} {WRITE}"',
                f'error_description="this tool needs the scope {WRITE}"',
            ]
            if self._metadata_url is not None:
                said.append(f'resource_metadata="{self._metadata_url}"')
            challenge = {"www-authenticate": f"Bearer {', '.join(said)}"}
            text = f"your token lacks the scope {WRITE!r}, which this tool needs"
            await _refuse(403, "insufficient_scope", text, challenge)(scope, receive, send)
            return
        await self._app(scope, replay_body(body, receive), send)

    def _calls_one(self, body: bytes) -> bool:
        if not any(name.encode() in body for name in self._write_tools):
            return False
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            return False  # the server reports what is wrong with it
        params = said.get("params") if isinstance(said, dict) else None
        return (
            isinstance(params, dict)
            and said.get("method") == "tools/call"
            and params.get("name") in self._write_tools
        )


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first returns the body that was already read."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


_PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""Headers that proxies add, and that browsers and clients on this machine do not send."""


def came_through_proxy(headers: Headers) -> bool:
    """Return whether a proxy passed the request on: it says so, or for whom."""
    return any(name in headers for name in _PROXY_HEADERS)


async def _ignore(scope: Scope, receive: Receive, send: Send) -> None:
    """The client has disconnected."""


def _refuse(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    error = {"code": REFUSED, "message": message, "data": {"error": code}}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers)


def _address_of(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _token_of(headers: Headers) -> str:
    """Return the bearer token of a request; empty without one."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # `http://[` and the like
        return ""
