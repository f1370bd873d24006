"""Access control of the REST API and the console: keys, allowed hosts and rate limits.

Keys are bearer tokens (`mcp_server.security.bearer_tokens`), compared in constant time; tokens of
`periplus mcp token` are valid too. Without any key, only this machine has access. People sign in to the console
with a key and get a session (`console_sessions`). In the REST API a session may only read.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

import structlog
from mcp.server.auth.provider import AccessToken, TokenVerifier
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kb_schema.run_storage import RATE_TTL_S
from kb_store import StoreError
from kb_store.audit.audit_recorder import record_async, set_actor
from kb_store.runs.run_store import RunStore
from mcp_server.security.access_scopes import READ, WRITE
from mcp_server.security.http_app import came_through_proxy
from mcp_server.security.key_lockout import KeyLockout
from mcp_server.security.rate_limits import RateLimit, RateLimiter
from periplus.service.console_sessions import ANYBODY, ConsolePerson, ConsoleSessions, role_of_scopes
from periplus.service.problem_details import ApiProblem

API = "/api"
OPEN = frozenset({f"{API}/health", f"{API}/openapi.json"})
"""Paths open to probes and tools without a key; they reveal nothing about runs."""
ASSETS = "/console/"
"""Prefix of the console's static files, which are public."""
SIGN_IN = "/sign-in"
COOKIE = "periplus_session"
HEADER = "x-api-key"
WITH_LINK = "/visit/"
"""Prefix of visitor links: the link itself is the key."""
COUNTED_WITHIN_S = 1.0
"""Timeout for the store's request counter; after it, requests are counted in memory."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AccessControl:
    """The access rules of the service."""

    sessions: ConsoleSessions
    """Sessions of people who signed in to the console."""
    verifier: TokenVerifier | None = None
    """None: no keys are set, and the service listens on this machine only."""
    hosts: frozenset[str] = frozenset()
    """Without keys: the accepted `Host` names, as a protection against DNS rebinding."""
    origins: frozenset[str] = frozenset()
    """Web pages of other origins that may change something (CORS)."""
    lockout: KeyLockout = field(default_factory=KeyLockout)
    """Refuses addresses that offer wrong keys."""
    per_minute: int = 1_200
    """Maximum number of requests of one client per minute (PACTS 9.2)."""


@dataclass(frozen=True, slots=True)
class _Requester:
    """The authenticated client of a request."""

    name: str
    scopes: frozenset[str]
    person: ConsolePerson


Refusal = Callable[[ApiProblem, Scope], ASGIApp]
"""Builds the response to a refused page request."""


def is_page(path: str) -> bool:
    """Return whether a path belongs to the console: neither to the API nor to a visitor link."""
    return not path.startswith((f"{API}/", WITH_LINK))


def wants_page(scope: Scope) -> bool:
    """Return whether a browser requests a console page; errors are then answered with a page, too."""
    path = scope["path"]
    asked = is_page(path) and not path.startswith(ASSETS)
    return asked and "text/html" in Headers(scope=scope).get("accept", "")


def person_of(scope: Scope) -> ConsolePerson | None:
    """Return the person who makes the request, if known."""
    found: ConsolePerson | None = scope.get("state", {}).get("person")
    return found


def require_operator(what: str) -> Callable[[Request], None]:
    """Return a dependency that refuses clients without write access. `what`: what needs it, for the answer, `the audit log needs`."""

    def refuse(request: Request) -> None:
        person = person_of(request.scope)
        if person is None or not person.may("operate"):
            raise ApiProblem(
                403,
                "forbidden",
                f"{what} write access",
                fix="use a token with write access: `periplus mcp token new --scope write`",
            )

    return refuse


class GuardedApp:
    """ASGI middleware that passes permitted requests on and answers others with an `ApiProblem`."""

    def __init__(
        self, app: ASGIApp, access: AccessControl, runs: RunStore, refusal: Refusal | None = None
    ) -> None:
        self._app, self._access, self._runs, self._refusal = app, access, runs, refusal
        self._spare = RateLimiter(RateLimit(access.per_minute / RATE_TTL_S, access.per_minute))
        """Counts requests if the store does not answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._check(scope)
        except ApiProblem as problem:
            await self._refused(problem, scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refused(self, problem: ApiProblem, scope: Scope) -> ASGIApp:
        path, page = scope["path"], wants_page(scope)
        if problem.status == 401 and page and scope["method"] in _READS:
            there = f"{path}?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else path
            return RedirectResponse(f"{SIGN_IN}?{urlencode({'next': there})}", 303)
        if page and self._refusal is not None:
            return self._refusal(problem, scope)
        return problem.response(scope.get("state", {}).get("request_id", ""))

    async def _check(self, scope: Scope) -> None:
        headers, path = Headers(scope=scope), scope["path"]
        if self._access.verifier is None:
            self._check_host(headers)
        if path in OPEN or path.startswith(ASSETS) or scope["method"] == "OPTIONS":
            return
        address = scope["client"][0] if scope.get("client") else ""
        reads, page = scope["method"] in _READS, is_page(path)
        if not reads and not page:
            self._check_origin(headers, scope)
        asker = await self._asker(headers, address, reads=reads, page=page)
        client = f"key {asker.name}" if asker else f"address {address}"
        structlog.contextvars.bind_contextvars(client=client)
        await self._pace(client)
        person = ANYBODY if self._access.verifier is None else None if asker is None else asker.person
        request_id = scope.get("state", {}).get("request_id", "")
        set_actor(client if person is None else name_actor(person), request_id)
        if person is not None:
            scope.setdefault("state", {})["person"] = person
        if self._access.verifier is None:
            return
        if path.startswith((WITH_LINK, f"{SIGN_IN}/")) or path == SIGN_IN:
            return
        if asker is None or READ not in asker.scopes:
            raise _unauthorized(by_password=page and not _is_from_browser(headers))
        if not reads and not page and WRITE not in asker.scopes:
            raise ApiProblem(
                403,
                "forbidden",
                f"the token {asker.name!r} only has read access",
                fix="use a token with write access: `periplus mcp token new --scope write`",
            )

    def _check_host(self, headers: Headers) -> None:
        if came_through_proxy(headers):
            raise ApiProblem(
                421,
                "unknown_host",
                "the request came through a proxy",
                fix="without keys the service only answers this machine: set PERIPLUS_API_KEY",
            )
        host = headers.get("host", "").rsplit("]", 1)[0].lstrip("[")
        host = host if host.count(":") > 1 else host.partition(":")[0]
        if host.lower() not in self._access.hosts:
            raise ApiProblem(
                421,
                "unknown_host",
                f"unknown host name {host or '(none)'}",
                fix="without keys the service only accepts the names of this machine: set PERIPLUS_API_KEY",
            )

    def _check_origin(self, headers: Headers, scope: Scope) -> None:
        """Refuse changes that a web page of another origin asks for: browsers send them without asking anybody."""
        origin = headers.get("origin")
        if origin is None or origin.lower() in self._access.origins:
            return
        own = f"{scope.get('scheme', 'http')}://{headers.get('host', '')}".lower()
        if origin.lower() not in (own, own.replace("http://", "https://", 1)):  # a proxy may have ended TLS
            raise ApiProblem(
                403,
                "foreign_origin",
                "web pages of another origin may not change anything",
                fix="allow the origin with PERIPLUS_CORS_ORIGINS",
            )

    async def _asker(self, headers: Headers, address: str, *, reads: bool, page: bool) -> _Requester | None:
        if self._access.verifier is None:
            return None
        offered = headers.get(HEADER) or _key(headers.get("authorization", ""), reads=reads)
        if offered:
            check_lockout(self._access.lockout, address, offered)
            token = await self._access.verifier.verify_token(offered)
            await note_key(self._access.lockout, address, offered, right=token is not None)
            return None if token is None else _requester_of_token(token)
        if not (page or reads):
            return None
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        found = self._access.sessions.person(cookie) if cookie else None
        return None if found is None else _Requester(found[0].name, frozenset(found[1]), found[0])

    async def _pace(self, client: str) -> None:
        try:
            async with asyncio.timeout(COUNTED_WITHIN_S):
                many = await self._runs.count_request(client)
            wait = RATE_TTL_S * (1 - self._access.per_minute / many) if many > self._access.per_minute else 0
        except (StoreError, TimeoutError):
            wait = self._spare.wait(client)
        if wait > 0:
            seconds = max(1, math.ceil(wait))
            raise ApiProblem(
                429,
                "rate_limited",
                f"more than {self._access.per_minute} requests within a minute",
                fix=f"retry in {seconds} s; follow runs with GET /api/runs/{{req_id}}/events instead of polling",
                headers={"Retry-After": str(seconds)},
            )


def check_lockout(lockout: KeyLockout, address: str, key: str) -> None:
    """Raise `ApiProblem` while the keys of an address are not looked at."""
    wait = lockout.wait(address, key)
    if wait > 0:
        seconds = max(1, math.ceil(wait))
        raise ApiProblem(
            429,
            "locked_out",
            "too many wrong keys",
            fix=f"retry in {seconds} s with the right key",
            headers={"Retry-After": str(seconds)},
        )


async def note_key(lockout: KeyLockout, address: str, key: str, *, right: bool) -> None:
    """Record whether a key was right; the audit log names wrong ones and lockouts, without the key."""
    lockout.note(address, key, right=right)
    if right:
        return
    who = f"address {address}"
    await record_async("sign_in_failed", "a key", outcome="refused", actor=who)
    if lockout.wait(address, key) > 0:
        await record_async("locked_out", who, outcome="refused", actor=who)


def name_actor(person: ConsolePerson) -> str:
    """Return how the audit log names a person of the console, or the holder of a key."""
    if person is ANYBODY:
        return person.name
    return f"console {person.name}" if person.signed_in else f"key {person.name}"


def _requester_of_token(token: AccessToken) -> _Requester:
    person = ConsolePerson(token.client_id, role_of_scopes(token.scopes), f"token {token.client_id}")
    return _Requester(token.client_id, frozenset(token.scopes), person)


def _key(value: str, *, reads: bool) -> str:
    """Return the key of an `Authorization` header: `Bearer KEY`, or the password of `Basic`.

    Browsers add a stored `Basic` password to cross-site requests, too, so it is only accepted for reading.
    """
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if reads and scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except ValueError:  # not base64, not ASCII, or not UTF-8
            return ""
    return ""


def _is_from_browser(headers: Headers) -> bool:
    """Return whether a browser makes the request, also for a picture or a film of a page.

    A browser would answer a `Basic` challenge with its own password dialog, so it gets none.
    """
    return "sec-fetch-dest" in headers or not headers.get("accept", "*/*").startswith("*/*")


def _unauthorized(*, by_password: bool) -> ApiProblem:
    challenge = (
        'Basic realm="Periplus: any name, and a key as the password"'
        if by_password
        else 'Bearer realm="Periplus"'
    )
    return ApiProblem(
        401,
        "unauthorized",
        "the key is missing or unknown",
        fix="send the header `X-API-Key: KEY` or `Authorization: Bearer KEY`; the service's PERIPLUS_API_KEY has the key",
        headers={"WWW-Authenticate": challenge},
    )
