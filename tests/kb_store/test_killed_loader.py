"""A loader killed at any moment leaves the old knowledge whole, and the next load cleans up."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import sys
from pathlib import Path

import pytest

from kb_store import LoadConflict, Stores, load_knowledge, open_stores, read_knowledge
from tests.kb_store.doomed_loader import main as load_counting_statements
from tests.kb_store.samples import knowledge_of, version_of

POINTS = 10
ROOT = Path(__file__).parents[2]


async def _start(data_dir: Path, version: str, statement: int = 0) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.kb_store.doomed_loader", str(data_dir), version, str(statement),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def _read_until_done(stores: Stores, process: asyncio.subprocess.Process) -> set[str]:
    """Reads without pause while the loader works; every read must be whole."""
    done = asyncio.create_task(process.wait())
    seen = set()
    while not done.done():
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
        seen.add(version_of(knowledge))
    return seen


async def _assert_next_load_cleans_up(stores: Stores, data_dir: Path) -> None:
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="next"))
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == "next"
    with sqlite3.connect(data_dir / "knowledge.sqlite3") as raw:
        for table in ("documents", "vertices", "edges"):
            found = {row[0] for row in raw.execute(f"SELECT DISTINCT generation FROM {table}")}
            assert found == {report.generation}, table
        assert raw.execute("SELECT count(*) FROM pins").fetchone() == (0,)
        assert raw.execute("SELECT lease_token FROM websites").fetchall() == [(None,)]


@pytest.mark.parametrize("point", range(POINTS))
async def test_a_loader_killed_at_any_statement_leaves_whole_knowledge_behind(tmp_path, point):
    total = await load_counting_statements(tmp_path / "counted", "new", 0)
    statement = 1 + point * (total - 1) // (POINTS - 1)
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
        process = await _start(tmp_path, "new", statement)
        seen = await _read_until_done(stores, process)
        assert process.returncode == -signal.SIGKILL, (await process.communicate())[1].decode()
        assert seen <= {"old", "new"}
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
        assert version_of(knowledge) in {"old", "new"}
        await _assert_next_load_cleans_up(stores, tmp_path)


async def test_a_first_load_that_is_killed_leaves_no_website(tmp_path):
    process = await _start(tmp_path, "new", 12)
    await process.communicate()
    assert process.returncode == -signal.SIGKILL
    async with open_stores(tmp_path) as stores:
        assert list(await stores.documents.websites()) == []
        await _assert_next_load_cleans_up(stores, tmp_path)


async def test_a_loader_killed_at_a_random_time_leaves_whole_knowledge_behind(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
        for _ in range(3):
            process = await _start(tmp_path, "new")
            reading = asyncio.create_task(_read_until_done(stores, process))
            # Wait until it is at work, then let it get a random number of looks further.
            while process.returncode is None and await stores.documents.holder("shop") is None:
                pass
            for _ in range(random.randrange(20)):
                await stores.documents.active("shop")
            if process.returncode is None:
                process.kill()
            assert await reading <= {"old", "new", "next"}
            await _assert_next_load_cleans_up(stores, tmp_path)


async def test_of_two_loaders_at_once_none_tears_and_one_wins(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
        processes = [await _start(tmp_path, version) for version in ("left", "right")]
        results = [await process.communicate() for process in processes]
        won = [
            version
            for version, process in zip(("left", "right"), processes, strict=True)
            if process.returncode == 0
        ]
        assert won, results
        for process, (_, error) in zip(processes, results, strict=True):
            assert process.returncode == 0 or LoadConflict.__name__ in error.decode()
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
        assert version_of(knowledge) in won
        await _assert_next_load_cleans_up(stores, tmp_path)
