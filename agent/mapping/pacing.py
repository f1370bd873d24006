"""Keeps an exploration polite and stoppable: so many documents a second on the mean, and an end by time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

TOLD_FROM_S = 1.0
"""Waits that are shorter are not worth telling."""


class Pace:
    """When the next document may be asked for. A wait ends at once where it is to stop."""

    def __init__(self, per_second: float, stop: asyncio.Event, tell: Callable[[float], None]) -> None:
        self._gap, self._stop, self._tell = 1.0 / per_second, stop, tell
        self._next = time.monotonic()

    def slower(self, delay_s: float) -> None:
        """At least so many seconds between two, from now on."""
        self._gap = max(self._gap, delay_s)

    async def turn(self) -> None:
        """Return when it is one's turn."""
        now = time.monotonic()
        wait = self._next - now
        self._next = max(now, self._next) + self._gap
        if wait <= 0:
            return
        if wait >= TOLD_FROM_S:
            self._tell(wait)
        try:
            async with asyncio.timeout(wait):
                await self._stop.wait()
        except TimeoutError:
            return
