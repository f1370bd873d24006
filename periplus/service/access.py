"""Who may ask, and how often: keys, hosts and rates of the REST interface and of the console.

Keys are the tokens of the MCP door (`mcp_server.security.tokens`): compared in constant time, and those
of `periplus mcp token` count here, too. Without any key only this machine may ask. At the console people sign
in with a key once, and a session (`sessions.py`) stands for it; at the REST interface a session may only look.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

import structlog
from mcp.server.auth.provider import AccessToken, TokenVerifier
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kb_schema.storage import RATE_TTL_S
from kb_store import StoreError
from kb_store.runs import RunStore
from mcp_server.security.access import READ, WRITE
from mcp_server.security.rates import Rate, RateLimiter
from periplus.service.problems import ApiProblem
from periplus.service.sessions import ANYBODY, Person, Sessions, role_of

API = "/api"
OPEN = frozenset({f"{API}/health", f"{API}/openapi.json"})
"""Asked by probes and tools that have no key; they tell nothing of any run."""
ASSETS = "/console/"
"""Below it: the console's own files, which tell nothing of anybody."""
SIGN_IN = "/sign-in"
COOKIE = "periplus_session"
HEADER = "x-api-key"
WITH_LINK = "/visit/"
"""Below it the link itself is the key; whoever has none is told that it is good no more."""
COUNTED_WITHIN_S = 1.0
"""Longer nobody waits for the store's counter: then a request is counted here."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Access:
    """Who is let in."""

    sessions: Sessions
    """Of people who signed in at the console."""
    verifier: TokenVerifier | None = None
    """None: whoever reaches the service, which then listens on this machine only."""
    hosts: frozenset[str] = frozenset()
    """Without a verifier: names by which it may be addressed, so that no web page gets at it by another."""
    per_minute: int = 1_200
    """Requests of one client (PACTS 9.2)."""


@dataclass(frozen=True, slots=True)
class _Asker:
    """Who asks, by whatever was shown."""

    name: str
    scopes: frozenset[str]
    person: Person


Refusal = Callable[[ApiProblem, Scope], ASGIApp]
"""What is answered instead of a page."""


def is_page(path: str) -> bool:
    """Whether it is one of the console's: neither for programs nor for whoever has a link."""
    return not path.startswith((f"{API}/", WITH_LINK))


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks for a page of the console, which then is also how it is told of what went wrong."""
    path = scope["path"]
    asked = is_page(path) and not path.startswith(ASSETS)
    return asked and "text/html" in Headers(scope=scope).get("accept", "")


def person_of(scope: Scope) -> Person | None:
    """Who asks, where that is known."""
    found: Person | None = scope.get("state", {}).get("person")
    return found


class Guarded:
    """Lets requests through that may pass; what is said of the rest is a `Problem`."""

    def __init__(self, app: ASGIApp, access: Access, runs: RunStore, refusal: Refusal | None = None) -> None:
        self._app, self._access, self._runs, self._refusal = app, access, runs, refusal
        self._spare = RateLimiter(Rate(access.per_minute / RATE_TTL_S, access.per_minute))
        """Counts where the store does not."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
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
        asker = await self._asker(headers, reads=reads, page=page)
        client = f"key {asker.name}" if asker else f"address {address}"
        structlog.contextvars.bind_contextvars(client=client)
        await self._pace(client)
        if asker is not None:
            scope.setdefault("state", {})["person"] = asker.person
        if self._access.verifier is None:
            scope.setdefault("state", {})["person"] = ANYBODY
            return
        if path.startswith(WITH_LINK) or path == SIGN_IN:
            return
        if asker is None or READ not in asker.scopes:
            raise _unauthorized(by_password=page and not _by_browser(headers))
        if not reads and not page and WRITE not in asker.scopes:
            raise ApiProblem(
                403, "forbidden", f"the token {asker.name!r} may only read",
                fix="use one that may write: `periplus mcp token new NAME --scope write`",
            )  # fmt: skip

    def _check_host(self, headers: Headers) -> None:
        host = headers.get("host", "").rsplit("]", 1)[0].lstrip("[")
        host = host if host.count(":") > 1 else host.partition(":")[0]
        if host.lower() not in self._access.hosts:
            raise ApiProblem(
                421, "unknown_host", f"{host or 'no host'} is no name of this service",
                fix="without keys it answers to names of this machine only: set PERIPLUS_API_KEY",
            )  # fmt: skip

    async def _asker(self, headers: Headers, *, reads: bool, page: bool) -> _Asker | None:
        if self._access.verifier is None:
            return None
        offered = headers.get(HEADER) or _key(headers.get("authorization", ""), reads=reads)
        if offered:
            token = await self._access.verifier.verify_token(offered)
            return None if token is None else _by_token(token)
        if not (page or reads):
            return None
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        found = self._access.sessions.person(cookie) if cookie else None
        return None if found is None else _Asker(found[0].name, frozenset(found[1]), found[0])

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
                429, "rate_limited", f"more than {self._access.per_minute} requests within a minute",
                fix=f"come back in {seconds} s; follow runs by GET /api/runs/{{req_id}}/events instead of asking "
                "again and again", headers={"Retry-After": str(seconds)},
            )  # fmt: skip


def _by_token(token: AccessToken) -> _Asker:
    person = Person(token.client_id, role_of(token.scopes), f"token {token.client_id}")
    return _Asker(token.client_id, frozenset(token.scopes), person)


def _key(value: str, *, reads: bool) -> str:
    """The key of an `Authorization` header: `Bearer KEY`, or the password of `Basic`.

    A browser that knows a password sends it with whatever another site's page has it ask: it may only look.
    """
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if reads and scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _by_browser(headers: Headers) -> bool:
    """Whether a browser asks: for a picture or a film of a page, too. Asked for a password it opens a dialog of its
    own, which nobody who signed in expects.
    """
    return "sec-fetch-dest" in headers or not headers.get("accept", "*/*").startswith("*/*")


def _unauthorized(*, by_password: bool) -> ApiProblem:
    challenge = (
        'Basic realm="Periplus: any name, and a key as the password"'
        if by_password
        else 'Bearer realm="Periplus"'
    )
    return ApiProblem(
        401, "unauthorized", "a key is needed, or this one is not known",
        fix="send the header `X-API-Key: KEY` or `Authorization: Bearer KEY`; PERIPLUS_API_KEY of the service has it",
        headers={"WWW-Authenticate": challenge},
    )  # fmt: skip
