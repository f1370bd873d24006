"""A fleet in this process: several contexts of one browser. Needs no extra."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import JsonValue

from periplus.fleet.job_kinds import attempt_job
from periplus.fleet.jobs import LIVES, Job, JobFailed, Tell
from periplus.fleet.worker_resources import WorkerResources


@asynccontextmanager
async def open_local_fleet(width: int) -> AsyncIterator[LocalFleet]:
    """Open a fleet with `width` browser contexts."""
    fleet = LocalFleet(width)
    try:
        yield fleet
    finally:
        await fleet.home.close()


class LocalFleet:
    """`Fleet` in this process."""

    def __init__(self, width: int) -> None:
        self._width, self._turn = width, asyncio.Semaphore(width)
        self.home = WorkerResources()

    @property
    def width(self) -> int:
        """Return the number of contexts."""
        return self._width

    @property
    def in_this_process(self) -> bool:
        """Return True."""
        return True

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        """Execute a job; if the browser dies, start another one."""
        async with self._turn:
            for life in range(1, LIVES + 1):
                ended = await attempt_job(self.home, job, tell)
                if ended.trouble is None:
                    return ended.result
                if ended.trouble.kind != "lost" or life == LIVES:
                    raise JobFailed(job, ended.trouble)
        raise AssertionError("unreachable")  # pragma: no cover

    async def stop(self, reason: str) -> None:
        """Stop all jobs."""
        self.home.stop(reason)
