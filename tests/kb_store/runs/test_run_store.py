"""What every run store must do (PACTS 9). Run once for each of them, with a clock of the test's own."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agent import ports
from kb_schema.cached_locators import Locator
from kb_schema.run_records import (
    Artifact,
    EvidenceLevel,
    Metric,
    RunEnding,
    RunStatus,
    StoredRun,
    StoredStep,
    to_pacts_verdict,
)
from kb_schema.run_storage import Checkpoint as Kept
from kb_schema.run_storage import CheckpointTooLarge, JournalEntry, StoredEvent, TooManyCheckpoints
from kb_schema.selectors import Selector, css
from kb_store import StoreError
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.run_store import MongoRunStore
from kb_store.ports import LeaseOwner
from kb_store.runs.run_leases import RunLease, RunLeaseConflict, hold_run_lease
from kb_store.runs.run_store import RunStore as RunStorePort
from kb_store.sqlite import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore

if TYPE_CHECKING:
    from pathlib import Path

    from kb_store.runs.run_store import RunStore

HOSTILE = (
    "O'Brien", '"; DROP TABLE runs; --', "{'$where': 'sleep(1)'}", "$set", "$expires_at", "a.b.$[]", ":run_id",
    "../../etc/passwd", "\u0000 in the middle \u0000", "\u2028\u2029", "🚀 é ﷽", "a" * 1_000_000, "%s {} {{x}} $[0]",
    "\\", "\r\n\t", " ",
)  # fmt: skip
SHA = hashlib.sha256(b"").hexdigest()
NOW = datetime.now(UTC)
HOUR, DAY = 3_600.0, 86_400.0


class Clock:
    """Seconds that pass when told to. It begins at the real time: MongoDB deletes by its own."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def _opened(name: str, clock: Clock, request: pytest.FixtureRequest) -> AsyncIterator[RunStore]:
    store: RunStore
    limits = {"max_checkpoints": 5, "max_checkpoint_bytes": 10_000}
    if name == "embedded":
        folder: Path = request.getfixturevalue("tmp_path")
        store = SqliteRunStore(SqliteDatabase(folder / "knowledge.sqlite3"), now=clock, **limits)
    else:
        url = request.getfixturevalue("emptied_mongodb_url")
        store = MongoRunStore(MongoConnection(url), now=clock, **limits)
    try:
        await store.prepare()
        yield store
    finally:
        await store.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def store(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[RunStore]:
    """An empty run store of each kind in turn."""
    async with _opened(request.param, clock, request) as opened:
        yield opened


def run_of(run_id: str = "r1", **fields: object) -> StoredRun:
    known = {"url": "http://h", "website_id": "harbour", "kind": "task", "subject": "t", "started_at": NOW}
    return StoredRun.model_validate({"run_id": run_id, **known, **fields})


def ending_of(**fields: object) -> RunEnding:
    known = {"status": "success", "evidence": "verified", "finished_at": NOW, "duration_ms": 1.5}
    return RunEnding.model_validate({**known, **fields})


def step_of(index: int = 0, run_id: str = "r1", **fields: object) -> StoredStep:
    known = {"action": "click", "status": "success", "executed_at": NOW, "task_id": "t", "step_id": "s"}
    return StoredStep.model_validate(
        {"run_id": run_id, "step_idx": index, "duration_ms": 2.25, **known, **fields}
    )


def artifact_of(name: str = "film", **fields: object) -> Artifact:
    known = {"run_id": "r1", "artifact_type": "film", "file_path": "out/demo.mp4", "file_hash": SHA}
    return Artifact.model_validate({"name": name, **known, "size_bytes": 7, "created_at": NOW, **fields})


def checkpoint_of(name: str = "latest", **fields: object) -> Kept:
    known = {"run_id": "r1", "state": {"step": 1}, "created_at": NOW}
    return Kept.model_validate({"name": name, **known, **fields})


def locator_of(**fields: object) -> Locator:
    known = {"website_id": "harbour", "url": "http://h/new", "element": "Name", "confidence": 0.95}
    return Locator.model_validate({**known, "selector": css("#name"), **fields})


def event_of(seq: int, **fields: object) -> StoredEvent:
    return StoredEvent.model_validate({"run_id": "r1", "seq": seq, "type": "step", "at": NOW, **fields})


# -- runs


async def test_a_run_is_kept_from_its_first_moment_and_ended_in_one_step(store):
    run = run_of(req_id="REQ-1")
    assert await store.begin_run(run)
    assert await store.run("r1") == run
    ending = ending_of(outputs={"moored": "Skua"}, heal_rounds=2, rca_class="success", hint="none")
    assert await store.finish_run("r1", ending)
    found = await store.run("r1")
    assert found == run.ended(ending)
    assert found.verdict == "pass"
    assert found.outputs == {"moored": "Skua"}
    assert found.finished_at.tzinfo is not None


async def test_a_run_begun_twice_stays_as_it_was(store):
    await store.begin_run(run_of())
    await store.finish_run("r1", ending_of())
    assert not await store.begin_run(run_of(url="http://elsewhere"))
    assert (await store.run("r1")).url == "http://h"
    assert (await store.run("r1")).status == "success"


async def test_of_two_endings_the_last_word_counts_and_an_unknown_run_cannot_end(store):
    await store.begin_run(run_of())
    await store.finish_run("r1", ending_of(status="failure", evidence="contradicted", error="no"))
    await store.finish_run("r1", ending_of())
    assert (await store.run("r1")).error is None
    assert not await store.finish_run("nobody", ending_of())
    assert await store.run("nobody") is None


async def test_a_run_names_its_workflows_version_also_after_an_ending_that_has_none(store):
    await store.begin_run(run_of())
    await store.finish_run("r1", ending_of(workflow_version="0123456789ab"))
    await store.finish_run("r1", ending_of(status="failure", error="interrupted"))
    (found,) = await store.runs()
    assert (found.status, found.workflow_version) == ("failure", "0123456789ab")
    await store.finish_run("r1", ending_of(workflow_version="ba9876543210"))
    assert (await store.run("r1")).workflow_version == "ba9876543210"


async def test_runs_are_counted_by_how_they_ended(store):
    assert dict(await store.run_counts("harbour")) == {}
    for number, status in enumerate([None, "success", "success", "needs_person"]):
        await store.begin_run(run_of(f"r{number}"))
        if status:
            await store.finish_run(f"r{number}", ending_of(status=status))
    await store.begin_run(run_of("other", website_id="shop"))
    assert dict(await store.run_counts("harbour")) == {
        None: 1,
        RunStatus.SUCCESS: 2,
        RunStatus.NEEDS_PERSON: 1,
    }


async def test_runs_are_listed_newest_first_and_found_by_website_requirement_and_prefix(store):
    for number in range(5):
        started = NOW + timedelta(minutes=number)
        site = "harbour" if number % 2 else "shop"
        await store.begin_run(
            run_of(f"r{number}", started_at=started, website_id=site, req_id=f"R{number % 2}")
        )
    assert [run.run_id for run in await store.runs()] == ["r4", "r3", "r2", "r1", "r0"]
    assert [run.run_id for run in await store.runs(limit=2)] == ["r4", "r3"]
    assert [run.run_id for run in await store.runs(website_id="harbour")] == ["r3", "r1"]
    assert [run.run_id for run in await store.runs(req_id="R0")] == ["r4", "r2", "r0"]
    assert [run.run_id for run in await store.runs(id_prefix="r3")] == ["r3"]
    assert await store.runs(id_prefix="%") == await store.runs(id_prefix=".*") == []


async def test_all_runs_can_be_gone_through_by_id(store):
    for number in range(7):
        await store.begin_run(run_of(f"r{number}", website_id="shop" if number == 3 else "harbour"))
    found, after = [], ""
    while page := await store.runs_by_id(after=after, limit=3):
        found += [run.run_id for run in page]
        after = found[-1]
    assert found == [f"r{number}" for number in range(7)]
    assert [run.run_id for run in await store.runs_by_id(website_id="shop")] == ["r3"]


async def test_a_step_appended_twice_counts_once(store):
    assert await store.append_step(step_of(0))
    assert not await store.append_step(step_of(0, status="failed"))
    assert await store.append_step(step_of(1, error_message="no", status="failed", confidence=0.9))
    assert await store.append_step(step_of(0, run_id="r2"))
    steps = await store.steps("r1")
    assert steps == [step_of(0), step_of(1, error_message="no", status="failed", confidence=0.9)]
    assert await store.step_counts(["r1", "r2", "r3"]) == {"r1": 2, "r2": 1}
    assert await store.step_counts([]) == {}


async def test_a_hundred_writers_of_one_step_keep_exactly_one(store):
    kept = await asyncio.gather(*(store.append_step(step_of(0, selector=f"#s{n}")) for n in range(100)))
    assert sum(kept) == 1
    (step,) = await store.steps("r1")
    assert step.selector == f"#s{kept.index(True)}"


async def test_steps_come_in_their_order_whatever_the_order_of_writing(store):
    for index in (10, 2, 0, 1):
        await store.append_step(step_of(index))
    assert [step.step_idx for step in await store.steps("r1")] == [0, 1, 2, 10]


async def test_an_artifact_is_replaced_by_the_newest_of_its_name(store):
    await store.put_artifact(artifact_of())
    newer = artifact_of(size_bytes=2**40, file_hash="f" * 64)
    await store.put_artifact(newer)
    elsewhere = artifact_of("blob", file_path=None, content_ref="gridfs:42")
    await store.put_artifact(elsewhere)
    assert await store.artifacts("r1") == [elsewhere, newer]
    assert await store.artifacts("r2") == []


async def test_writers_of_one_artifact_do_not_trip_over_each_other(store):
    await asyncio.gather(*(store.put_artifact(artifact_of(size_bytes=n)) for n in range(30)))
    assert len(await store.artifacts("r1")) == 1


async def test_a_metric_sent_twice_counts_once(store):
    metric = Metric(run_id="r1", metric_name="replans", metric_value=2.5, recorded_at=NOW)
    assert await store.add_metric(metric)
    assert not await store.add_metric(metric)
    later = Metric(run_id="r1", metric_name="replans", metric_value=3, recorded_at=NOW + timedelta(seconds=1))
    assert await store.add_metric(later)
    assert await store.metrics("r1") == [metric, later]


def test_an_artifact_is_in_one_place_and_has_a_real_hash():
    for wrong in ({"file_path": None}, {"content_ref": "x"}, {"file_hash": "abc"}, {"size_bytes": -1}):
        with pytest.raises(ValidationError):
            artifact_of(**wrong)


@pytest.mark.parametrize(
    ("status", "evidence", "verdict"),
    [
        (RunStatus.SUCCESS, EvidenceLevel.VERIFIED, "pass"),
        (RunStatus.SUCCESS, EvidenceLevel.UNVERIFIED, "fail"),
        (RunStatus.PARTIAL, EvidenceLevel.VERIFIED, "partial"),
        (RunStatus.DEGRADED, EvidenceLevel.UNVERIFIED, "partial"),
        (RunStatus.FAILURE, EvidenceLevel.CONTRADICTED, "fail"),
        (RunStatus.NEEDS_PERSON, EvidenceLevel.UNVERIFIED, "fail"),
    ],
)
def test_the_verdict_follows_from_status_and_evidence(status, evidence, verdict):
    assert to_pacts_verdict(status, evidence) == verdict


# -- retention


async def test_a_sweep_deletes_a_websites_old_runs_with_all_that_belongs_to_them(store, clock):
    old, fresh = NOW - timedelta(days=40), NOW - timedelta(days=2)
    for run_id, at, site in (("old", old, "harbour"), ("fresh", fresh, "harbour"), ("other", old, "shop")):
        await store.begin_run(run_of(run_id, started_at=at, website_id=site))
        await store.finish_run(run_id, ending_of(finished_at=at))
        await store.append_step(step_of(run_id=run_id))
        await store.put_artifact(artifact_of(run_id=run_id))
        await store.add_metric(Metric(run_id=run_id, metric_name="m", metric_value=1, recorded_at=NOW))
        await store.begin_action(JournalEntry(run_id=run_id, key="k", action="click", begun_at=NOW))
        await store.put_checkpoint(checkpoint_of(run_id=run_id))
        await store.append_events([event_of(0, run_id=run_id)])
        await store.count_heal(run_id, "#x")
    assert await store.sweep_runs("harbour", before=NOW - timedelta(days=30)) == 1
    assert await store.sweep_runs("harbour", before=NOW - timedelta(days=30)) == 0
    assert {run.run_id for run in await store.runs()} == {"fresh", "other"}
    for run_id, number in (("old", 0), ("fresh", 1), ("other", 1)):
        assert len(await store.steps(run_id)) == number
        assert len(await store.artifacts(run_id)) == number
        assert len(await store.metrics(run_id)) == number
        assert len(await store.journal(run_id)) == number
        assert len(await store.checkpoints(run_id)) == number
        assert len(await store.events(run_id)) == number
        assert await store.heals(run_id, "#x") == number


async def test_a_sweep_lets_a_run_that_may_be_going_on_be_even_where_nothing_is_kept(store):
    await store.begin_run(run_of("going", started_at=NOW - timedelta(hours=2)))
    await store.begin_run(run_of("killed", started_at=NOW - timedelta(days=2)))
    await store.begin_run(run_of("done", started_at=NOW - timedelta(hours=2)))
    await store.finish_run("done", ending_of(finished_at=NOW - timedelta(hours=1)))
    assert await store.sweep_runs("harbour", before=NOW) == 2
    assert [run.run_id for run in await store.runs()] == ["going"]


async def test_a_sweep_of_many_runs_takes_them_all(store):
    for number in range(450):
        await store.begin_run(run_of(f"r{number}", started_at=NOW - timedelta(days=9)))
    assert await store.sweep_runs("harbour", before=NOW) == 450


# -- journal


async def test_an_action_is_begun_once_and_the_second_is_given_what_the_first_wrote(store):
    first = JournalEntry(run_id="r1", key="k", action="click", details={"rows": 3}, begun_at=NOW)
    assert await store.begin_action(first) == first
    later = first.model_copy(update={"details": {"rows": 4}, "begun_at": NOW + timedelta(seconds=1)})
    assert await store.begin_action(later) == first
    assert await store.conclude_action("r1", "k", "happened")
    assert not await store.conclude_action("r1", "other", "happened")
    (entry,) = await store.journal("r1")
    assert entry.outcome == "happened"
    assert entry.concluded_at is not None
    assert (await store.begin_action(later)).outcome == "happened"


async def test_of_many_who_begin_one_action_all_are_given_the_same_entry(store):
    entries = [
        JournalEntry(run_id="r1", key="k", action="click", details={"by": n}, begun_at=NOW) for n in range(50)
    ]
    given_back = await asyncio.gather(*(store.begin_action(entry) for entry in entries))
    assert len({entry.details["by"] for entry in given_back}) == 1


# -- checkpoints


async def test_a_checkpoint_is_replaced_whole(store):
    await store.put_checkpoint(checkpoint_of(state={"step": 1, "data": {"a": [1, None, "x"]}}))
    newer = checkpoint_of(state=[1.5, {"$set": {"a.b": "\u0000"}}], step_idx=7)
    await store.put_checkpoint(newer)
    assert await store.checkpoint("r1") == newer
    assert await store.checkpoints("r1") == [newer]
    await store.drop_checkpoint("r1", "latest")
    await store.drop_checkpoint("r1", "latest")
    assert await store.checkpoint("r1") is None


async def test_readers_of_a_checkpoint_being_replaced_see_one_whole_state(store):
    await store.put_checkpoint(checkpoint_of(state=[0] * 100))

    async def read() -> None:
        found = await store.checkpoint("r1")
        assert found is not None
        assert len(set(found.state)) == 1

    writes = [store.put_checkpoint(checkpoint_of(state=[n] * 100)) for n in range(30)]
    reads = [read() for _ in range(30)]
    await asyncio.gather(*(each for pair in zip(writes, reads, strict=True) for each in pair))


async def test_a_run_has_at_most_so_many_checkpoints_and_is_told_so(store):
    for number in range(5):
        await store.put_checkpoint(checkpoint_of(f"c{number}"))
    with pytest.raises(TooManyCheckpoints, match="has 5 checkpoints already -> replace one"):
        await store.put_checkpoint(checkpoint_of("c5"))
    await store.put_checkpoint(checkpoint_of("c4", state="replaced"))
    await store.put_checkpoint(checkpoint_of("c0", run_id="r2"))
    assert [c.name for c in await store.checkpoints("r1")] == ["c0", "c1", "c2", "c3", "c4"]
    await store.drop_checkpoint("r1", "c0")
    await store.put_checkpoint(checkpoint_of("c5"))


async def test_many_writers_together_do_not_pass_the_limit_of_checkpoints(store):
    done = await asyncio.gather(
        *(store.put_checkpoint(checkpoint_of(f"c{n}")) for n in range(15)), return_exceptions=True
    )
    assert len(await store.checkpoints("r1")) == 5
    assert sum(each is None for each in done) == 5
    assert all(each is None or isinstance(each, TooManyCheckpoints) for each in done)


async def test_a_checkpoint_that_is_too_large_is_refused_and_the_old_one_stays(store):
    await store.put_checkpoint(checkpoint_of(state="small"))
    with pytest.raises(CheckpointTooLarge, match=r"has 10,003 bytes, 10,000 are allowed"):
        await store.put_checkpoint(checkpoint_of(state="x" * 10_001))
    assert (await store.checkpoint("r1")).state == "small"


async def test_checkpoints_live_for_a_day_and_those_that_are_over_do_not_count(store, clock):
    for number in range(5):
        await store.put_checkpoint(checkpoint_of(f"c{number}"))
    clock.now += 3 * DAY - 1
    await store.put_checkpoint(checkpoint_of("c0"))
    assert len(await store.checkpoints("r1")) == 5
    clock.now += 1
    assert [c.name for c in await store.checkpoints("r1")] == ["c0"]
    assert await store.checkpoint("r1", "c1") is None
    for number in range(10, 14):
        await store.put_checkpoint(checkpoint_of(f"c{number}"))
    assert len(await store.checkpoints("r1")) == 5


async def test_a_checkpoint_that_was_written_a_day_behind_is_there_a_day_ahead(store, clock):
    clock.now -= DAY
    await store.put_checkpoint(checkpoint_of("c0"))
    clock.now += 2 * DAY
    assert [c.name for c in await store.checkpoints("r1")] == ["c0"]
    await store.put_checkpoint(checkpoint_of("c1"))
    assert {c.name for c in await store.checkpoints("r1")} == {"c0", "c1"}


# -- the locator cache


async def test_a_locator_is_good_for_an_hour_from_when_it_was_found(store, clock):
    await store.put_locator(locator_of())
    clock.now += HOUR - 1
    assert await store.locator("harbour", "http://h/new", "Name") == locator_of()
    clock.now += 1
    assert await store.locator("harbour", "http://h/new", "Name") is None
    fresh = locator_of(
        selector=Selector.model_validate(
            {"strategies": [{"type": "label", "name": "Name", "exact": True}, {"type": "id", "value": "n"}]}
        )
    )
    await store.put_locator(fresh)
    assert await store.locator("harbour", "http://h/new", "Name") == fresh


async def test_locators_of_other_sites_pages_and_elements_are_others_and_one_can_be_forgotten(store):
    await store.put_locator(locator_of())
    assert await store.locator("shop", "http://h/new", "Name") is None
    assert await store.locator("harbour", "http://h", "new:Name") is None
    await store.put_locator(locator_of(url="http://h", element="x:Name", selector=css("#a")))
    await store.put_locator(locator_of(url="http://h:x", element="Name", selector=css("#b")))
    assert (await store.locator("harbour", "http://h", "x:Name")).selector == css("#a")
    await store.forget_locator("harbour", "http://h", "x:Name")
    await store.forget_locator("harbour", "http://h", "x:Name")
    assert await store.locator("harbour", "http://h", "x:Name") is None
    assert (await store.locator("harbour", "http://h:x", "Name")).selector == css("#b")


# -- heal counters


async def test_a_hundred_writers_of_one_heal_counter_lose_nothing(store):
    counts = await asyncio.gather(*(store.count_heal("r1", "#button") for _ in range(100)))
    assert sorted(counts) == list(range(1, 101))
    assert await store.heals("r1", "#button") == 100
    assert await store.heals("r1", "#other") == await store.heals("r2", "#button") == 0


async def test_a_heal_counter_is_over_after_an_hour_without_heals_and_begins_again(store, clock):
    await store.count_heal("r1", "#b")
    clock.now += HOUR - 1
    assert await store.count_heal("r1", "#b") == 2
    clock.now += HOUR - 1
    assert await store.heals("r1", "#b") == 2
    clock.now += 1
    assert await store.heals("r1", "#b") == 0
    assert await store.count_heal("r1", "#b") == 1


# -- leases


def owner_of(pid: int) -> LeaseOwner:
    return LeaseOwner(place="elsewhere", pid=pid, started="1", host="other")


async def test_a_run_is_carried_out_by_one_at_a_time_and_the_second_is_told_who_it_is(store):
    leases = store.leases
    lease = await leases.take("r1", owner_of(1), ttl=30)
    with pytest.raises(RunLeaseConflict, match="process 1 on other") as told:
        await leases.take("r1", owner_of(2), ttl=30)
    assert 0 < told.value.free_in <= 30
    await leases.take("r2", owner_of(2), ttl=30)
    held = await leases.holder("r1")
    assert held is not None
    assert (held.owner, held.token) == (owner_of(1), lease.token)
    await leases.release(lease)
    assert await leases.holder("r1") is None
    assert (await leases.take("r1", owner_of(2), ttl=30)).owner == owner_of(2)


async def test_a_lease_that_ran_out_or_whose_holder_is_dead_is_taken_over_and_not_given_back(store):
    leases = store.leases
    first = await leases.take("r1", owner_of(1), ttl=-1)
    assert await leases.holder("r1") is None
    await leases.renew(first, ttl=30)  # nobody took it meanwhile
    second = await leases.take("r1", owner_of(2), ttl=30, instead_of=first.token)
    with pytest.raises(RunLeaseConflict, match="process 2"):
        await leases.renew(first, ttl=30)
    await leases.release(first)
    held = await leases.holder("r1")
    assert held is not None
    assert held.token == second.token


async def test_of_many_who_take_one_run_exactly_one_has_it(store):
    asked = [store.leases.take("r1", owner_of(number), ttl=30) for number in range(20)]
    came = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in came].count(RunLease) == 1
    assert [type(each) for each in came].count(RunLeaseConflict) == 19


