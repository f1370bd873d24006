"""Waits until a page has settled after an action, and measures how long that took.

A page has settled if no document is loading, no other request is pending (up to a limit, since some pages never
stop loading), its content does not change, and it does not show that it is at work: an application may start in a worker, of
which the page shows no request. Every wait ends with an event or a timeout.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from playwright.async_api import Error as DriverError
from playwright.async_api import Frame, Page, Request, Response

from agent.page import in_page_library
from agent.page.page_changes import wait_for_change
from agent.page.page_requests import is_page_document
from agent.page.snapshot_capture import read_page_revision, read_work_signs

BUSY_S = 3.0
"""Maximum wait in seconds for requests that are not documents."""
RESTLESS_S = 1.5
"""Maximum wait in seconds for content changes; clocks, for example, never stop."""
REST_S = 0.2
"""Seconds without a change of the content, and without a pending request at their end, after which a page has settled."""
WORKED_REST_S = 0.8
"""The same after a page showed that it is at work: an application that starts goes on in steps."""
WORK_S = 10.0
"""Maximum wait in seconds while a page shows that it is at work; such a sign that stays for longer is an ornament."""
MOST_ORNAMENTS = 12
"""A website with more signs of work that stay draws them everywhere: none is waited for any more."""
_NEVER_ENDING = frozenset({"eventsource", "websocket", "media", "ping"})


class PageIdleWait:
    """Observes a page from before an action until it has settled."""

    def __init__(self, page: Page, ornaments: set[str]) -> None:
        """`ornaments`: signs of work that stayed before, and are not waited for; those that stay now are added."""
        self._page, self._ornaments = page, ornaments
        self._documents: set[Request] = set()
        self._others: set[Request] = set()
        self._rest_s = REST_S
        self._event = asyncio.Event()
        self._began = self._last = time.monotonic()
        self.status: int | None = None
        """HTTP status of the last document."""
        self.navigated = False
        self.arrived = False
        """Whether a new document was loaded, or the address changed."""

    def __enter__(self) -> Self:
        self._page.on("request", self._begin)
        self._page.on("requestfinished", self._end)
        self._page.on("requestfailed", self._end)
        self._page.on("response", self._answered)
        self._page.on("framenavigated", self._came)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._page.remove_listener("request", self._begin)
        self._page.remove_listener("requestfinished", self._end)
        self._page.remove_listener("requestfailed", self._end)
        self._page.remove_listener("response", self._answered)
        self._page.remove_listener("framenavigated", self._came)

    async def done(self, page_s: float) -> float:
        """Wait until the page has settled, about `page_s` seconds at most. Raises `PageGone`.

        Returns the milliseconds from the beginning to the last event.
        """
        until = time.monotonic() + page_s
        busy = min(until, time.monotonic() + BUSY_S)
        working = min(until, time.monotonic() + WORK_S)
        restless = RESTLESS_S
        while True:
            await self._loaded(until, busy)
            await self._parsed(until)
            began = time.monotonic()
            await self._at_rest(min(until, began + restless))
            now = time.monotonic()
            restless = max(self._rest_s, restless - (now - began))
            if now >= until:
                break
            if not (self._documents or (self._others and now < busy)) and await self._is_done(now >= working):
                break
        return (self._last - self._began) * 1000

    async def _is_done(self, late: bool) -> bool:
        """Whether the page shows no work, or showed it for too long; waits a little for a change otherwise."""
        if len(self._ornaments) >= MOST_ORNAMENTS:
            return True
        signs = await read_work_signs(self._page) - self._ornaments
        if signs and not late:
            self._rest_s = WORKED_REST_S
            await wait_for_change(self._page, REST_S)
            return False
        self._ornaments |= signs
        return True

    async def _parsed(self, until: float) -> None:
        """Wait until the document is parsed, by asking the page: if a navigation is blocked during parsing, the browser
        sends no event.
        """
        left = max(0.1, until - time.monotonic())
        with suppress(DriverError, TimeoutError):
            async with asyncio.timeout(left):
                if await self._page.evaluate("document.readyState") != "loading":
                    return
        await in_page_library.document_ready(self._page, max(0.1, until - time.monotonic()))

    async def _loaded(self, until: float, busy: float) -> None:
        """Wait until no request is pending: for documents until `until`, for others until `busy`."""
        while self._documents or self._others:
            self._event.clear()
            limit = (until if self._documents else busy) - time.monotonic()
            if limit <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._event.wait()

    async def _at_rest(self, until: float) -> None:
        revision = await read_page_revision(self._page)
        while time.monotonic() < until:
            began = time.monotonic()
            while time.monotonic() - began < self._rest_s:
                await wait_for_change(self._page, self._rest_s, since=revision)
                if (now := await read_page_revision(self._page)) != revision:
                    revision, self._last = now, time.monotonic()
                    break
            else:
                return

    def _begin(self, request: Request) -> None:
        if is_page_document(request):
            self._documents.add(request)
            self.navigated = True
        elif request.resource_type not in _NEVER_ENDING:
            self._others.add(request)
        self._event.set()

    def _end(self, request: Request) -> None:
        self._documents.discard(request)
        self._others.discard(request)
        self._last = time.monotonic()
        self._event.set()

    def _answered(self, response: Response) -> None:
        if response.request in self._documents:
            self.status = response.status

    def _came(self, frame: Frame) -> None:
        self.arrived = self.arrived or frame.parent_frame is None
