"""Rate limits: one token bucket per client, in bounded memory."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MOST_CLIENTS = 10_000
"""Buckets held; the one unused longest goes first, which is as good as full by then."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The rate of one client."""

    per_second: float = 50.0
    """Requests, in the long run."""
    burst: int = 200
    """Requests at once, after a pause."""


class RateLimiter:
    """Counts requests by client. `clock` gives seconds and only goes forward."""

    def __init__(self, rate: RateLimit | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate or RateLimit()
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Return 0 and count the request if the client may call now; else the seconds to wait."""
        now = self._clock()
        left, since = self._buckets.pop(client, (float(self.rate.burst), now))
        left = min(float(self.rate.burst), left + (now - since) * self.rate.per_second)
        short = max(0.0, 1.0 - left)
        self._buckets[client] = (left if short else left - 1.0, now)
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return short / self.rate.per_second
