"""Ends pages that do not answer, so that nothing waits for them without end.

A script that never returns blocks every call to its page, and most of the browser driver's calls have no timeout. The
watchdog asks each page of a context for a sign of life over the browser's own protocol. A page that gives none, opens
windows without end or floods the driver with events has its renderer killed; the calls that wait for the page then fail at
once with `PageGone` and its reason, also while the driver is still busy with what the page sent.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import structlog
from playwright.async_api import BrowserContext, CDPSession, ConsoleMessage, Page, Request, WebSocket
from playwright.async_api import Error as DriverError

from agent import retry_limits
from agent.browser import browser_life
from agent.browser.memory_watch import read_memory_reason
from agent.page.errors import PageGone
from agent.page.page_listeners import with_signature

CRASH_S = 3.0
"""How long the browser may take to kill a renderer; it sends no answer when it does."""
_COUNTED: tuple[Any, ...] = (
    "pageerror",
    "request",
    "frameattached",
    "framenavigated",
    "websocket",
    "worker",
    "download",
)
"""Events of the driver that a page can cause without end. (Its type of `Page.on` has one overload per event.)"""

_DOCUMENT_PARTS = frozenset({"document", "stylesheet", "script", "font"})
"""Kinds of requests that a document is made of."""

_ENDED: WeakKeyDictionary[Page, str] = WeakKeyDictionary()
_WATCHED: WeakSet[Page] = WeakSet()
_HEARD: WeakKeyDictionary[Page, list[tuple[Any, Callable[..., Any]]]] = WeakKeyDictionary()
"""What hears events of a page until it is ended: afterwards the driver must not pass on what the page had sent."""
_LIMITS: WeakKeyDictionary[Page, list[tuple[asyncio.Task[Any] | None, asyncio.Timeout]]] = WeakKeyDictionary()
"""The deadlines in which something waits for a page, with the task that waits, outer ones first."""
_SESSIONS: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()
_OPENED: WeakKeyDictionary[Page, WeakSet[Page]] = WeakKeyDictionary()
"""For a page that no other opened: the windows that it and those opened."""
_FIRST: WeakKeyDictionary[Page, Page] = WeakKeyDictionary()
"""For an opened window: the page that no other opened."""

_log = structlog.get_logger(__name__)


def watch_context(context: BrowserContext, *, answer_s: float = retry_limits.PAGE_ANSWER_S) -> None:
    """End every page of the context, also later ones, that gives no sign of life for `answer_s` seconds or sends more events,
    requests or console lines within a time than `agent.retry_limits` has, and all of them if too many service workers start.
    """
    tasks: set[asyncio.Task[None]] = set()
    # The driver calls us in the task that started the browser: what is logged would be of that one's run.
    own = copy_context()

    def do(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, context=own.copy())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    def start(page: Page) -> None:
        _WATCHED.add(page)

        def end(reason: str) -> None:
            do(end_page(page, reason))

        count = _EventCount(end)
        requests = _EventCount(
            end,
            retry_limits.PAGE_REQUESTS,
            "sent more than {most} requests for other things than parts of documents",
            within_s=retry_limits.PAGE_REQUESTS_S,
        )
        for event in _COUNTED:
            hear_until_ended(page, event, count.note)
        hear_until_ended(page, "request", requests.note_request)
        hear_until_ended(page, "websocket", count.note_socket)
        hear_until_ended(page, "console", count.note_line)
        page.on("crash", note_crash)
        for watching in (_watch(page, answer_s), _count(page)):
            page.once("close", partial(_cancel, do(watching)))

    def note_crash(page: Page) -> None:
        own.copy().run(_note_crash, page)

    def end_all(reason: str) -> None:
        for page in context.pages:
            do(end_page(page, reason))

    context.on("page", start)
    # Of a lent context the service workers are its person's, and are not heard. What they write and request is not heard of any:
    # the driver would have to pass it on, which takes longer than all else.
    workers = _EventCount(end_all, retry_limits.SERVICE_WORKERS, "started more than {most} service workers")
    context.on("serviceworker", workers.note)
    for page in context.pages:
        start(page)


def read_end_reason(page: Page) -> str | None:
    """Return why a page was ended, alone or with its browser; None if it was not."""
    return _ENDED.get(page) or browser_life.read_end_reason(page.context.browser)


def hear_until_ended(page: Page, event: Any, heard_by: Callable[..., Any]) -> None:
    """Listen to an event of a page until the page is closed or ended."""
    hear = with_signature(heard_by)
    page.on(event, hear)
    _HEARD.setdefault(page, []).append((event, hear))


async def end_page(page: Page, reason: str) -> None:
    """Kill the renderer of a page; it stays open and answers nothing. Does nothing the second time."""
    if page in _ENDED or page.is_closed():
        return
    _note_end(page, reason)
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


def _note_end(page: Page, reason: str) -> None:
    """Remember why a page was ended, hear nothing of it any more, and end what waits for it."""
    _ENDED[page] = reason
    _log.warning("page_ended", reason=reason)
    for event, heard_by in _HEARD.pop(page, ()):
        page.remove_listener(event, heard_by)
    innermost = dict(_LIMITS.get(page, ()))
    innermost.pop(asyncio.current_task(), None)  # it is told by what it does next
    for limit in innermost.values():
        with suppress(RuntimeError):  # it is over already
            limit.reschedule(asyncio.get_running_loop().time())


def _note_crash(page: Page) -> None:
    """A page whose process was ended for its memory was ended, too."""
    reason = read_memory_reason(page.context.browser)
    if page not in _ENDED and reason is not None:
        _note_end(page, reason)


async def close_context(context: BrowserContext) -> None:
    """Close a context; return after `browser_life.CLOSE_S` seconds, also if it did not close or the browser is gone."""
    with suppress(DriverError, TimeoutError):
        async with asyncio.timeout(browser_life.CLOSE_S):
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
        async with asyncio.timeout(seconds) as limit, _waiting(page, limit):
            yield
    except TimeoutError as exc:
        if (ended := read_end_reason(page)) is not None:
            raise PageGone(page.url, ended) from exc
        reason = f"{what} took more than {seconds:.0f} s; the page was ended"
        await end_page(page, reason)
        raise PageGone(page.url, reason) from exc
    except DriverError as exc:
        known = read_end_reason(page)
        if known is None:
            raise
        raise PageGone(page.url, known) from exc


@asynccontextmanager
async def _waiting(page: Page, limit: asyncio.Timeout) -> AsyncIterator[None]:
    """Let the end of the page end this deadline, too."""
    entry = (asyncio.current_task(), limit)
    _LIMITS.setdefault(page, []).append(entry)
    try:
        yield
    finally:
        _LIMITS[page].remove(entry)


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
    """Counts a page's events, and tells once that there are too many.

    Lines of the console are counted by the browser's clock: they may wait in the driver for longer than they took to write.
    """

    def __init__(
        self,
        end: Callable[[str], object],
        most: int | None = None,
        what: str = "sent more than {most} events (errors, requests, frames, sockets, messages, workers, downloads)",
        *,
        within_s: float | None = None,
    ) -> None:
        """`end` gets the reason. `most`: events within `within_s`, usually `PAGE_EVENTS` and `PAGE_EVENTS_S`; `what` a page with more did."""
        self._end, self._what = end, what
        self._most = most or retry_limits.PAGE_EVENTS
        self._within_s = within_s or retry_limits.PAGE_EVENTS_S
        self._latest = deque[float](maxlen=self._most + 1)
        self._too_many = False
        self._first_s, self._lines, self._characters, self._told = 0.0, 0, 0, False

    def note_line(self, line: ConsoleMessage) -> None:
        written_s = line.timestamp / 1000
        if not 0.0 <= written_s - self._first_s <= retry_limits.PAGE_EVENTS_S:
            self._first_s, self._lines, self._characters = written_s, 0, 0
        self._lines += 1
        self._characters += len(line.text)
        too_many = (
            self._lines > retry_limits.PAGE_LINES or self._characters > retry_limits.PAGE_LINE_CHARACTERS
        )
        if too_many and not self._told:
            self._told = True
            self._end(
                f"the page or its workers wrote more than {retry_limits.PAGE_LINES} lines or"
                f" {retry_limits.PAGE_LINE_CHARACTERS} characters to the console within"
                f" {retry_limits.PAGE_EVENTS_S:.0f} s and the page was ended"
            )

    def note_socket(self, socket: WebSocket) -> None:
        """Count its messages."""
        for event in ("framereceived", "framesent"):
            socket.on(event, self.note)

    def note_request(self, request: Request) -> None:
        """Count it, unless it is for a part of a document: those are many where a development server sends each module alone."""
        if request.resource_type not in _DOCUMENT_PARTS:
            self.note(request)

    def note(self, _event: object) -> None:
        self._latest.append(time.monotonic())
        over = len(self._latest) > self._most and self._latest[-1] - self._latest[0] <= self._within_s
        if over and not self._too_many:
            self._too_many = True
            what = self._what.format(most=self._most)
            self._end(f"the page {what} within {self._within_s:.0f} s and was ended")


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