async def test_a_run_is_held_while_one_is_at_it_and_who_lost_it_is_told(store):
    lost = asyncio.Event()
    async with hold_run_lease(store.leases, "r1", on_lost=lost.set, ttl=3) as lease:
        with pytest.raises(RunLeaseConflict):
            async with hold_run_lease(store.leases, "r1", on_lost=lost.set):
                pass
        await store.leases.take("r1", owner_of(2), ttl=30, instead_of=lease.token)
        await asyncio.wait_for(lost.wait(), 10)
    held = await store.leases.holder("r1")
    assert held is not None
    assert held.owner == owner_of(2)


# -- rates


async def test_a_hundred_requests_at_once_are_all_counted(store, clock):
    clock.now = clock.now // 60 * 60 + 120.0  # a minute begins
    counts = await asyncio.gather(*(store.count_request("client") for _ in range(100)))
    assert sorted(counts) == list(range(1, 101))
    assert await store.count_request("another") == 1


async def test_requests_count_for_a_minute_that_slides(store, clock):
    clock.now = clock.now // 60 * 60 + 120.0
    for _ in range(40):
        await store.count_request("client")
    clock.now += 59
    assert await store.count_request("client") == 41
    clock.now += 1 + 15  # a quarter into the next minute: three quarters of the last one count
    assert await store.count_request("client") == pytest.approx(1 + 41 * 0.75)
    clock.now += 40
    assert await store.count_request("client") == pytest.approx(2 + 41 * (1 - 55 / 60))
    clock.now += 120
    assert await store.count_request("client") == 1


