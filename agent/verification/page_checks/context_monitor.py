"""Records a browser context's console messages, uncaught errors, HTTP errors and failed requests.

Every record carries its step's number and contains no secrets. Requests that a navigation aborts do not count
as failures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, Response, WebError
from playwright.async_api import Error as DriverError

from agent.page.page_watchdog import hear_until_ended
from kb_schema.verification import ConsoleLine, NetworkRequest

LONGEST = 500
"""Characters of a line that are kept."""
MOST_KEPT = 200
"""Records of each kind that are kept."""
SERVICE_WORKER_REQUESTS = 500
"""Requests of a context's service workers that are heard; passing on those of a worker that asks without end would take longer than all else."""
_ERROR_STATUS = 400
_FAILED_RESOURCE = "Failed to load resource"
"""Chromium's console line for a failed request, which is recorded as a `NetworkRequest` instead."""
_BROKEN_OFF = "net::ERR_ABORTED"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_ANSWERED = frozenset({"document", "xhr", "fetch"})
"""Requests whose answers change what a page shows."""
_NEVER_ENDING = frozenset({"eventsource", "websocket", "media", "ping"})


class ContextMonitor:
    """Records one context, from before its first page is opened."""

    def __init__(self, context: BrowserContext, redact: Callable[[str], str]) -> None:
        self.console: list[ConsoleLine] = []
        self.answers: list[NetworkRequest] = []
        self.step_idx: int | None = None
        self.sending_steps: set[int | None] = set()
        """Steps during which data was sent: a request that is not only read from."""
        self.documents = 0
        """Number of documents that were loaded."""
        self._redact = redact
        self._under_way: set[Request] = set()
        self._asked: set[Request] = set()
        """The requests of the last action whose answers may change the page."""
        self._ended = asyncio.Event()
        context.on("page", self._hear_console)
        for page in context.pages:
            self._hear_console(page)
        context.on("weberror", self._on_error)
        self._context = context
        self._of_service_workers = 0
        for event, heard_by in self._hearing:
            context.on(event, heard_by)

    @property
    def _hearing(self) -> tuple[tuple[Any, Callable[[Any], None]], ...]:
        """The events of requests, with what hears them."""
        return (
            ("request", self._on_request),
            ("response", self._on_response),
            ("requestfinished", self._on_end),
            ("requestfailed", self._on_failed),
        )

    @property
    def pending(self) -> bool:
        """Whether a request is open."""
        return bool(self._under_way)

    @property
    def asked(self) -> bool:
        """Whether the page has sent a request since the last action began whose answer may change what it shows."""
        return bool(self._asked)

    @property
    def answering(self) -> bool:
        """Whether such a request is open."""
        return not self._asked.isdisjoint(self._under_way)

    def begin_action(self) -> None:
        """Forget the requests of the action before."""
        self._asked.clear()

    def owed(self) -> tuple[NetworkRequest, ...]:
        """Return the open requests."""
        return tuple(self._build_request(each) for each in self._under_way)

    def error_of(self, url: str) -> int | None:
        """Return the status of 400 and above with which an address was answered in this step; None without one."""
        said = self._redact(url)[:LONGEST]
        answers = (each for each in self.answers if each.step_idx == self.step_idx and each.url == said)
        return next((each.status for each in answers if each.status is not None), None)

    def of_step(self, step_idx: int) -> tuple[ConsoleLine, ...]:
        """Return the console lines of a step."""
        return tuple(each for each in self.console if each.step_idx == step_idx)

    def leaving(self, page: Page) -> bool:
        """Whether a navigation of the page is in progress: until it ends, the page cannot answer."""
        return any(_navigates(each, page) for each in self._under_way)

    async def arrived(self, page: Page, timeout_s: float) -> None:
        """Wait until no navigation of the page is in progress, at most `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.leaving(page):
                    self._ended.clear()
                    await self._ended.wait()

    # -- listeners

    def _hear_console(self, page: Page) -> None:
        hear_until_ended(page, "console", self._on_console)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(_FAILED_RESOURCE):
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
        if request.service_worker is not None:
            self._of_service_workers += 1
            if self._of_service_workers == SERVICE_WORKER_REQUESTS:
                self._hear_pages_only()
                return
        if request.resource_type not in _NEVER_ENDING:
            self._under_way.add(request)
            if request.resource_type in _ANSWERED:
                self._asked.add(request)
            if request.method.upper() not in _READING:
                self.sending_steps.add(self.step_idx)

    def _hear_pages_only(self) -> None:
        """Hear requests of pages no longer by their context, so that the driver does not pass on those of service workers."""
        for event, heard_by in self._hearing:
            self._context.remove_listener(event, heard_by)
        for kept in (self._under_way, self._asked):  # nothing tells their ends any more
            kept -= {each for each in kept if each.service_worker is not None}

        def hear(page: Page) -> None:
            for event, heard_by in self._hearing:
                hear_until_ended(page, event, heard_by)

        self._context.on("page", hear)
        for page in self._context.pages:
            hear(page)

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
            self.answers.append(self._build_request(request, status=status, failure=failure))

    def _build_request(
        self, request: Request, *, status: int | None = None, failure: str | None = None
    ) -> NetworkRequest:
        return NetworkRequest(
            method=request.method,
            url=self._redact(request.url)[:LONGEST],
            status=status,
            failure=failure,
            resource_type=request.resource_type,
            step_idx=self.step_idx,
        )


def _navigates(request: Request, page: Page) -> bool:
    """Whether the request loads a document into the page's main frame."""
    with suppress(DriverError):
        return request.is_navigation_request() and request.frame == page.main_frame
    return False
