"""A run that several workers may come to be asked for: one at a time is at it, and each looks first what others did.

Whoever has the lease `fleet/RUN` does the run. It stops before that runs out, whatever it is at (`LetGo`);
who comes after it waits until then, reads record and journal, and goes on where it was. A worker that was
away for a while (stopped, swapped out) asks the store again before it does anything that cannot be repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar, cast

from agent.engine.stopping import Stop
from kb_schema.runs import RunEnding
from kb_schema.storage import Checkpoint, JournalEntry
from kb_store import StoreError
from kb_store.run_leases import RENEWALS, RUN_LEASE_SECONDS, RunHeld, RunLease, RunLeases, holding_run
from kb_store.runs import RunStore

LET_GO = "the worker had to let go of it: its lease could not be renewed, or somebody else has it"
SHORTEST_WAIT_S = 0.2
"""Before one looks again whether a run is free."""

T = TypeVar("T")


class LetGo(Exception):
    """This worker does not go on with the run. Somebody else may."""

    def __init__(self, run_id: str, reason: str = LET_GO) -> None:
        self.run_id = run_id
        super().__init__(reason)


class NotOurs(StoreError):
    """What was to be written is of a run that this worker had to let go of."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} is not this worker's any more", fix="nothing: another worker goes on")


async def held_life(
    runs: RunStore,
    run_id: str,
    stop: Stop,
    work: Callable[[RunStore], Awaitable[T]],
    *,
    ttl: float = RUN_LEASE_SECONDS,
) -> T:
    """Do `work` with a store in which only the holder writes; wait before that while another one is at it.

    Raises `LetGo` where the run had to be let go of, `Stopped` where it was asked to stop meanwhile.
    """
    while True:
        stop.check()
        try:
            return await _held(runs, run_id, work, ttl)
        except RunHeld as exc:
            # A holder that comes to its end gives its lease back early: look again now and then.
            await asyncio.sleep(min(max(exc.free_in, SHORTEST_WAIT_S), ttl / RENEWALS))


async def _held(runs: RunStore, run_id: str, work: Callable[[RunStore], Awaitable[T]], ttl: float) -> T:
    fence = _Fence(runs.leases, run_id, ttl)
    async with holding_run(fence, lease_of(run_id), on_lost=fence.lose, ttl=ttl):
        working = asyncio.ensure_future(work(cast("RunStore", _FencedRuns(runs, fence))))
        fence.guards(working)
        try:
            await asyncio.wait([working])
        finally:
            if not working.done():
                working.cancel()
                await asyncio.wait([working])
        if fence.lost and (working.cancelled() or working.exception() is not None):
            raise LetGo(run_id)
        return working.result()


def lease_of(run_id: str) -> str:
    """The name of the lease under which a fleet does a run; the run's own is taken within it."""
    return f"fleet/{run_id}"


class _Fence:
    """The leases of a store, with what is known of the one that is held: how fresh it is, whether it is lost."""

    def __init__(self, leases: RunLeases, run_id: str, ttl: float) -> None:
        self._leases, self._run_id, self._ttl = leases, run_id, ttl
        self._lease: RunLease | None = None
        self._good = 0.0
        self.lost = False
        self._work: asyncio.Future[Any] | None = None

    def guards(self, work: asyncio.Future[Any]) -> None:
        """What is cut off where the lease is lost."""
        self._work = work
        if self.lost:
            work.cancel()

    def lose(self) -> None:
        """From now on nothing is done and nothing written."""
        self.lost = True
        if self._work is not None:
            self._work.cancel()

    def check(self) -> None:
        """Raises `NotOurs`."""
        if self.lost:
            raise NotOurs(self._run_id)

    async def assure(self) -> None:
        """Before something that cannot be repeated: the lease is ours, and lasts. Raises `StoreError`."""
        self.check()
        if self._lease is not None and _now() - self._good > self._ttl / RENEWALS:
            try:
                await self.renew(self._lease, ttl=self._ttl)
            except RunHeld:
                self.lose()
                raise

    async def take(self, run_id: str, owner: Any, *, ttl: float, instead_of: str | None = None) -> RunLease:
        """As the store does."""
        asked = _now()
        self._lease = await self._leases.take(run_id, owner, ttl=ttl, instead_of=instead_of)
        self._good = asked
        return self._lease

    async def renew(self, lease: RunLease, *, ttl: float) -> None:
        """As the store does."""
        asked = _now()
        await self._leases.renew(lease, ttl=ttl)
        self._good = asked

    async def holder(self, run_id: str) -> RunLease | None:
        """As the store does."""
        return await self._leases.holder(run_id)

    async def release(self, lease: RunLease) -> None:
        """As the store does."""
        await self._leases.release(lease)


class _FencedRuns:
    """A run store in which what one may go on from is written only while the run is one's own."""

    def __init__(self, runs: RunStore, fence: _Fence) -> None:
        self._runs, self._fence = runs, fence

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Asks first whether the run is still one's own."""
        await self._fence.assure()
        return await self._runs.begin_action(entry)

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Not of a run that was let go of."""
        self._fence.check()
        return await self._runs.conclude_action(run_id, key, outcome)

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Not of a run that was let go of."""
        self._fence.check()
        await self._runs.put_checkpoint(checkpoint)

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Its end is told by whoever goes on with it."""
        self._fence.check()
        return await self._runs.finish_run(run_id, ending)


def _now() -> float:
    """Seconds that also pass while the machine sleeps, where the system can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
