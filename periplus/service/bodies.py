"""Bodies of requests up to a size and within a time; what is beyond is not kept.

Stands inside of who may ask (`access.py`): of strangers nothing is read.
"""

from __future__ import annotations

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from periplus.service.access import Refusal, wants_page
from periplus.service.problems import ApiProblem

HEARD_OUT = 10
"""How many times the largest size is read, and thrown away: who is cut off in mid-sentence does not hear why."""
SECONDS = 30.0
"""How long a client may take to send a request."""


class Sized:
    """Reads the body, then lets the request through."""

    def __init__(self, app: ASGIApp, most: int, refusal: Refusal | None = None) -> None:
        self._app, self._most, self._refusal = app, most, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
        except ApiProblem as problem:
            if self._refusal is not None and wants_page(scope):
                answer = self._refusal(problem, scope)
            else:
                answer = problem.response(scope.get("state", {}).get("request_id", ""))
            await answer(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replayed(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """None: the client is gone before it was all said. Raises `ApiProblem`."""
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
                    413, "too_large", f"the request is larger than {self._most:,} bytes",
                    fix="send fewer steps in one request, or a smaller page, or raise PERIPLUS_SERVE_MAX_BODY_BYTES",
                    headers={"Connection": "close"},
                )  # fmt: skip
            return bytes(body)
        raise ApiProblem(
            408, "too_slow", f"the request was not sent within {SECONDS:g} s",
            fix="send it at once", headers={"Connection": "close"},
        )  # fmt: skip


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What `receive` would give had the body not been read yet."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
