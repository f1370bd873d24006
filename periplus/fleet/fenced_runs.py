"""Leases for runs in a fleet: only one worker executes a run at a time, and the next one resumes it.

The worker with the lease `fleet/RUN` executes the run. It stops before the lease expires (`RunLeaseLost`). The next
worker waits until then, reads record and journal, and resumes the run. A worker that was suspended checks its lease
in the store again before each non-idempotent action.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar, cast

from agent.execution.stop_request import StopRequest
from kb_schema.run_records import RunEnding
from kb_schema.run_storage import Checkpoint, JournalEntry
from kb_store import StoreError
from kb_store.runs.run_leases import (
    RENEWALS,
    RUN_LEASE_SECONDS,
    RunLease,
    RunLeaseConflict,
    RunLeases,
    hold_run_lease,
)
from kb_store.runs.run_store import RunStore

LET_GO = "the worker lost its lease: it could not be renewed, or another worker has it"
SHORTEST_WAIT_S = 0.2
"""The minimum delay before checking again whether a run is free."""

T = TypeVar("T")


class RunLeaseLost(Exception):
    """This worker has lost the run's lease; another one may resume the run."""

    def __init__(self, run_id: str, reason: str = LET_GO) -> None:
        self.run_id = run_id
        super().__init__(reason)


class RunNotHeld(StoreError):
    """A write was refused because this worker no longer holds the run's lease."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"this worker no longer holds run {run_id}", fix="nothing to do: another worker resumes it"
        )


async def run_with_lease(
    runs: RunStore,
    run_id: str,
    stop: StopRequest,
    work: Callable[[RunStore], Awaitable[T]],
    *,
    ttl: float = RUN_LEASE_SECONDS,
) -> T:
    """Wait for the run's lease, then call `work` with a store that only accepts writes of the lease's holder.

    Raises `RunLeaseLost` if the lease is lost, `Stopped` if the run is stopped while it waits.
    """
    while True:
        stop.check()
        try:
            return await _work_under_lease(runs, run_id, work, ttl)
        except RunLeaseConflict as exc:
            # A finished holder releases its lease early, so poll.
            await asyncio.sleep(min(max(exc.free_in, SHORTEST_WAIT_S), ttl / RENEWALS))


async def _work_under_lease(
    runs: RunStore, run_id: str, work: Callable[[RunStore], Awaitable[T]], ttl: float
) -> T:
    fence = _FencedLeases(runs.leases, run_id, ttl)
    async with hold_run_lease(fence, fleet_lease_name(run_id), on_lost=fence.lose, ttl=ttl):
        working = asyncio.ensure_future(work(cast("RunStore", _FencedRuns(runs, fence))))
        fence.guards(working)
        try:
            await asyncio.wait([working])
        finally:
            if not working.done():
                working.cancel()
                await asyncio.wait([working])
        if fence.lost and (working.cancelled() or working.exception() is not None):
            raise RunLeaseLost(run_id)
        return working.result()


def fleet_lease_name(run_id: str) -> str:
    """Return the name of a fleet's lease on a run; the run's own lease is taken within it."""
    return f"fleet/{run_id}"


class _FencedLeases:
    """The leases of a store, with the age and the state of the lease that is held."""

    def __init__(self, leases: RunLeases, run_id: str, ttl: float) -> None:
        self._leases, self._run_id, self._ttl = leases, run_id, ttl
        self._lease: RunLease | None = None
        self._good = 0.0
        self.lost = False
        self._work: asyncio.Future[Any] | None = None

    def guards(self, work: asyncio.Future[Any]) -> None:
        """Set the work to cancel if the lease is lost."""
        self._work = work
        if self.lost:
            work.cancel()

    def lose(self) -> None:
        """Mark the lease as lost: cancel the work and refuse all writes."""
        self.lost = True
        if self._work is not None:
            self._work.cancel()

    def check(self) -> None:
        """Raise `RunNotHeld` if the lease is lost."""
        if self.lost:
            raise RunNotHeld(self._run_id)

    async def assure(self) -> None:
        """Check before a non-idempotent action that the lease is held and lasts. Raises `StoreError`."""
        self.check()
        if self._lease is not None and _now() - self._good > self._ttl / RENEWALS:
            try:
                await self.renew(self._lease, ttl=self._ttl)
            except RunLeaseConflict:
                self.lose()
                raise

    async def take(self, run_id: str, owner: Any, *, ttl: float, instead_of: str | None = None) -> RunLease:
        """See the store."""
        asked = _now()
        self._lease = await self._leases.take(run_id, owner, ttl=ttl, instead_of=instead_of)
        self._good = asked
        return self._lease

    async def renew(self, lease: RunLease, *, ttl: float) -> None:
        """See the store."""
        asked = _now()
        await self._leases.renew(lease, ttl=ttl)
        self._good = asked

    async def holder(self, run_id: str) -> RunLease | None:
        """See the store."""
        return await self._leases.holder(run_id)

    async def release(self, lease: RunLease) -> None:
        """See the store."""
        await self._leases.release(lease)


class _FencedRuns:
    """A run store that refuses journal, checkpoint and end of a run without its lease."""

    def __init__(self, runs: RunStore, fence: _FencedLeases) -> None:
        self._runs, self._fence = runs, fence

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Write a journal entry, after checking the lease."""
        await self._fence.assure()
        return await self._runs.begin_action(entry)

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Write it if the lease is held."""
        self._fence.check()
        return await self._runs.conclude_action(run_id, key, outcome)

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write it if the lease is held."""
        self._fence.check()
        await self._runs.put_checkpoint(checkpoint)

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Store the end of the run if the lease is held; otherwise the next worker stores it."""
        self._fence.check()
        return await self._runs.finish_run(run_id, ending)


def _now() -> float:
    """Return monotonic seconds, including suspended time where the system supports it."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
