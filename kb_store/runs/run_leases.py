"""Leases of runs: one process executes a run at a time; others learn which one.

They work like a loader's lease (`kb_store.knowledge_loader`): taken for a limited time, renewed while the run
goes on, released at the end, and taken over at once if the holder is certainly dead.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kb_store.errors import StoreError
from kb_store.lease_owners import is_certainly_dead, this_process

if TYPE_CHECKING:
    from kb_store.ports import LeaseOwner

RUN_LEASE_SECONDS = 30.0
"""How many seconds a silent process on another machine keeps its run; on this machine its process is checked.
"""
RENEWALS = 3
"""How often a lease is renewed within its time."""
STOPS_AFTER = 2 / 3
"""The share of its time after which a process that could not renew it stops."""
LAST_TRY = 1 / 6
"""The share of its time that one late renewal may take (a process that was suspended)."""
FORGOTTEN_AFTER_S = 86_400.0
"""A lease that expired this many seconds ago is deleted."""


@dataclass(frozen=True, slots=True)
class RunLease:
    """The right to execute one run."""

    run_id: str
    token: str
    owner: LeaseOwner
    expires_in: float
    """Seconds until it expires unless renewed, as seen when this value was created."""


class RunLeaseConflict(StoreError):
    """Another process executes this run. Nothing was changed."""

    retriable = True

    def __init__(self, run_id: str, holder: str, *, free_in: float) -> None:
        self.run_id, self.holder, self.free_in = run_id, holder, free_in
        super().__init__(
            f"run {run_id} is being executed by {holder}",
            fix="let it finish, or stop that process first; "
            f"if it is gone, its lease expires in {max(free_in, 0):.0f} s",
        )


class RunLeases(Protocol):
    """The leases of a run store. All methods raise `StoreUnavailable` if it does not answer."""

    async def take(
        self, run_id: str, owner: LeaseOwner, *, ttl: float, instead_of: str | None = None
    ) -> RunLease:
        """Take a run's lease for `ttl` seconds, in one atomic step.

        Possible if it is free or expired, or has the token `instead_of`. Raises `RunLeaseConflict`.
        """

    async def holder(self, run_id: str) -> RunLease | None:
        """Return the lease that is held now, if any."""

    async def renew(self, lease: RunLease, *, ttl: float) -> None:
        """Renew the lease for `ttl` seconds, even if it expired but was not taken. Raises `RunLeaseConflict`."""

    async def release(self, lease: RunLease) -> None:
        """Release the lease if it still belongs to this process. Safe to repeat."""


@contextlib.asynccontextmanager
async def hold_run_lease(
    leases: RunLeases, run_id: str, *, on_lost: Callable[[], object], ttl: float = RUN_LEASE_SECONDS
) -> AsyncIterator[RunLease]:
    """Hold a run's lease inside the block.

    `on_lost` is called once if another process took it over, or if the store did not answer for `STOPS_AFTER`
    of `ttl`. From then on the run must do nothing, because another process may continue it when the lease
    expires. Raises `RunLeaseConflict`.
    """
    asked = asyncio.get_running_loop().time()
    lease = await _take_lease(leases, run_id, ttl)
    renewing = asyncio.create_task(
        _renew_lease(leases, lease, ttl, on_lost, good=asked), name=f"lease of run {run_id}"
    )
    try:
        yield lease
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        with contextlib.suppress(StoreError):  # it also expires by itself
            await leases.release(lease)


async def find_live_holder(leases: RunLeases, run_id: str) -> RunLease | None:
    """Return the lease of the process that executes a run now; one that is certainly dead does not count."""
    held = await leases.holder(run_id)
    return None if held is None or is_certainly_dead(held.owner) else held


async def _take_lease(leases: RunLeases, run_id: str, ttl: float) -> RunLease:
    owner = this_process()
    try:
        return await leases.take(run_id, owner, ttl=ttl)
    except RunLeaseConflict:
        held = await leases.holder(run_id)
        if held is not None and not is_certainly_dead(held.owner):
            raise
        return await leases.take(run_id, owner, ttl=ttl, instead_of=None if held is None else held.token)


async def _renew_lease(
    leases: RunLeases, lease: RunLease, ttl: float, on_lost: Callable[[], object], *, good: float
) -> None:
    """Renew the lease until it is lost. `good`: the time of the last successful renewal, on the loop's clock."""
    now = asyncio.get_running_loop().time
    pause = ttl / RENEWALS
    while True:
        await asyncio.sleep(pause)
        asked, ends = now(), good + ttl * STOPS_AFTER
        try:
            async with asyncio.timeout_at(max(ends, asked + ttl * LAST_TRY)):
                await leases.renew(lease, ttl=ttl)
        except RunLeaseConflict:
            on_lost()
            return
        except (StoreError, TimeoutError):
            if now() >= ends:
                on_lost()
                return
            pause = min(ttl / RENEWALS / 4, ends - now())  # the store may answer again in time
        else:
            good, pause = asked, ttl / RENEWALS
