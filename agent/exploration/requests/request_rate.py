"""Limits the average number of documents per second of an exploration."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

TOLD_FROM_S = 1.0
"""Minimum wait in seconds that is reported."""


class RequestRate:
    """Delays document requests; a wait ends at once when the exploration is stopped."""

    def __init__(self, per_second: float, stop: asyncio.Event, tell: Callable[[float], None]) -> None:
        self._gap, self._stop, self._tell = 1.0 / per_second, stop, tell
        self._next = time.monotonic()

    def slower(self, delay_s: float) -> None:
        """Set the minimum number of seconds between two documents."""
        self._gap = max(self._gap, delay_s)

    async def turn(self) -> None:
        """Wait until the next document may be requested."""
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
