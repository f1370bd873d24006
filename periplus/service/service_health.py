"""Health checks of the stores, the browser and the queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

import structlog
from playwright.async_api import Error as PlaywrightError

from kb_store.ports import StoreHealth
from periplus import __version__
from periplus.errors import UserError
from periplus.service.rest_models import HealthView, QueueView
from periplus.service.run_queue import RunQueue
from periplus.session_setup import start_browser
from periplus.verifier_ports import BrowserCheck

PATIENCE_S = 2.0
"""Timeout for a store's health check."""
GOOD_FOR_S = 300.0
"""How long a successful and a failed browser check stay valid."""
AGAIN_S = 20.0

_log = structlog.get_logger(__name__)


async def check_browser_start() -> str | None:
    """Check whether a browser starts; return the reason if not."""
    try:
        async with start_browser(headed=False):
            return None
    except UserError as exc:
        return exc.message
    except PlaywrightError as exc:
        return exc.message.splitlines()[0]


class BrowserState:
    """The result of the last browser check; checks run in the background because a start takes a second."""

    def __init__(self, check: BrowserCheck) -> None:
        self._check = check
        self._known: tuple[str | None, float] | None = None
        self._looking: asyncio.Task[None] | None = None

    def reason(self) -> tuple[bool, str | None]:
        """Return whether a check has finished, and why no browser starts."""
        now = time.monotonic()
        if self._known is None or now - self._known[1] > (AGAIN_S if self._known[0] else GOOD_FOR_S):
            self.look()
        return (False, None) if self._known is None else (True, self._known[0])

    def look(self) -> asyncio.Task[None]:
        """Start a check unless one is running."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="browser check")
        return self._looking

    async def close(self) -> None:
        """Cancel a running check."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def _look(self) -> None:
        reason = await self._check()
        if reason:
            _log.warning("no_browser", reason=reason)
        self._known = (reason, time.monotonic())


class HealthReport:
    """Checks all parts in parallel."""

    def __init__(
        self,
        stores: Mapping[str, Callable[[], Awaitable[StoreHealth]]],
        browser: BrowserState,
        queue: RunQueue,
    ) -> None:
        """`stores`: name of a part -> its health check."""
        self._stores, self.browser, self._queue = stores, browser, queue

    async def __call__(self) -> HealthView:
        """Return the current health. Addresses and driver messages are only logged."""
        answers = await asyncio.gather(*(_check_source(name, ask) for name, ask in self._stores.items()))
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
            reasons.append(f"the queue is full: {queue.waiting} runs are waiting")
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


async def _check_source(name: str, ask: Callable[[], Awaitable[StoreHealth]]) -> str | None:
    """Return why a store is not available; None if it is."""
    try:
        found = await asyncio.wait_for(ask(), PATIENCE_S)
    except TimeoutError:
        return f"{name}: the store did not answer within {PATIENCE_S:g} s"
    if found.ok:
        return None
    _log.warning("store_away", part=name, address=found.address, reason=found.detail)
    return f"{name}: the store does not answer"
