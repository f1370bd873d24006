"""Records of the service keep the same promises in every store: one of each key, no lost change, order, sweeping."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kb_schema.service_records import Schedule, StoredJob, TaskOrder, Webhook
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.run_store import MongoRunStore
from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def records(request, tmp_path):
    if request.param == "embedded":
        store = SqliteRunStore(SqliteDatabase(tmp_path / "knowledge.sqlite3"))
    else:
        store = MongoRunStore(MongoConnection(request.getfixturevalue("emptied_mongodb_url")))
    try:
        await store.prepare()
        yield store.service_records
    finally:
        await store.close()


def job(name, minutes=0, **more):
    order = TaskOrder(website_id="harbour", task_id="moor", values={"$set": {"a.b": "x\0y", "": 10**40}})
    return StoredJob(job_id=name, order=order, created_at=NOON + timedelta(minutes=minutes), **more)


async def test_a_record_is_added_once_and_read_as_it_was(records):
    assert await records.add(job("one"))
    assert not await records.add(job("one", 5))
    assert await records.find(StoredJob, "one") == job("one")
    assert await records.find(StoredJob, "other") is None
    assert await records.find(Webhook, "one") is None


async def test_only_the_first_of_two_writers_of_a_revision_replaces_it(records):
    await records.add(job("one"))
    read = await records.find(StoredJob, "one")
    both = await asyncio.gather(
        *(records.replace(read.model_copy(update={"asked_by": name})) for name in ("ada", "bob"))
    )
    (won,) = [each for each in both if each is not None]
    assert (won.revision, await records.find(StoredJob, "one")) == (1, won)
    assert await records.replace(won.model_copy(update={"state": "running"})) is not None
    assert await records.delete(StoredJob, "one")
    assert await records.replace(won) is None
    assert await records.find(StoredJob, "one") is None


async def test_records_are_selected_by_state_and_group_in_the_order_of_their_times(records):
    await records.add(job("b", 2, schedule_id="nightly"))
    await records.add(job("a", 1, state="running"))
    await records.add(job("c", 0, due_at=NOON + timedelta(minutes=9), schedule_id="nightly"))
    schedule = Schedule(
        schedule_id="a", name="N", cron="0 1 * * *", order=job("x").order, created_at=NOON, decided_until=NOON
    )
    await records.add(schedule)
    assert [each.job_id for each in await records.select(StoredJob)] == ["c", "b", "a"]
    assert [each.job_id for each in await records.select(StoredJob, oldest_first=True)] == ["a", "b", "c"]
    assert [each.job_id for each in await records.select(StoredJob, states=["running", "missed"])] == ["a"]
    assert [each.job_id for each in await records.select(StoredJob, group="nightly", limit=1)] == ["c"]
    assert await records.select(Schedule, states=["active"]) == [schedule]
    assert not await records.select(Schedule, states=["paused"])


async def test_old_records_of_the_named_states_are_swept(records):
    await records.add(job("old", 0, state="ended", announced=True))
    await records.add(job("untold", 0, state="ended"))
    await records.add(job("open", 0))
    await records.add(job("new", 60, state="ended", announced=True))
    assert await records.sweep(StoredJob, states=["ended"], before=NOON + timedelta(minutes=30)) == 1
    assert {each.job_id for each in await records.select(StoredJob)} == {"untold", "open", "new"}
