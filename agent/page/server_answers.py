"""What a page got from servers since it was opened: whether a text that it shows came from there, and was not kept by the browser."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from html import unescape
from types import TracebackType
from typing import Self
from urllib.parse import unquote_plus

from playwright.async_api import CDPSession, Page, Response, WebSocket
from playwright.async_api import Error as DriverError

from kb_schema.sentence_plans import fold

_KINDS = frozenset({"document", "xhr", "fetch", "eventsource"})
_READ_S = 3.0
"""Seconds in which an answer is read; one that goes on longer (a stream) says nothing."""
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_SPACE = re.compile(r"\\[nrt]")
_ESCAPED = re.compile(r"\\(.)")
_FAILED = 400


class ServerAnswers:
    """Collects the answers that a page gets while the block runs. Its service workers are passed by: they answer in a server's place."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._answers: list[Response] = []
        self._frames: list[str] = []
        self._session: CDPSession | None = None

    async def __aenter__(self) -> Self:
        with suppress(DriverError):  # then answers of service workers do not count
            self._session = await self._page.context.new_cdp_session(self._page)
            await self._session.send("Network.enable")
            await self._session.send("Network.setBypassServiceWorker", {"bypass": True})
        self._page.on("response", self._note)
        self._page.on("websocket", self._note_socket)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._page.remove_listener("response", self._note)
        self._page.remove_listener("websocket", self._note_socket)
        if self._session is not None:
            with suppress(DriverError):  # what was asked of the browser ends with the session
                await self._session.detach()

    @property
    def failed(self) -> bool:
        """Whether the page itself was answered with an error."""
        own = [each for each in self._answers if each.request.is_navigation_request()]
        return any(each.status >= _FAILED for each in own[-1:])

    async def have(self, texts: frozenset[str]) -> bool:
        """Return whether each text, folded, came in an answer to a request that did not have it itself."""
        cookies = _plain(
            unquote_plus(" ".join(each.get("value", "") for each in await self._page.context.cookies()))
        )
        if any(each in cookies for each in texts):
            return False  # the browser itself sends it
        missing = {each for each in texts if not any(each in frame for frame in self._frames)}
        for answer in list(self._answers):
            if not missing:
                break
            request = answer.request
            sent = (request.post_data_buffer or b"").decode("utf-8", "replace")
            asked = _plain(unquote_plus(f"{request.url} {sent}"))
            if wanted := {each for each in missing if each not in asked}:
                body = await _read(answer)
                missing -= {each for each in wanted if each in body}
        return not missing

    def _note(self, answer: Response) -> None:
        if answer.request.resource_type in _KINDS and not answer.from_service_worker:
            self._answers.append(answer)

    def _note_socket(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: self._frames.append(_plain(_as_text(data))))


async def _read(answer: Response) -> str:
    with suppress(DriverError, TimeoutError):
        async with asyncio.timeout(_READ_S):
            return _plain(_as_text(await answer.body()))
    return ""


def _as_text(data: str | bytes) -> str:
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def _plain(text: str) -> str:
    r"""Return a text of HTML or JSON as a page shows it, folded.

    >>> _plain(r'{"name": "O\u0027Brien &amp; \"Co\""}')
    '{"name": "o\'brien & "co""}'
    """
    text = _CODE.sub(lambda found: chr(int(found[1], 16)), text)
    text = _ESCAPED.sub(r"\1", _SPACE.sub(" ", text))
    return fold(unescape(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))
