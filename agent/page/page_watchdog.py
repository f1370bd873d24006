"""Ends pages that do not answer, so that nothing waits for them without end.

A script that never returns blocks every call to its page, and most of the browser driver's calls have no timeout. The
watchdog asks each page of a context for a sign of life over the browser's own protocol. A page that gives none, or opens
windows without end, has its renderer killed; the calls that wait for the page then fail with `PageGone` and its reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from weakref import WeakKeyDictionary, WeakSet

import structlog
from playwright.async_api import BrowserContext, CDPSession, Page
from playwright.async_api import Error as DriverError

from agent import retry_limits
from agent.page.errors import PageGone

CRASH_S = 3.0
"""How long the browser may take to kill a renderer; it sends no answer when it does."""

_ENDED: WeakKeyDictionary[Page, str] = WeakKeyDictionary()
_SESSIONS: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()
_OPENED: WeakKeyDictionary[Page, WeakSet[Page]] = WeakKeyDictionary()
"""For a page that no other opened: the windows that it and those opened."""
_FIRST: WeakKeyDictionary[Page, Page] = WeakKeyDictionary()
"""For an opened window: the page that no other opened."""

_log = structlog.get_logger(__name__)


def watch_context(context: BrowserContext, *, answer_s: float = retry_limits.PAGE_ANSWER_S) -> None:
    """End every page of the context, also later ones, that gives no sign of life for `answer_s` seconds."""
    tasks: set[asyncio.Task[None]] = set()

    def start(page: Page) -> None:
        for watching in (_watch(page, answer_s), _count(page)):
            task = asyncio.ensure_future(watching)
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            page.once("close", partial(_cancel, task))

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


@asynccontextmanager
async def page_deadline(page: Page, seconds: float, what: str) -> AsyncIterator[None]:
    """Bound what is done on a page. When the time is over, end the page and raise `PageGone`.

    Errors of the driver about a page that was ended are raised as `PageGone`, too.
    """
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
