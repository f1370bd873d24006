"""A fleet in this process: some contexts of one browser at the same time. Needs nothing but Periplus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import JsonValue

from periplus.fleet.home import Home
from periplus.fleet.kinds import attempted
from periplus.fleet.ports import LIVES, Job, JobFailed, Tell


@asynccontextmanager
async def local_fleet(width: int) -> AsyncIterator[LocalFleet]:
    """So many contexts, for as long as one is inside."""
    fleet = LocalFleet(width)
    try:
        yield fleet
    finally:
        await fleet.home.close()


class LocalFleet:
    """`Fleet` in this process."""

    def __init__(self, width: int) -> None:
        self._width, self._turn = width, asyncio.Semaphore(width)
        self.home = Home()

    @property
    def width(self) -> int:
        """How many contexts."""
        return self._width

    @property
    def in_this_process(self) -> bool:
        """It is."""
        return True

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        """In its turn; with another browser where that died."""
        async with self._turn:
            for life in range(1, LIVES + 1):
                ended = await attempted(self.home, job, tell)
                if ended.trouble is None:
                    return ended.result
                if ended.trouble.kind != "lost" or life == LIVES:
                    raise JobFailed(job, ended.trouble)
        raise AssertionError("unreachable")  # pragma: no cover

    async def stop(self, reason: str) -> None:
        """All of them are here."""
        self.home.stop(reason)
