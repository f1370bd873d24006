"""Learned numbers in every store: the same numbers, nothing lost, nothing counted twice."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kb_schema.observed_outcomes import ElementUse, Outcome
from kb_store import load_knowledge, open_stores
from kb_store.errors import StoreUnavailable
from kb_store.learned.learned_numbers import (
    DecayPolicy,
    LearnedSubject,
    compute_observed,
    merge,
    tally_of,
    utc_now,
)
from kb_store.learned.memory_learned_store import MemoryLearnedStore
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.learned_store import MongoLearnedStore
from kb_store.sqlite import SqliteDatabase
from kb_store.sqlite.learned_store import SqliteLearnedStore
from tests.kb_store.learned.learned_writer import outcome as numbered
from tests.kb_store.sample_knowledge import knowledge_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WRITER = Path(__file__).with_name("learned_writer.py")


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


@asynccontextmanager
async def embedded(tmp_path, **options):
    database = SqliteDatabase(tmp_path / "knowledge.sqlite3")
    yield SqliteLearnedStore(database, **options)
    await database.close()


@asynccontextmanager
async def mongodb(url, **options):
    connection = MongoConnection(url)
    yield MongoLearnedStore(connection, **options)
    await connection.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["embedded", "mongodb"])
async def store(request, tmp_path, clock):
    if request.param == "embedded":
        async with embedded(tmp_path, now=clock) as opened:
            yield opened
    else:
        async with mongodb(request.getfixturevalue("emptied_mongodb_url"), now=clock) as opened:
            yield opened


def outcome(outcome_id, **more):
    said = {"website_id": "shop", "succeeded": True, "duration_ms": 100, "at": NOW, **more}
    if not {"recovery_id", "element"} & said.keys():
        said.setdefault("transition_id", "t")
    return Outcome(outcome_id=outcome_id, **said)


async def test_an_outcome_is_counted_and_timed(store):
    told = await store.record([outcome("a"), outcome("b", duration_ms=300), outcome("c", succeeded=False)])
    assert told.counted == ("a", "b", "c")
    (seen,) = (await store.transition_stats("shop")).values()
    assert (seen.transition_id, seen.succeeded, seen.failed, seen.seen, seen.timed) == ("t", 2, 1, 3, 2)
    assert seen.mean_ms == 200
    assert seen.p95_ms == pytest.approx(300, rel=0.05)


async def test_an_outcome_sent_twice_counts_once(store):
    assert (await store.record([outcome("a"), outcome("a")])).repeated == ("a",)
    assert (await store.record([outcome("a", succeeded=False)])).repeated == ("a",)
    assert (await store.transition_stats("shop"))["t"].seen == 1


async def test_two_websites_may_use_one_outcome_id(store):
    await store.record([outcome("a"), outcome("a", website_id="bakery")])
    assert (await store.transition_stats("bakery"))["t"].seen == 1


async def test_an_outcome_sent_at_once_by_many_counts_once(store):
    told = await asyncio.gather(*(store.record([outcome("a")]) for _ in range(20)))
    assert sum(len(each.counted) for each in told) == 1
    assert (await store.transition_stats("shop"))["t"].seen == 1


async def test_transitions_recovery_edges_and_elements_of_one_name_are_kept_apart(store):
    use = ElementUse(screen_id="list", element_id="t", strategy="css")
    await store.record(
        [outcome("a"), outcome("b", recovery_id="t"), outcome("c", element=use, succeeded=False)]
    )
    assert (await store.transition_stats("shop"))["t"].seen == 1
    assert (await store.recovery_stats("shop"))["t"].recovery_id == "t"
    assert (await store.element_stats("shop"))[use].failed == 1
    assert await store.element_stats("bakery") == {}


async def test_older_outcomes_count_less_whatever_order_they_come_in(store, clock):
    sent = [outcome(f"o{n}", at=NOW - timedelta(days=d), duration_ms=50 * (n + 1), succeeded=n != 2)
            for n, d in enumerate((3, 29, 0, 11))]  # fmt: skip
    tally = tally_of(sent[0], NOW)
    for each in sent[1:]:
        tally = merge(tally, tally_of(each, NOW))
    await store.record(sent[2:])
    await store.record(sent[:2])
    clock.now = NOW + timedelta(days=30)
    seen = (await store.transition_stats("shop"))["t"]
    expected = compute_observed(tally, clock.now)
    for name in ("succeeded", "failed", "seen", "timed", "mean_ms", "p95_ms"):
        assert getattr(seen, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    assert seen.failed == pytest.approx(0.5)


async def test_an_outcome_too_old_or_from_the_future_is_not_counted(store):
    sent = [outcome("old", at=NOW - timedelta(days=31)), outcome("ahead", at=NOW + timedelta(days=2))]
    assert (await store.record(sent)).untimely == ("old", "ahead")
    assert await store.transition_stats("shop") == {}


async def test_ids_are_forgotten_after_thirty_days_and_the_outcome_is_refused_then(tmp_path, clock):
    async with embedded(tmp_path, now=clock) as store:
        await store.record([outcome("a")])
        clock.now = NOW + timedelta(days=30, seconds=1)
        assert (await store.record([outcome("a")])).untimely == ("a",)
        assert await store._database.rows("SELECT count(*) FROM learned_outcomes") == [(0,)]


async def test_ids_in_mongodb_run_out_by_themselves(mongodb_url, clock):
    async with mongodb(mongodb_url, now=clock) as store:
        await store.record([outcome("a")])
        async with store._connection.asking() as database:
            indexes = await database["learned_outcomes"].index_information()
            assert indexes["expiry"]["expireAfterSeconds"] == 0
            kept = await database["learned_outcomes"].find_one()
        assert kept["expires"] == NOW + timedelta(days=30)


async def test_the_revision_changes_with_the_numbers_and_only_then(store, clock):
    first = await store.revision("shop")
    await store.record([outcome("a")])
    second = await store.revision("shop")
    await store.record([outcome("a")])
    assert first != second == await store.revision("shop")
    clock.now = NOW + timedelta(days=1)  # waiting changes numbers too
    assert await store.revision("shop") != second
    assert (await store.revision("bakery")).startswith("0@")


async def test_numbers_are_forgotten_only_when_somebody_asks(store):
    await store.record([outcome("a"), outcome("b", transition_id="u")])
    before = await store.revision("shop")
    await store.forget("shop", [LearnedSubject("transition", "t"), LearnedSubject("transition", "never")])
    assert set(await store.transition_stats("shop")) == {"u"}
    assert await store.revision("shop") != before


async def test_numbers_survive_a_reload_that_drops_and_brings_back_what_they_are_of(stores):
    await load_knowledge(stores.documents, stores.graph, knowledge_of(screens=4))
    use = ElementUse(screen_id="screen_3", element_id="go", strategy="css")
    sent = [outcome("a", transition_id="t_3"), outcome("b", recovery_id="r"), outcome("c", element=use)]
    await stores.learned.record([each.model_copy(update={"at": utc_now()}) for each in sent])
    for screens in (2, 4):
        report = await load_knowledge(stores.documents, stores.graph, knowledge_of(screens=screens))
        assert report.collected == (report.generation - 1,)
        assert (await stores.learned.transition_stats("shop"))["t_3"].seen == 1
        assert (await stores.learned.recovery_stats("shop"))["r"].seen == 1
        assert (await stores.learned.element_stats("shop"))[use].seen == 1


async def test_a_policy_of_ones_own_forgets_faster(tmp_path, clock):
    async with embedded(tmp_path, now=clock, policy=DecayPolicy(half_life_days=1)) as store:
        await store.record([outcome("a", at=NOW - timedelta(days=2))])
        await store.record([outcome("b")])
        assert (await store.transition_stats("shop"))["t"].succeeded == pytest.approx(1.25)


# -- many at once --------------------------------------------------------------------------------


def assert_all_counted(seen, total):
    failed = len([n for n in range(total) if n % 10 == 0])
    assert (seen.seen, seen.succeeded, seen.failed) == (total, total - failed, failed)
    timed = [100 + n % 7 for n in range(total) if n % 10 != 0]
    assert seen.timed == len(timed)
    assert seen.mean_ms == pytest.approx(sum(timed) / len(timed), rel=1e-12)


async def test_a_hundred_tasks_with_connections_of_their_own_lose_no_count_in_sqlite(tmp_path):
    stores = [SqliteLearnedStore(SqliteDatabase(tmp_path / "knowledge.sqlite3")) for _ in range(10)]
    await stores[0].prepare()
    await asyncio.gather(*(stores[n % 10].record([numbered(n)]) for n in range(100)))
    assert_all_counted((await stores[3].transition_stats("shop"))["t"], 100)
    for store in stores:
        await store._database.close()


async def test_processes_and_threads_together_lose_no_count_in_sqlite(tmp_path):
    file = tmp_path / "knowledge.sqlite3"

    async def process(first):
        started = await asyncio.create_subprocess_exec(
            sys.executable, WRITER, file, str(first), "20", cwd=WRITER.parents[2],
            env={"PYTHONPATH": str(WRITER.parents[2])},
        )  # fmt: skip
        return await started.wait()

    async with embedded(tmp_path) as store:
        codes = await asyncio.gather(
            *(process(first) for first in (0, 20, 40, 60)),
            *(store.record([numbered(n)]) for n in range(80, 100)),
        )
        assert codes[:4] == [0, 0, 0, 0]
        assert_all_counted((await store.transition_stats("shop"))["t"], 100)


async def test_a_hundred_writers_over_several_clients_lose_no_count_in_mongodb(mongodb_url):
    connections = [MongoConnection(mongodb_url) for _ in range(5)]
    stores = [MongoLearnedStore(connection) for connection in connections]
    # Every outcome is sent twice, by two clients at once.
    sent = [stores[(n + k) % 5].record([numbered(n)]) for n in range(100) for k in (0, 1)]
    told = await asyncio.gather(*sent)
    assert sum(len(each.counted) for each in told) == 100
    assert_all_counted((await stores[3].transition_stats("shop"))["t"], 100)
    for connection in connections:
        await connection.close()


def numbers(seen):
    return seen.model_dump(exclude={"transition_id"})


async def test_all_stores_keep_the_same_numbers(tmp_path, mongodb_url):
    sent = [numbered(n).model_copy(update={"at": utc_now() - timedelta(days=n % 25)}) for n in range(60)]
    memory = MemoryLearnedStore()
    await memory.record(sent)
    expected = (await memory.transition_stats("shop"))["t"]
    async with embedded(tmp_path) as sqlite, mongodb(mongodb_url) as mongo:
        for store in (sqlite, mongo):
            await store.record(sent)
            seen = (await store.transition_stats("shop"))["t"]
            assert numbers(seen) == pytest.approx(numbers(expected), rel=1e-9)


async def test_a_store_that_is_down_says_so(monkeypatch):
    monkeypatch.setattr("kb_store.mongodb.connection.SELECTION_SECONDS", 0.2)
    async with mongodb("mongodb://127.0.0.1:9/shop?serverSelectionTimeoutMS=50") as store:
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9"):
            await store.record([outcome("a")])


async def test_numbers_live_beside_the_knowledge_in_one_file(tmp_path):
    async with open_stores(tmp_path), embedded(tmp_path) as store:
        await store.record([outcome("a", at=utc_now())])
        assert (await store.transition_stats("shop"))["t"].seen == 1
