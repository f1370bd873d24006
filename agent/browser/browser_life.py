"""Tells whether a browser can be used, and ends one that does not answer.

All pages of a browser share one driver. A page that floods it delays every other call, also those that have no timeout:
a new context, a picture, closing. So the browser is asked for its version again and again, over the same driver; one that does not answer in
time is ended with its driver, and every call that waits for either fails at once. The processes are ended through the
system (on Linux), since the driver would be the last to hear of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from playwright.async_api import Error as DriverError

from agent import retry_limits
from agent.browser.browser_processes import BrowserProcesses, end_process, is_running

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession

CLOSE_S = 15.0
"""How long a browser may take to close; then it is ended."""
_LOOK_S = 1.0
"""Longest part of the wait for an answer. Parts are counted, not seconds: an event loop that was blocked has waited for one part only."""


class _End(NamedTuple):
    reason: str
    alone: bool
    """Whether there was one context only since the last answer, so that its pages are the cause."""


@dataclass
class _Watched:
    """A browser that is watched."""

    processes: BrowserProcesses
    session: CDPSession
    suspects: int = 0
    """How many contexts were open at the last answer, or were opened since: each can be the cause."""

    def note_context(self, _context: BrowserContext) -> None:
        self.suspects += 1


_WATCHED: WeakKeyDictionary[Browser, _Watched] = WeakKeyDictionary()
_ENDED: WeakKeyDictionary[Browser, _End] = WeakKeyDictionary()


def is_alive(browser: Browser) -> bool:
    """Return whether calls to a browser can succeed. Playwright goes on to call a browser connected whose driver has ended."""
    watched = _WATCHED.get(browser)
    return (
        browser.is_connected()
        and not has_driver_ended(browser)
        and browser not in _ENDED
        and (watched is None or is_running(watched.processes.driver))
    )


def has_driver_ended(where: Browser | BrowserContext) -> bool:
    """Return whether the driver of a browser has ended, as after an error in it: every call fails from then on."""
    return getattr(_read_connection(where), "_closed_error", None) is not None


def hear_driver_end(where: Browser | BrowserContext, told: Callable[[], object]) -> None:
    """Call `told` when the driver ends: neither a page nor the browser tells that it is closed then."""
    connection = _read_connection(where)
    if connection is not None:
        connection.on("close", told)


def _read_connection(where: Browser | BrowserContext) -> Any:
    """Return Playwright's connection to its driver. It is no public one: the public objects do not tell of its end."""
    return getattr(getattr(where, "_impl_obj", None), "_connection", None)


async def wait_until_usable(browser: Browser) -> bool:
    """Return whether a browser can be used, once it answers or is ended: what another page sent may keep it busy until then."""
    watched = _WATCHED.get(browser)
    if watched is not None and is_alive(browser):
        with suppress(DriverError):
            await watched.session.send("Browser.getVersion")
    return is_alive(browser)


def read_end_reason(browser: Browser | None) -> str | None:
    """Return why a browser was ended whose only context is the cause; None if it was not, or if another context can be the cause."""
    end = None if browser is None else _ENDED.get(browser)
    return end.reason if end is not None and end.alone else None


def end_browser(browser: Browser, reason: str) -> None:
    """End a browser and its driver. Calls to them fail at once; nothing is done the second time. Of any thread."""
    if browser in _ENDED:
        return
    watched = _WATCHED.get(browser)
    suspects = len(browser.contexts) if watched is None else watched.suspects
    _ENDED[browser] = _End(reason, suspects <= 1)
    import structlog  # noqa: PLC0415 - nothing is ended as a rule

    structlog.get_logger(__name__).error("browser_ended", reason=reason)
    for pid in () if watched is None else watched.processes:
        end_process(pid)


async def close_browser(browser: Browser) -> None:
    """Close a browser; after `CLOSE_S` seconds end it."""
    with suppress(DriverError):  # it may be gone
        try:
            async with asyncio.timeout(CLOSE_S):
                await browser.close()
        except TimeoutError:
            end_browser(browser, f"the browser did not close within {CLOSE_S:.0f} s and was ended")


def watch_answers(browser: Browser, session: CDPSession, processes: BrowserProcesses) -> None:
    """End a browser that does not answer in a session with it for `BROWSER_ANSWER_S`, from now on until it is closed."""
    watched = _WATCHED[browser] = _Watched(processes, session)
    browser.on("context", watched.note_context)
    # In no run's context: it is the browser of later runs, too, and its log would name the first one.
    work = _watch(browser, watched, retry_limits.BROWSER_ANSWER_S)
    watching = asyncio.get_running_loop().create_task(work, context=Context())
    browser.on("disconnected", partial(_cancel, watching))


def _cancel(task: asyncio.Task[None], _browser: Browser) -> None:
    task.cancel()


async def _watch(browser: Browser, watched: _Watched, answer_s: float) -> None:
    with suppress(DriverError):  # it was closed, or its driver has ended
        while True:
            await asyncio.sleep(answer_s / retry_limits.PAGE_PINGS)
            asked = asyncio.ensure_future(watched.session.send("Browser.getVersion"))
            asked.add_done_callback(lambda done: done.cancelled() or done.exception())
            part_s = min(_LOOK_S, answer_s / 10)
            for _part in range(round(answer_s / part_s)):
                if (await asyncio.wait({asked}, timeout=part_s))[0]:
                    break
            else:
                end_browser(browser, f"the browser did not answer for {answer_s:.0f} s and was ended")
                return
            await asked
            watched.suspects = len(browser.contexts)
