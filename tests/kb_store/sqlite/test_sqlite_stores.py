"""What only the embedded store has: a file, other processes at it, a clock that can be set."""

from __future__ import annotations

import asyncio
import sqlite3
import sys

import pytest

from kb_store import LeaseLost, StoreCorrupt, StoreUnavailable, load_knowledge, open_stores, read_knowledge
from kb_store.lease_owners import this_process
from kb_store.sqlite import SqliteDatabase, SqliteDocumentStore, database
from tests.kb_store.sample_knowledge import knowledge_of, version_of


class Clock:
    """Seconds that pass when told to."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def timed(tmp_path):
    clock = Clock()
    store = SqliteDocumentStore(SqliteDatabase(tmp_path / "knowledge.sqlite3"), now=clock)
    yield store, clock
    await store.close()


async def test_a_lease_runs_out_and_the_late_one_is_fenced_off(timed):
    store, clock = timed
    late = await store.begin("shop", this_process(), ttl=30)
    clock.now += 31
    assert await store.holder("shop") is None
    quick = await store.begin("shop", this_process(), ttl=30)
    assert quick.generation > late.generation
    with pytest.raises(LeaseLost):
        await store.put(late, [])


async def test_a_lease_that_ran_out_unnoticed_can_still_be_renewed(timed):
    store, clock = timed
    lease = await store.begin("shop", this_process(), ttl=30)
    clock.now += 31
    await store.renew(lease, ttl=30)
    assert (await store.holder("shop")).token == lease.token


async def test_the_pin_of_a_dead_reader_runs_out(tmp_path):
    clock = Clock()
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
        store = SqliteDocumentStore(stores.documents._database, now=clock)
        pin = await store.pin("shop", ttl=30)
        assert pin.generation in await store.in_use("shop")
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
        clock.now += 31
        assert pin.generation not in await store.in_use("shop")


async def test_another_process_sees_a_commit_at_once(tmp_path):
    async with open_stores(tmp_path) as mine, open_stores(tmp_path) as theirs:
        for version in ("old", "new"):
            report = await load_knowledge(mine.documents, mine.graph, knowledge_of(version=version))
            read, generation = await read_knowledge(theirs.documents, theirs.graph, "shop")
            assert (version_of(read), generation) == (version, report.generation)


async def test_processes_may_create_the_file_at_the_same_time(tmp_path):
    code = (
        "import asyncio, sys, pathlib\n"
        "from kb_store import open_stores\n"
        "async def main():\n"
        "    async with open_stores(pathlib.Path(sys.argv[1])) as s: await s.documents.websites()\n"
        "print('ready', flush=True); sys.stdin.readline(); asyncio.run(main())"
    )
    pipe = asyncio.subprocess.PIPE
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, str(tmp_path), stdin=pipe, stdout=pipe
        )
        for _ in range(4)
    ]
    for process in processes:
        await process.stdout.readline()
    for process in processes:
        process.stdin.write(b"go\n")
    assert [await process.wait() for process in processes] == [0, 0, 0, 0]


async def test_a_file_of_a_newer_periplus_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "knowledge.sqlite3") as raw:
        raw.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreUnavailable, match="newer Periplus"):
        async with open_stores(tmp_path):
            pass


async def test_a_file_of_format_1_is_read_and_gets_the_columns_of_format_2(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
    with sqlite3.connect(tmp_path / "knowledge.sqlite3") as raw:
        for table, column in (
            ("websites", "records_under"),
            ("websites", "changed"),
            ("pins", "records_under"),
        ):
            raw.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        raw.execute("PRAGMA user_version = 1")
    async with open_stores(tmp_path) as stores:
        read, generation = await read_knowledge(stores.documents, stores.graph, "shop")
        active = await stores.documents.active("shop")
    assert read.by_kind == knowledge_of().by_kind
    assert (active.generation, active.stored) == (generation, generation)


async def test_a_file_that_is_no_database_is_said_to_be_damaged(tmp_path):
    (tmp_path / "knowledge.sqlite3").write_bytes(b"this is no database, it only looks long enough" * 100)
    with pytest.raises(StoreCorrupt, match=r"knowledge\.sqlite3"):
        async with open_stores(tmp_path):
            pass


async def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="PERIPLUS_DATA_DIR") as caught:
        async with open_stores(tmp_path / "file" / "below"):
            pass
    assert str(tmp_path / "file" / "below") in caught.value.address


async def test_a_writer_that_never_ends_is_told_as_such(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    async with open_stores(tmp_path) as stores:
        raw = sqlite3.connect(tmp_path / "knowledge.sqlite3", isolation_level=None)
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="another process is writing") as caught:
            await load_knowledge(stores.documents, stores.graph, knowledge_of())
        assert caught.value.retriable
        assert list(await stores.documents.websites()) == []
        raw.close()
        await load_knowledge(stores.documents, stores.graph, knowledge_of())


async def test_many_calls_at_once_do_not_get_in_each_others_way(tmp_path):
    async with open_stores(tmp_path) as stores:
        await asyncio.gather(
            *(load_knowledge(stores.documents, stores.graph, knowledge_of(f"site-{n}")) for n in range(10))
        )
        read = await asyncio.gather(
            *(read_knowledge(stores.documents, stores.graph, f"site-{n}") for n in range(10))
        )
        assert [knowledge.website.website_id for knowledge, _ in read] == [f"site-{n}" for n in range(10)]
