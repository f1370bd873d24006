"""Middleware that limits the size and the time of request bodies, and refuses text that cannot be stored.

It runs after `access_control`, so bodies of unauthorized clients are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.security.http_app import replay_body
from periplus.service.access_control import Refusal, wants_page
from periplus.service.problem_details import ApiProblem

HEARD_OUT = 10
"""How many times the maximum size is read and discarded, so that the client can receive the error response."""
SECONDS = 30.0
"""Timeout for receiving a request body."""


class SizeLimitedBodies:
    """Reads the body, then passes the request on."""

    def __init__(self, app: ASGIApp, most: int, refusal: Refusal | None = None) -> None:
        self._app, self._most, self._refusal = app, most, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
            if body is not None and scope["path"].startswith("/api/"):
                check_storable(body)
        except ApiProblem as problem:
            if self._refusal is not None and wants_page(scope):
                answer = self._refusal(problem, scope)
            else:
                answer = problem.response(scope.get("state", {}).get("request_id", ""))
            await answer(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, replay_body(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body; None if the client disconnects before its end. Raises `ApiProblem`."""
        declared = Headers(scope=scope).get("content-length", "")
        size = int(declared) if declared.isdecimal() else 0
        body, read = bytearray(), 0
        with anyio.move_on_after(SECONDS):
            more = size <= HEARD_OUT * self._most
            while more and read <= HEARD_OUT * self._most:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                part = message.get("body", b"")
                read += len(part)
                if max(read, size) <= self._most:
                    body += part
                more = message.get("more_body", False)
            if max(read, size) > self._most:
                raise ApiProblem(
                    413,
                    "too_large",
                    f"the request is larger than {self._most:,} bytes",
                    fix="send fewer steps in one request, or a smaller page, or raise PERIPLUS_SERVE_MAX_BODY_BYTES",
                    headers={"Connection": "close"},
                )
            return bytes(body)
        raise ApiProblem(
            408,
            "too_slow",
            f"the request was not sent within {SECONDS:g} s",
            fix="send the whole request without pauses",
            headers={"Connection": "close"},
        )


_HALF = re.compile(r"[\ud800-\udfff]")
"""A surrogate without its other half: JSON can write it, and no store or file can hold it."""


def check_storable(body: bytes) -> None:
    """Raise `ApiProblem` (422) for a JSON body with half a character in it, with the place of the first one."""
    if b"\\u" not in body:  # only an escape can write one
        return
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return  # for the routes: they say what is wrong with it
    place = next(_list_halves(given), None)
    if place is not None:
        raise ApiProblem(
            422,
            "invalid_request",
            f"{place} contains half of a character (a lone surrogate)",
            fix="send whole characters: a \\ud83d needs its second half",
        )


def _list_halves(given: object) -> Iterator[str]:
    """Return the JSON paths of texts with a lone surrogate."""
    waiting: list[tuple[str, object]] = [("$", given)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str) and _HALF.search(value):
            yield place
        elif isinstance(value, list):
            waiting += [(f"{place}[{at}]", each) for at, each in enumerate(value)]
        elif isinstance(value, dict):
            for name, each in value.items():
                if _HALF.search(name):
                    yield f"the name of a field of {place}"
                waiting.append((f"{place}.{name}", each))