# -- events


async def test_events_are_read_on_from_where_one_was_and_live_for_a_day(store, clock):
    await store.append_events([])
    await store.append_events([event_of(n, data={"n": n}) for n in range(3)])
    await store.append_events([event_of(n, type="again") for n in range(2, 5)])
    assert [(e.seq, e.type) for e in await store.events("r1", after=1)] == [
        (2, "step"), (3, "again"), (4, "again"),
    ]  # fmt: skip
    assert [e.seq for e in await store.events("r1", limit=2)] == [0, 1]
    clock.now += DAY
    assert await store.events("r1") == []


# -- any string


async def test_hostile_strings_in_every_field_come_back_as_they_were(store):
    for text in HOSTILE:
        await _assert_comes_back(store, text)


async def _assert_comes_back(store, text):
    odd = {text: [text, {text: None}], "n": 10**40}
    run = run_of(
        text, req_id=text, url=text, website_id=text, subject=text, rca_class=text, rca_message=text,
        error=text, hint=text, outputs=odd,
    )  # fmt: skip
    await store.begin_run(run)
    assert await store.run(text) == run
    assert await store.runs(website_id=text, req_id=text, id_prefix=text) == [run]
    ending = ending_of(outputs=odd, error=text, hint=text, rca_class=text, rca_message=text)
    await store.finish_run(text, ending)
    assert await store.run(text) == run.ended(ending)
    step = step_of(run_id=text, element=text, action=text, selector=text, strategy=text, error_message=text,
                   task_id=text, step_id=text, screen_id=text)  # fmt: skip
    assert await store.append_step(step)
    assert not await store.append_step(step)
    assert await store.steps(text) == [step]
    assert await store.step_counts([text]) == {text: 1}
    artifact = artifact_of(text, run_id=text, artifact_type=text, file_path=text)
    await store.put_artifact(artifact)
    assert await store.artifacts(text) == [artifact]
    metric = Metric(run_id=text, metric_id=text, metric_name=text, metric_value=1, recorded_at=NOW)
    await store.add_metric(metric)
    assert await store.metrics(text) == [metric]
    entry = JournalEntry(run_id=text, key=text, action=text, details=odd, begun_at=NOW)
    await store.begin_action(entry)
    assert await store.journal(text) == [entry]
    if len(text) < 1_000:
        checkpoint = checkpoint_of(text, run_id=text, state=odd)
        await store.put_checkpoint(checkpoint)
        assert await store.checkpoint(text, text) == checkpoint
        locator = locator_of(website_id=text, url=text, element=text, selector=css(text))
    else:
        locator = locator_of(website_id=text, url=text, element=text)
    await store.put_locator(locator)
    assert await store.locator(text, text, text) == locator
    assert await store.count_heal(text, text) == 1
    assert await store.heals(text, text) == 1
    assert 1 <= await store.count_request(text) <= 2
    assert [each.run_id for each in await store.runs_by_id(website_id=text)] == [text]
    event = event_of(0, run_id=text, type=text, data=odd)
    await store.append_events([event])
    assert await store.events(text) == [event]
    assert await store.sweep_runs(text, before=NOW + timedelta(days=1)) == 1
    assert await store.steps(text) == []


