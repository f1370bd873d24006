"""Who carries a run out: one process at a time, whoever else wants to is told who it is.

The same terms as a loader's lease (`kb_store.load`): taken for a while, renewed while one is at it,
given back at the end, and taken over at once where its holder is certainly dead.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from kb_store.errors import StoreError
from kb_store.owners import certainly_dead, this_process
from kb_store.ports import Owner

RUN_LEASE_SECONDS = 30.0
"""How long a process that went silent keeps others off its run: one on another machine, that is. Of
this machine one can look whether it is still there."""
RENEWALS = 3
"""How often a lease is renewed before it would run out."""
STOPS_AFTER = 2 / 3
"""Of its time: who could not renew it for so long stops, well before anybody else may have it."""
LAST_TRY = 1 / 6
"""Of its time: what one renewal may take even where it comes late (a process that was stopped for a while)."""
FORGOTTEN_AFTER_S = 86_400.0
"""A lease that ran out this long ago is deleted."""


@dataclass(frozen=True, slots=True)
class RunLease:
    """The right to carry one run out."""

    run_id: str
    token: str
    owner: Owner
    expires_in: float
    """Seconds until it runs out unless renewed, as seen when this value was made."""


class RunHeld(StoreError):
    """Another process carries this run out. Nothing was changed."""

    retriable = True

    def __init__(self, run_id: str, holder: str, *, free_in: float) -> None:
        self.run_id, self.holder, self.free_in = run_id, holder, free_in
        super().__init__(
            f"run {run_id} is being carried out by {holder}",
            fix="let it come to its end, or stop that process first; "
            f"if it is gone, the way is free in {max(free_in, 0):.0f} s",
        )


class RunLeases(Protocol):
    """The leases of a run store. All methods raise `StoreUnavailable` where it does not answer."""

    async def take(self, run_id: str, owner: Owner, *, ttl: float, instead_of: str | None = None) -> RunLease:
        """Take a run's lease for `ttl` seconds, in one atomic step.

        Possible where it is free or has run out, or is the one whose token is `instead_of`. Raises
        `RunHeld`.
        """

    async def holder(self, run_id: str) -> RunLease | None:
        """The lease that is held now, if any."""

    async def renew(self, lease: RunLease, *, ttl: float) -> None:
        """Hold on for another `ttl` seconds, also where it ran out and nobody took it. Raises `RunHeld`."""

    async def release(self, lease: RunLease) -> None:
        """Give it back, if it is still one's own. Safe to repeat."""


@contextlib.asynccontextmanager
async def holding_run(
    leases: RunLeases, run_id: str, *, on_lost: Callable[[], object], ttl: float = RUN_LEASE_SECONDS
) -> AsyncIterator[RunLease]:
    """The run is this process's for as long as one is inside. `on_lost` is called once where another one took
    it over, or where the store did not answer for `STOPS_AFTER` of `ttl`: from now on one is to do nothing,
    for when the lease runs out somebody else may go on with the run. Raises `RunHeld`.
    """
    asked = asyncio.get_running_loop().time()
    lease = await _taken(leases, run_id, ttl)
    renewing = asyncio.create_task(
        _renewed(leases, lease, ttl, on_lost, good=asked), name=f"lease of run {run_id}"
    )
    try:
        yield lease
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        with contextlib.suppress(StoreError):  # it also runs out by itself
            await leases.release(lease)


async def live_holder(leases: RunLeases, run_id: str) -> RunLease | None:
    """Who carries a run out now; a holder that is certainly dead does not."""
    held = await leases.holder(run_id)
    return None if held is None or certainly_dead(held.owner) else held


async def _taken(leases: RunLeases, run_id: str, ttl: float) -> RunLease:
    owner = this_process()
    try:
        return await leases.take(run_id, owner, ttl=ttl)
    except RunHeld:
        held = await leases.holder(run_id)
        if held is not None and not certainly_dead(held.owner):
            raise
        return await leases.take(run_id, owner, ttl=ttl, instead_of=None if held is None else held.token)


async def _renewed(
    leases: RunLeases, lease: RunLease, ttl: float, on_lost: Callable[[], object], *, good: float
) -> None:
    """`good`: when the lease was last asked for with success, on the loop's clock."""
    now = asyncio.get_running_loop().time
    pause = ttl / RENEWALS
    while True:
        await asyncio.sleep(pause)
        asked, ends = now(), good + ttl * STOPS_AFTER
        try:
            async with asyncio.timeout_at(max(ends, asked + ttl * LAST_TRY)):
                await leases.renew(lease, ttl=ttl)
        except RunHeld:
            on_lost()
            return
        except (StoreError, TimeoutError):
            if now() >= ends:
                on_lost()
                return
            pause = min(ttl / RENEWALS / 4, ends - now())  # it may answer again in time
        else:
            good, pause = asked, ttl / RENEWALS
