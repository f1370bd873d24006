"""A clock that only passes while somebody sleeps by it, and only as far as it may."""

from __future__ import annotations

import asyncio
import math


class Stepped:
    """Seconds of a show in which nobody really waits. `clock()` is the time, `clock.sleep` lets it pass.

    By itself it stands still: `pass_` moves it on, `go` lets it run on as soon as somebody sleeps, never past
    `limit`.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.limit = math.inf
        self._due: list[tuple[float, asyncio.Event]] = []
        self._changed, self._slept = asyncio.Event(), asyncio.Event()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Until so much time has passed."""
        if seconds <= 0:
            return
        entry = (self.now + seconds, asyncio.Event())
        self._due.append(entry)
        self._changed.set()
        self._slept.set()
        try:
            await entry[1].wait()
        finally:
            self._due.remove(entry)

    async def pass_(self, seconds: float) -> None:
        """Let so many seconds go by; whoever is due on the way wakes then."""
        until = self.now + seconds
        await settled()
        while due := [each for each in self._due if each[0] <= until and not each[1].is_set()]:
            self._wake(min(due, key=lambda each: each[0]))
            await settled()
        self.now = until

    async def go(self) -> None:
        """Run on while somebody sleeps, until cancelled."""
        while True:
            await settled()
            due = [each for each in self._due if each[0] <= self.limit and not each[1].is_set()]
            if due:
                self._wake(min(due, key=lambda each: each[0]))
                continue
            self._changed.clear()
            await self._changed.wait()

    def allow(self, limit: float) -> None:
        """From now on it may run so far."""
        self.limit = limit
        self._changed.set()

    async def waited_for(self, at_s: float) -> None:
        """Return when somebody sleeps until then, or longer."""
        while not any(due >= at_s for due, _ in self._due):
            self._slept.clear()
            await self._slept.wait()

    def _wake(self, entry: tuple[float, asyncio.Event]) -> None:
        self.now = max(self.now, entry[0])
        entry[1].set()


async def settled() -> None:
    """Whoever can go on has gone on."""
    for _ in range(30):
        await asyncio.sleep(0)
