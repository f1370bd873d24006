"""A loader killed at any moment leaves the old knowledge whole, and the next load cleans up."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from pathlib import Path

import pytest

from kb_store import LoadConflict, Stores, load_knowledge, open_stores, read_knowledge
from tests.kb_store.crash_injection import kill_at, read_until_done, stages_of
from tests.kb_store.sample_knowledge import knowledge_of, version_of
from tests.support import warm
from tests.support.rotation import dice
from tests.support.warm import Started

LOADER = "tests.kb_store.sqlite.crashing_loader"


def _start(data_dir: Path, version: str, statement: int = 0) -> Started:
    return warm.start(LOADER, str(data_dir), version, str(statement), streamed=True)


async def _assert_next_load_cleans_up(stores: Stores, data_dir: Path, version: str = "next") -> None:
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version=version))
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == version
    with sqlite3.connect(data_dir / "knowledge.sqlite3") as raw:
        for table in ("documents", "vertices", "edges"):
            found = {row[0] for row in raw.execute(f"SELECT DISTINCT generation FROM {table}")}
            assert found == {report.generation}, table
        assert raw.execute("SELECT count(*) FROM pins").fetchone() == (0,)
        assert raw.execute("SELECT lease_token FROM websites").fetchall() == [(None,)]


async def _kill_at(number: int, folder: Path) -> None:
    async with open_stores(folder) as stores:
        await kill_at(
            number,
            stores,
            stages=stages_of(_start(folder / "counted", "new")),
            start=lambda version, moment: _start(folder, version, moment),
            clean_up=lambda version: _assert_next_load_cleans_up(stores, folder, version),
        )


async def test_a_loader_killed_at_any_of_ten_statements_leaves_whole_knowledge_behind(tmp_path):
    await _kill_at(10, tmp_path)


@pytest.mark.nightly
async def test_a_loader_killed_at_any_of_fifty_statements_leaves_whole_knowledge_behind(tmp_path):
    await _kill_at(50, tmp_path)


async def test_a_first_load_that_is_killed_leaves_no_website(tmp_path):
    process = _start(tmp_path, "new", 12)
    assert process.wait() == -signal.SIGKILL
    async with open_stores(tmp_path) as stores:
        assert list(await stores.documents.websites()) == []
        await _assert_next_load_cleans_up(stores, tmp_path)


async def test_a_loader_killed_at_a_random_time_leaves_whole_knowledge_behind(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
        for steps in dice("killed after some looks").sample(range(20), 3):
            process = _start(tmp_path, "new")
            reading = asyncio.create_task(read_until_done(stores, process))
            # Wait until it is at work, then let it get a random number of looks further.
            while process.returncode is None and await stores.documents.holder("shop") is None:
                pass
            for _ in range(steps):
                await stores.documents.active("shop")
            process.kill()
            assert await reading <= {"old", "new", "next"}
            await _assert_next_load_cleans_up(stores, tmp_path)


async def test_of_two_loaders_at_once_none_tears_and_one_wins(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
        processes = [_start(tmp_path, version) for version in ("left", "right")]
        results = [await asyncio.to_thread(process.communicate) for process in processes]
        won = [
            version
            for version, process in zip(("left", "right"), processes, strict=True)
            if process.returncode == 0
        ]
        assert won, results
        for process, (told, _) in zip(processes, results, strict=True):
            assert process.returncode == 0 or LoadConflict.__name__ in told
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
        assert version_of(knowledge) in won
        await _assert_next_load_cleans_up(stores, tmp_path)
