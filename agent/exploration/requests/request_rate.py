"""Limits the average number of documents per second of an exploration, and heeds the limit that a website tells.

A website tells it with the status 429 and `Retry-After` (RFC 9110), or with the header fields `RateLimit-...` before: who goes on is
shown broken pages.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

TOLD_FROM_S = 1.0
"""Minimum wait in seconds that is reported."""

LIMITED_S = 30.0
"""Seconds without a request after a 429 that does not say how long."""
LONGEST_S = 120.0
"""Maximum wait in seconds that a website may ask for."""
LEAST_LEFT = 0.3
"""Of the requests that a website allows in a period, this share is left for one page and what it loads."""


class RequestRate:
    """Delays document requests; a wait ends at once when the exploration is stopped."""

    def __init__(self, per_second: float, stop: asyncio.Event, tell: Callable[[float], None]) -> None:
        self._gap, self._stop, self._tell = 1.0 / per_second, stop, tell
        self._next = time.monotonic()

    def slower(self, delay_s: float) -> None:
        """Set the minimum number of seconds between two documents."""
        self._gap = max(self._gap, delay_s)

    def heed(self, status: int, headers: Mapping[str, str]) -> None:
        """Note what a response says of the website's limit; names of `headers` are in lower case."""
        wait = _read_seconds(headers, "retry-after", "ratelimit-reset", "x-ratelimit-reset")
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            wait = LIMITED_S if wait is None else wait
        else:
            most = _read_seconds(headers, "ratelimit-limit", "x-ratelimit-limit")
            left = _read_seconds(headers, "ratelimit-remaining", "x-ratelimit-remaining")
            if not most or left is None or left >= LEAST_LEFT * most:
                return
        if wait is not None and wait <= LONGEST_S:
            self._next = max(self._next, time.monotonic() + wait)

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


def _read_seconds(headers: Mapping[str, str], *names: str) -> float | None:
    """Return the number in the first of these fields that has one; a date is none."""
    for name in names:
        with suppress(KeyError, ValueError):
            return float(headers[name].partition(";")[0].partition(",")[0])
    return None
