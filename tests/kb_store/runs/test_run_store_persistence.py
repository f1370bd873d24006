"""How each run store keeps what it keeps: expiry, constraints, several processes, servers that are away."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import time
from datetime import UTC, datetime

import pymongo
import pytest
from pymongo.errors import WriteError

from kb_schema.cached_locators import Locator
from kb_schema.run_records import RunEnding, StoredRun, StoredStep
from kb_schema.run_storage import CHECKPOINT_TTL_S, CLOCK_TOLERANCE_S, Checkpoint, StoredEvent
from kb_schema.selectors import css
from kb_store import StoreUnavailable, load_knowledge, open_stores, read_knowledge
from kb_store.mongodb import connection
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.run_store import INDEXES, MongoRunStore
from kb_store.sqlite import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore
from kb_store.store_factory import open_runs
from tests.kb_store.sample_knowledge import knowledge_of

NOW = datetime.now(UTC)
RUN = StoredRun(run_id="r", url="http://h", started_at=NOW, website_id="shop", kind="task", subject="t")
STEP = StoredStep(
    run_id="r", step_idx=0, action="click", status="success", executed_at=NOW, task_id="t", step_id="s",
    duration_ms=1,
)  # fmt: skip
SHORT_LIVED = ("checkpoints", "locators", "heal_counters", "events", "rates")


LONGEST_S = CHECKPOINT_TTL_S + CLOCK_TOLERANCE_S
"""What is short-lived is kept so long at most."""


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


async def _fill(store, name):
    await store.put_checkpoint(Checkpoint(run_id=name, state=1, created_at=NOW))
    await store.put_locator(
        Locator(website_id=name, url="u", element="e", selector=css("#x"), confidence=0.5)
    )
    await store.count_heal(name, "#x")
    await store.append_events([StoredEvent(run_id=name, seq=0, type="t", at=NOW)])
    await store.count_request(name)


# -- embedded


def _rows(path):
    with sqlite3.connect(path) as db:
        queries = {name: f"SELECT count(*) FROM {name}" for name in SHORT_LIVED}
        return {name: db.execute(query).fetchone()[0] for name, query in queries.items()}


async def test_every_write_of_something_short_lived_sweeps_what_is_over(tmp_path):
    clock, path = Clock(), tmp_path / "knowledge.sqlite3"
    store = SqliteRunStore(SqliteDatabase(path), now=clock)
    await store.prepare()
    for number in range(20):
        await _fill(store, f"old{number}")
    assert set(_rows(path).values()) == {20}
    clock.now += LONGEST_S + 1
    assert set(_rows(path).values()) == {20}
    await store.count_heal("new", "#x")
    assert _rows(path) == {"checkpoints": 0, "locators": 0, "heal_counters": 1, "events": 0, "rates": 0}
    await store.close()


async def test_sweeping_looks_into_an_index_and_not_at_every_row(tmp_path):
    path = tmp_path / "knowledge.sqlite3"
    store = SqliteRunStore(SqliteDatabase(path))
    await store.prepare()
    await store.close()
    with sqlite3.connect(path) as db:
        for name in (*SHORT_LIVED, "lessons", "kept_values"):
            (plan,) = db.execute(f"EXPLAIN QUERY PLAN DELETE FROM {name} WHERE expires <= 1").fetchall()
            assert f"{name}_by_expiry" in plan[3]


async def test_runs_live_in_the_file_the_knowledge_is_in_and_neither_disturbs_the_other(tmp_path):
    async with open_stores(tmp_path) as stores, open_runs(tmp_path) as runs:
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
        await asyncio.gather(
            runs.begin_run(RUN), load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
        )
        assert runs.address == stores.documents.address
        assert await runs.run("r") == RUN
        knowledge, generation = await read_knowledge(stores.documents, stores.graph, "shop")
        assert generation == 2
        assert knowledge.website.website_id == "shop"


async def test_a_file_of_an_older_version_is_given_the_column_of_workflow_versions(tmp_path):
    async with open_runs(tmp_path) as runs:
        await runs.begin_run(RUN)
    with sqlite3.connect(tmp_path / "knowledge.sqlite3") as db:
        db.execute("ALTER TABLE runs DROP COLUMN workflow_version")
    ending = RunEnding(
        status="success", evidence="verified", finished_at=NOW, duration_ms=1, workflow_version="v"
    )
    async with open_runs(tmp_path) as runs:
        assert await runs.run("r") == RUN
        await runs.finish_run("r", ending)
        assert (await runs.run("r")).workflow_version == "v"


async def test_reading_runs_does_not_wait_for_whoever_is_writing(tmp_path):
    async with open_runs(tmp_path) as runs:
        await runs.begin_run(RUN)
    with sqlite3.connect(tmp_path / "knowledge.sqlite3", isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        async with asyncio.timeout(5), open_runs(tmp_path) as runs:
            assert await runs.run("r") == RUN
        writer.execute("ROLLBACK")


async def test_a_verdict_that_pacts_does_not_know_is_refused_by_the_table_itself(tmp_path):
    async with open_runs(tmp_path) as runs:
        await runs.begin_run(RUN)
    with sqlite3.connect(tmp_path / "knowledge.sqlite3") as db, pytest.raises(sqlite3.IntegrityError):
        db.execute("UPDATE runs SET verdict = 'perhaps'")


@pytest.mark.parametrize("kind", ["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def test_ten_connections_of_ten_writers_each_lose_no_heal_and_no_step(kind, request, tmp_path):
    if kind == "embedded":
        stores = [SqliteRunStore(SqliteDatabase(tmp_path / "knowledge.sqlite3")) for _ in range(10)]
    else:
        url = request.getfixturevalue("mongodb_url")
        stores = [MongoRunStore(MongoConnection(url)) for _ in range(10)]
    try:
        await asyncio.gather(*(store.prepare() for store in stores))
        counts = await asyncio.gather(*(store.count_heal("r", "#x") for store in stores for _ in range(10)))
        assert sorted(counts) == list(range(1, 101))
        steps = [STEP.model_copy(update={"step_idx": index}) for index in range(10)]
        kept = await asyncio.gather(*(store.append_step(step) for store in stores for step in steps))
        assert sum(kept) == 10
        assert list(await stores[0].steps("r")) == steps
    finally:
        for store in stores:
            await store.close()


# -- MongoDB


@pytest.fixture
async def mongo_runs(mongodb_url):
    clock = Clock()
    store = MongoRunStore(MongoConnection(mongodb_url), now=clock)
    await store.prepare()
    with pymongo.MongoClient(mongodb_url) as client:
        yield store, client.get_default_database(), clock
    await store.close()


@pytest.mark.mongodb
async def test_mongodb_is_told_to_delete_what_is_short_lived_and_what_may_be_there_once(mongo_runs):
    store, database, _ = mongo_runs
    await store.prepare()
    for name, indexes in INDEXES.items():
        there = database[name].index_information().values()
        assert len(there) == len(indexes) + 1, name  # and `_id`
        assert any(index.get("unique") for index in there), name
        expiring = [index["key"] for index in there if index.get("expireAfterSeconds") == 0]
        assert expiring == (
            [[("expires_at", 1)]] if name in (*SHORT_LIVED, "lessons", "kept_values") else []
        ), name


@pytest.mark.mongodb
async def test_what_is_over_but_not_deleted_yet_is_not_given_back(mongo_runs):
    store, database, clock = mongo_runs
    await _fill(store, "r")
    clock.now += LONGEST_S + 1
    assert {name: database[name].count_documents({}) for name in SHORT_LIVED} == dict.fromkeys(SHORT_LIVED, 1)
    assert await store.checkpoint("r") is None
    assert await store.locator("r", "u", "e") is None
    assert await store.heals("r", "#x") == 0
    assert await store.events("r") == []


@pytest.mark.mongodb
async def test_what_is_kept_in_mongodb_are_fields_and_dates_that_anybody_can_query(mongo_runs):
    store, database, _ = mongo_runs
    await store.begin_run(RUN)
    await store.append_step(STEP)
    run = database["runs"].find_one({"started_at": {"$lte": datetime.now(UTC)}})
    assert {"run_id", "req_id", "url", "verdict", "started_at", "finished_at", "heal_rounds", "rca_class",
            "rca_message"} <= run.keys()  # fmt: skip
    step = database["run_steps"].find_one({"status": "success"})
    assert {"run_id", "step_idx", "element", "action", "selector", "strategy", "confidence", "status",
            "heal_round", "error_message", "executed_at"} <= step.keys()  # fmt: skip
    with pytest.raises(WriteError):
        database["runs"].update_one({}, {"$set": {"verdict": "perhaps"}})


@pytest.mark.mongodb
async def test_a_mongodb_that_is_away_is_named_without_its_password(free_port, tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "OPERATION_SECONDS", 1.0)  # how long it is looked for
    url = f"mongodb://ada:secret-word@127.0.0.1:{free_port}/p?serverSelectionTimeoutMS=200"
    with pytest.raises(StoreUnavailable) as away:
        async with open_runs(tmp_path, url):
            pass
    assert f"127.0.0.1:{free_port}" in str(away.value)
    assert "secret-word" not in str(away.value)
    assert away.value.retriable


@pytest.mark.mongodb
async def test_a_run_goes_on_in_a_mongodb_that_was_killed_and_started_again(own_mongod):
    store = MongoRunStore(MongoConnection(own_mongod.url))
    await store.prepare()
    await store.begin_run(RUN)
    await store.append_step(STEP)
    assert await store.count_heal("r", "#x") == 1
    await asyncio.to_thread(own_mongod.stop)
    await asyncio.to_thread(own_mongod.start)
    assert not await store.append_step(STEP)
    assert await store.count_heal("r", "#x") == 2
    assert await store.run("r") == RUN
    await store.close()


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
