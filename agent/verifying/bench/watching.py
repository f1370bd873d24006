"""What a context says and fails at beside its pages: console, uncaught errors, HTTP answers, requests.

Every line is tagged with the step it came in, without secrets. What a navigation breaks off is no failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, Response, WebError
from playwright.async_api import Error as DriverError

from kb_schema.verification import Answer, ConsoleLine

LONGEST = 500
"""Characters of a line that are kept."""
MOST_KEPT = 200
"""Lines of each kind: a page that says the same thousand times says no more by it."""
_ERROR_STATUS = 400
_TOLD_AS_ANSWER = "Failed to load resource"
"""Chromium's own line for what `Answer` says better."""
_BROKEN_OFF = "net::ERR_ABORTED"
_NEVER_ENDING = frozenset({"eventsource", "websocket", "media", "ping"})


class Watch:
    """Listens to one context, from before its first page on."""

    def __init__(self, context: BrowserContext, redact: Callable[[str], str]) -> None:
        self.console: list[ConsoleLine] = []
        self.answers: list[Answer] = []
        self.step_idx: int | None = None
        self.documents = 0
        """How many documents came."""
        self._redact = redact
        self._under_way: set[Request] = set()
        self._ended = asyncio.Event()
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfinished", self._on_end)
        context.on("requestfailed", self._on_failed)

    @property
    def pending(self) -> bool:
        """Whether the site owes an answer."""
        return bool(self._under_way)

    def owed(self) -> tuple[Answer, ...]:
        """The requests that are still without an answer."""
        return tuple(self._told(each) for each in self._under_way)

    def of_step(self, step_idx: int) -> tuple[ConsoleLine, ...]:
        """What the console said in a step."""
        return tuple(each for each in self.console if each.step_idx == step_idx)

    def leaving(self, page: Page) -> bool:
        """Whether a navigation of the page is under way: it cannot be asked anything until that comes."""
        return any(_navigates(each, page) for each in self._under_way)

    async def arrived(self, page: Page, timeout_s: float) -> None:
        """Until no navigation of the page is under way, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.leaving(page):
                    self._ended.clear()
                    await self._ended.wait()

    # -- listeners

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(_TOLD_AS_ANSWER):
            where = str(message.location.get("url", ""))
            self._line("error" if message.type == "error" else "warning", message.text, where)

    def _on_error(self, error: WebError) -> None:
        self._line("pageerror", str(error.error), error.page.url if error.page else "")

    def _line(self, kind: Literal["error", "warning", "pageerror"], text: str, url: str) -> None:
        if len(self.console) < MOST_KEPT:
            said = self._redact(text)[:LONGEST]
            self.console.append(
                ConsoleLine(kind=kind, text=said, url=self._redact(url), step_idx=self.step_idx)
            )

    def _on_request(self, request: Request) -> None:
        if request.resource_type not in _NEVER_ENDING:
            self._under_way.add(request)

    def _on_response(self, response: Response) -> None:
        self.documents += response.request.is_navigation_request()
        if response.status >= _ERROR_STATUS:
            self._answer(response.request, status=response.status)

    def _on_end(self, request: Request) -> None:
        self._under_way.discard(request)
        self._ended.set()

    def _on_failed(self, request: Request) -> None:
        self._on_end(request)
        failure = request.failure or "failed"
        if _BROKEN_OFF not in failure:
            self._answer(request, failure=failure)

    def _answer(self, request: Request, *, status: int | None = None, failure: str | None = None) -> None:
        if len(self.answers) < MOST_KEPT:
            self.answers.append(self._told(request, status=status, failure=failure))

    def _told(self, request: Request, *, status: int | None = None, failure: str | None = None) -> Answer:
        return Answer(
            method=request.method,
            url=self._redact(request.url)[:LONGEST],
            status=status,
            failure=failure,
            resource_type=request.resource_type,
            step_idx=self.step_idx,
        )


def _navigates(request: Request, page: Page) -> bool:
    """Whether it brings the page another document. One that belongs to no frame any more does not."""
    with suppress(DriverError):
        return request.is_navigation_request() and request.frame == page.main_frame
    return False
