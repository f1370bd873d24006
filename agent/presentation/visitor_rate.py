"""Limits how often visitors may say something in a presentation, by whatever way it comes: page or room."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

PER_MINUTE = 60
"""Words and buttons a minute. Each stops the speech and is answered."""
_WINDOW_S = 60.0


class VisitorRate:
    """Counts what was said in the last minute."""

    def __init__(self, per_minute: int = PER_MINUTE, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._said: deque[float] = deque()

    def wait(self) -> float:
        """Return 0 and count what is said if it may be said now; else the seconds to wait."""
        now = self._clock()
        while self._said and self._said[0] <= now - _WINDOW_S:
            self._said.popleft()
        if len(self._said) >= self._per_minute:
            return _WINDOW_S - (now - self._said[0])
        self._said.append(now)
        return 0.0