async def test_a_run_too_large_for_the_store_is_kept_or_refused_with_a_clear_error(store):
    await store.begin_run(run_of())
    ending = ending_of(outputs={"page": "x" * 17_000_000})
    if isinstance(store, SqliteRunStore):
        await store.finish_run("r1", ending)
        assert (await store.run("r1")).outputs == ending.outputs
        return
    with pytest.raises(StoreError, match=r"run 'r1' has 17\.0 MB") as refused:
        await store.finish_run("r1", ending)
    assert not refused.value.retriable
    assert (await store.run("r1")).status is None


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(["success", "failed", "skipped"]), st.text(max_size=20)),
        max_size=15,
    ),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_however_often_and_in_whatever_order_steps_are_sent_each_number_keeps_its_first(store, sent):
    run = uuid.uuid4()
    first: dict[int, StoredStep] = {}
    for index, status, text in sent:
        step = step_of(index, run_id=str(run), status=status, selector=text)
        assert await store.append_step(step) == (index not in first)
        first.setdefault(index, step)
    assert await store.steps(str(run)) == [first[index] for index in sorted(first)]


# -- the store itself


async def test_preparing_again_changes_nothing_and_a_closed_store_opens_again(store):
    await store.begin_run(run_of())
    await store.prepare()
    await store.close()
    await store.close()
    assert (await store.run("r1")).run_id == "r1"
    assert (await store.health()).ok


@pytest.mark.parametrize("kind", [SqliteRunStore, MongoRunStore])
def test_a_store_has_every_method_the_agent_asks_for_and_takes_the_same(kind):
    agents = (
        ports.RunLogPort,
        ports.JournalPort,
        ports.CheckpointsPort,
        ports.LocatorCachePort,
        ports.HealCountersPort,
    )
    names = {name for port in agents for name in dir(port) if not name.startswith("_")}
    assert len(names) >= 17
    for port in (*agents, RunStorePort):
        asked = {name for name in dir(port) if not name.startswith("_")}
        for name in asked - {"address", "kept_values", "leases", "memory", "service_records"}:
            assert inspect.signature(getattr(kind, name)) == inspect.signature(getattr(port, name)), name
