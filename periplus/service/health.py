"""How the service is: what the stores and the browser say when they are asked, never what was hoped for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

import structlog
from playwright.async_api import Error as PlaywrightError

from kb_store.ports import Health
from periplus import __version__
from periplus.errors import UserError
from periplus.service.models import HealthView, QueueView
from periplus.service.ports import BrowserCheck
from periplus.service.queue import RunQueue
from periplus.voyage import started_browser

PATIENCE_S = 2.0
"""How long a store may take to say that it is there."""
GOOD_FOR_S = 300.0
"""A browser that started so long ago will start again; one that did not is tried again sooner."""
AGAIN_S = 20.0

_log = structlog.get_logger(__name__)


async def browser_starts() -> str | None:
    """`BrowserCheck` by starting one."""
    try:
        async with started_browser(headed=False):
            return None
    except UserError as exc:
        return exc.message
    except PlaywrightError as exc:
        return exc.message.splitlines()[0]


class BrowserState:
    """What is known of the browser; looked at in the background, as a start takes a second."""

    def __init__(self, check: BrowserCheck) -> None:
        self._check = check
        self._known: tuple[str | None, float] | None = None
        self._looking: asyncio.Task[None] | None = None

    def reason(self) -> tuple[bool, str | None]:
        """Whether it is known yet, and why there is none."""
        now = time.monotonic()
        if self._known is None or now - self._known[1] > (AGAIN_S if self._known[0] else GOOD_FOR_S):
            self.look()
        return (False, None) if self._known is None else (True, self._known[0])

    def look(self) -> asyncio.Task[None]:
        """Look now, if nobody does."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="browser check")
        return self._looking

    async def close(self) -> None:
        """Stop looking."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def _look(self) -> None:
        reason = await self._check()
        if reason:
            _log.warning("no_browser", reason=reason)
        self._known = (reason, time.monotonic())


class HealthReport:
    """Asks everybody, at once."""

    def __init__(
        self, stores: Mapping[str, Callable[[], Awaitable[Health]]], browser: BrowserState, queue: RunQueue
    ) -> None:
        """`stores`: what a part is called -> asks it."""
        self._stores, self.browser, self._queue = stores, browser, queue

    async def __call__(self) -> HealthView:
        """How everything is now. Addresses and drivers' words are in the log, not in the answer."""
        answers = await asyncio.gather(*(_asked(name, ask) for name, ask in self._stores.items()))
        queue, reasons = self._queue, [reason for reason in answers if reason]
        services = {
            name: "unavailable" if reason else "connected"
            for name, reason in zip(self._stores, answers, strict=True)
        }
        known, missing = self.browser.reason()
        services["playwright"] = "starting" if not known else "unavailable" if missing else "ready"
        if missing:
            reasons.append(f"no browser: {missing}")
        limits = queue.limits
        if queue.waiting >= limits.most_waiting:
            reasons.append(f"the queue is full: {queue.waiting} runs wait")
        status = "draining" if queue.draining else "degraded" if reasons else "healthy"
        return HealthView.model_validate(
            {
                "status": status,
                "version": __version__,
                "services": services,
                "reasons": reasons,
                "queue": QueueView(
                    queued=queue.waiting,
                    running=queue.running,
                    workers=limits.workers,
                    limit=limits.most_waiting,
                ),
            }
        )


async def _asked(name: str, ask: Callable[[], Awaitable[Health]]) -> str | None:
    """Why it is not there; None where it is."""
    try:
        found = await asyncio.wait_for(ask(), PATIENCE_S)
    except TimeoutError:
        return f"{name}: the store does not answer within {PATIENCE_S:g} s"
    if found.ok:
        return None
    _log.warning("store_away", part=name, address=found.address, reason=found.detail)
    return f"{name}: the store does not answer"
