"""One worker at a time is at a run; it stops before its lease runs out, and then writes nothing any more."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from agent.execution.stop_request import RunStopped, StopRequest
from kb_schema.run_records import EvidenceLevel, RunEnding, RunStatus
from kb_schema.run_storage import Checkpoint, JournalEntry
from kb_store.errors import StoreUnavailable
from kb_store.ports import LeaseOwner
from kb_store.runs.run_leases import RunLeaseConflict
from kb_store.store_factory import open_runs
from periplus.fleet import fenced_runs
from periplus.fleet.fenced_runs import RunLeaseLost, RunNotHeld, fleet_lease_name, run_with_lease

TTL = 3.0
ELSEWHERE = LeaseOwner(place="elsewhere", pid=1, started="1", host="other")


class CutOff:
    """A store whose leases cannot be reached once it is `cut`: what a network does."""

    def __init__(self, runs):
        self._runs, self.leases = runs, self
        self.cut = asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._runs, name)

    async def _reached(self):
        if self.cut.is_set():
            raise StoreUnavailable("store.example", "no route to host", fix="mend the network")

    async def take(self, *args, **more):
        await self._reached()
        return await self._runs.leases.take(*args, **more)

    async def renew(self, *args, **more):
        await self._reached()
        await self._runs.leases.renew(*args, **more)

    async def release(self, lease):
        await self._reached()
        await self._runs.leases.release(lease)

    async def holder(self, run_id):
        return await self._runs.leases.holder(run_id)


@pytest.fixture
async def runs(tmp_path):
    async with open_runs(tmp_path) as opened:
        yield opened


def entry():
    return JournalEntry(run_id="r1", key="k", action="click", details={}, begun_at=datetime.now(UTC))


async def forever(_runs):
    await asyncio.Event().wait()


async def test_a_worker_that_is_cut_off_from_the_store_stops_before_its_lease_runs_out(runs):
    away = CutOff(runs)
    acting = asyncio.Event()
    seen = []

    async def work(own):
        away.cut.set()
        acting.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(await runs.leases.holder(fleet_lease_name("r1")))
            with pytest.raises(RunNotHeld):
                await own.begin_action(entry())

    with pytest.raises(RunLeaseLost):
        await run_with_lease(away, "r1", StopRequest(), work, ttl=TTL)
    (held,) = seen
    assert held is not None, "nobody else could have it when the work ended"
    assert 0 < held.expires_in <= TTL
    assert await runs.journal("r1") == []
    assert await run_with_lease(runs, "r1", StopRequest(), _told, ttl=TTL) == "done by another"


async def _told(_runs):
    return "done by another"


async def test_who_comes_second_waits_until_the_first_is_done(runs):
    began, may_end, order = asyncio.Event(), asyncio.Event(), []

    async def first(_runs):
        began.set()
        await may_end.wait()
        order.append("first")

    async def second(_runs):
        order.append("second")

    one = asyncio.create_task(run_with_lease(runs, "r1", StopRequest(), first, ttl=TTL))
    await began.wait()
    two = asyncio.create_task(run_with_lease(runs, "r1", StopRequest(), second, ttl=TTL))
    with pytest.raises(RunLeaseConflict):
        await runs.leases.take(fleet_lease_name("r1"), ELSEWHERE, ttl=1)
    may_end.set()
    await asyncio.gather(one, two)
    assert order == ["first", "second"]


async def test_a_worker_that_was_asleep_asks_before_it_does_what_cannot_be_repeated(runs, monkeypatch):
    clock = fenced_runs._now
    slept = 0.0
    monkeypatch.setattr(fenced_runs, "_now", lambda: clock() + slept)

    async def work(own):
        nonlocal slept
        await own.begin_action(entry())
        held = await runs.leases.holder(fleet_lease_name("r1"))
        await runs.leases.take(fleet_lease_name("r1"), ELSEWHERE, ttl=60, instead_of=held.token)
        slept = 1_000.0
        with pytest.raises(RunLeaseConflict, match="on other"):
            await own.begin_action(entry().model_copy(update={"key": "k#2"}))
        ending = RunEnding(
            status=RunStatus.FAILURE,
            evidence=EvidenceLevel.UNVERIFIED,
            finished_at=datetime.now(UTC),
            duration_ms=1,
        )
        for late in (
            own.finish_run("r1", ending),
            own.put_checkpoint(Checkpoint(run_id="r1", state={}, created_at=datetime.now(UTC))),
            own.conclude_action("r1", "k", "happened"),
        ):
            with pytest.raises(RunNotHeld):
                await late
        raise AssertionError("it goes on until it is cut off") from None

    with pytest.raises(RunLeaseLost):
        await run_with_lease(runs, "r1", StopRequest(), work, ttl=60)
    assert [each.key for each in await runs.journal("r1")] == ["k"]
    assert (await runs.leases.holder(fleet_lease_name("r1"))).owner == ELSEWHERE


async def test_who_waits_for_a_run_can_be_stopped(runs):
    await runs.leases.take(fleet_lease_name("r1"), ELSEWHERE, ttl=60)
    stop = StopRequest()
    waiting = asyncio.create_task(run_with_lease(runs, "r1", stop, forever, ttl=0.3))
    stop.ask("enough")
    with pytest.raises(RunStopped, match="enough"):
        await waiting


async def test_work_that_is_cancelled_gives_the_run_back(runs):
    began = asyncio.Event()

    async def work(_runs):
        began.set()
        await asyncio.Event().wait()

    working = asyncio.create_task(run_with_lease(runs, "r1", StopRequest(), work, ttl=TTL))
    await began.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await runs.leases.holder(fleet_lease_name("r1")) is None
