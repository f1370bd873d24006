"""Ends pages that do not answer, so that nothing waits for them without end.

A script that never returns blocks every call to its page, and most of the browser driver's calls have no timeout. The
watchdog asks each page of a context for a sign of life over the browser's own protocol. A page that gives none, opens
windows without end or floods the driver with events has its renderer killed; the calls that wait for the page then fail with
`PageGone` and its reason.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import structlog
from playwright.async_api import BrowserContext, CDPSession, Page
from playwright.async_api import Error as DriverError

from agent import retry_limits
from agent.page.errors import PageGone

CRASH_S = 3.0
"""How long the browser may take to kill a renderer; it sends no answer when it does."""
CLOSE_S = 15.0
"""How long the browser may take to close a context. After that nothing waits for it."""

_COUNTED: tuple[Any, ...] = (
    "console",
    "pageerror",
    "request",
    "frameattached",
    "framenavigated",
    "websocket",
    "worker",
    "download",
)
"""Events of the driver that a page can cause without end. (Its type of `Page.on` has one overload per event.)"""

_ENDED: WeakKeyDictionary[Page, str] = WeakKeyDictionary()
_WATCHED: WeakSet[Page] = WeakSet()
_SESSIONS: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()
_OPENED: WeakKeyDictionary[Page, WeakSet[Page]] = WeakKeyDictionary()
"""For a page that no other opened: the windows that it and those opened."""
_FIRST: WeakKeyDictionary[Page, Page] = WeakKeyDictionary()
"""For an opened window: the page that no other opened."""

_log = structlog.get_logger(__name__)


def watch_context(context: BrowserContext, *, answer_s: float = retry_limits.PAGE_ANSWER_S) -> None:
    """End every page of the context, also later ones, that gives no sign of life for `answer_s` seconds or sends more than
    `PAGE_EVENTS` events within `PAGE_EVENTS_S`.
    """
    tasks: set[asyncio.Task[None]] = set()

    def do(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    def start(page: Page) -> None:
        _WATCHED.add(page)
        count = _EventCount(lambda reason: do(end_page(page, reason)))
        for event in _COUNTED:
            page.on(event, count.note)
        for watching in (_watch(page, answer_s), _count(page)):
            page.once("close", partial(_cancel, do(watching)))

    context.on("page", start)
    for page in context.pages:
        start(page)


def read_end_reason(page: Page) -> str | None:
    """Return why a page was ended; None if it was not."""
    return _ENDED.get(page)


async def end_page(page: Page, reason: str) -> None:
    """Kill the renderer of a page; it stays open and answers nothing. Does nothing the second time."""
    if page in _ENDED or page.is_closed():
        return
    _ENDED[page] = reason
    _log.warning("page_ended", reason=reason)
    crashed = asyncio.Event()
    page.once("crash", lambda _page: crashed.set())
    with suppress(DriverError, TimeoutError):
        session = _SESSIONS.get(page)
        if session is None:
            async with asyncio.timeout(CRASH_S):
                session = await page.context.new_cdp_session(page)
        asking = asyncio.ensure_future(session.send("Page.crash"))
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())
        async with asyncio.timeout(CRASH_S):
            await crashed.wait()
        asking.cancel()
        return
    with suppress(DriverError, TimeoutError):  # a browser without this protocol
        async with asyncio.timeout(CRASH_S):
            await page.close()


async def close_context(context: BrowserContext) -> None:
    """Close a context; return after `CLOSE_S` seconds, also if it did not close or the browser is gone."""
    with suppress(DriverError, TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            await context.close()


@asynccontextmanager
async def page_deadline(page: Page, seconds: float, what: str) -> AsyncIterator[None]:
    """Bound what is done on a page. When the time is over, end the page and raise `PageGone`.

    Errors of the driver about a page that was ended are raised as `PageGone`, too, and nothing is begun on such a page: the
    browser may be too busy to kill it.
    """
    if (ended := read_end_reason(page)) is not None:
        raise PageGone(page.url, ended)
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as exc:
        reason = f"{what} took more than {seconds:.0f} s; the page was ended"
        await end_page(page, reason)
        raise PageGone(page.url, reason) from exc
    except DriverError as exc:
        known = read_end_reason(page)
        if known is None:
            raise
        raise PageGone(page.url, known) from exc


@asynccontextmanager
async def answer_deadline(page: Page, *, waits_s: float = 0.0) -> AsyncIterator[None]:
    """Bound one call of a script in a page that is watched: `PAGE_CALL_S`, and what the script itself may wait. Raises `PageGone`.

    A page in which a person works has no bound: its calls wait while the person reads a dialog.
    """
    if page not in _WATCHED:
        yield
        return
    async with page_deadline(page, retry_limits.PAGE_CALL_S + waits_s, "the answer to a call"):
        yield


class _EventCount:
    """Counts a page's events, and tells once that there are too many."""

    def __init__(self, end: Callable[[str], object]) -> None:
        self._end = end
        self._began, self._events = time.monotonic(), 0

    def note(self, _event: object) -> None:
        now = time.monotonic()
        if now - self._began > retry_limits.PAGE_EVENTS_S:
            self._began, self._events = now, 0
        self._events += 1
        if self._events == retry_limits.PAGE_EVENTS + 1:
            self._end(
                f"the page sent more than {retry_limits.PAGE_EVENTS} events (console lines, requests, frames, sockets, workers)"
                f" within {retry_limits.PAGE_EVENTS_S:.0f} s and was ended"
            )


def _cancel(task: asyncio.Task[None], _page: Page) -> None:
    task.cancel()


async def _count(page: Page) -> None:
    """Close an opened window, and end the page that opened it or its openers, if they have too many open."""
    with suppress(DriverError, TimeoutError):  # it was closed
        opener = await page.opener()
        if opener is None:
            return
        first = _FIRST[page] = _FIRST.get(opener, opener)
        windows = _OPENED.setdefault(first, WeakSet())
        windows.add(page)
        if first not in _ENDED and sum(not each.is_closed() for each in windows) <= retry_limits.OPEN_WINDOWS:
            return
        await end_page(
            first, f"the page opened more than {retry_limits.OPEN_WINDOWS} windows at a time and was ended"
        )
        async with asyncio.timeout(CRASH_S):
            await page.close()


async def _watch(page: Page, answer_s: float) -> None:
    with suppress(DriverError):  # it was closed
        try:
            async with asyncio.timeout(answer_s):
                session = _SESSIONS[page] = await page.context.new_cdp_session(page)
            while True:
                await asyncio.sleep(answer_s / retry_limits.PAGE_PINGS)
                async with asyncio.timeout(answer_s):
                    with suppress(DriverError):  # its document is being replaced
                        await session.send("Runtime.evaluate", {"expression": "0"})
                if page.is_closed() or page in _ENDED:
                    return
        except TimeoutError:
            await end_page(page, f"the page did not answer for {answer_s:.0f} s and was ended")
