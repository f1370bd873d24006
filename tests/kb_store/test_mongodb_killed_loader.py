"""A loader killed at any moment leaves the old knowledge in MongoDB whole, and the next one cleans up."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from collections import Counter
from pathlib import Path

import pymongo
import pytest

from kb_store import LoadConflict, Stores, load_knowledge, open_stores, read_knowledge
from kb_store.mongodb.layout import DOCUMENTS, EDGES, GENERATIONS, PINS, VERTICES
from tests.kb_store.samples import knowledge_of, version_of

pytestmark = pytest.mark.mongodb

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def stores(mongodb_url, tmp_path):
    async with open_stores(tmp_path, mongodb_url=mongodb_url) as opened:
        yield opened


async def _start(url: str, version: str, moment: int = 0) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.kb_store.mongodb_doomed_loader", url, version, str(moment),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def _stages(url: str) -> list[str]:
    """The stage of a whole load at each of its moments."""
    process = await _start(url, "counted")
    printed, error = await process.communicate()
    assert process.returncode == 0, error.decode()
    stages: list[str] = json.loads(printed)
    return stages


def _moments(stages: list[str], number: int, rng: random.Random) -> list[int]:
    """`number` moments spread over the whole load, a fifth of them between documents and graph."""
    between = [moment for moment, stage in enumerate(stages, 1) if stage == "between"]
    others = [moment for moment, stage in enumerate(stages, 1) if stage != "between"]
    chosen = rng.sample(between, min(len(between), max(2, number // 5)))
    rest = number - len(chosen)
    slices = [others[part * len(others) // rest : (part + 1) * len(others) // rest] for part in range(rest)]
    return sorted({*chosen, *(rng.choice(each) for each in slices)})


async def _read_until_done(stores: Stores, process: asyncio.subprocess.Process) -> set[str]:
    """Reads without pause while the loader works; every read must be whole."""
    done = asyncio.create_task(process.wait())
    seen = set()
    while not done.done():
        seen.add(version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]))
    return seen


async def _assert_next_load_cleans_up(stores: Stores, url: str, version: str) -> None:
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version=version))
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == version
    async with pymongo.AsyncMongoClient(url) as client:
        database = client.get_default_database()
        for name in (*DOCUMENTS.values(), *VERTICES.values(), *EDGES.values()):
            assert set(await database[name].distinct("_id.generation")) == {report.generation}, name
        assert await database[PINS].count_documents({}) == 0
        assert [w.get("lease") async for w in database[GENERATIONS].find()] == [None]


async def _kill_at(stores: Stores, url: str, number: int) -> None:
    stages = await _stages(url)
    seed = random.randrange(1_000_000)
    moments = _moments(stages, number, random.Random(seed))
    killed_in = Counter(stages[moment - 1] for moment in moments)
    print(f"seed {seed}, {len(moments)} of {len(stages)} moments: {dict(killed_in)}")  # noqa: T201 - told on failure
    assert len(moments) == number
    assert killed_in["between"] >= number // 5
    old = "old"
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version=old))
    for moment in moments:
        new = f"killed-{moment}"
        process = await _start(url, new, moment)
        seen = await _read_until_done(stores, process)
        assert process.returncode == -signal.SIGKILL, (await process.communicate())[1].decode()
        left = version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0])
        assert {*seen, left} <= {old, new}, f"moment {moment}"
        old = f"after-{moment}"
        await _assert_next_load_cleans_up(stores, url, old)


async def test_a_loader_killed_at_any_of_ten_moments_leaves_whole_knowledge_behind(stores, mongodb_url):
    await _kill_at(stores, mongodb_url, 10)


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_a_loader_killed_at_any_of_fifty_moments_leaves_whole_knowledge_behind(stores, mongodb_url):
    await _kill_at(stores, mongodb_url, 50)


async def test_a_first_load_that_is_killed_leaves_no_website(stores, mongodb_url):
    process = await _start(mongodb_url, "new", 12)
    await process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert list(await stores.documents.websites()) == []
    await _assert_next_load_cleans_up(stores, mongodb_url, "next")


async def test_of_two_loaders_at_once_none_tears_and_one_wins(stores, mongodb_url):
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
    processes = [await _start(mongodb_url, version) for version in ("left", "right")]
    results = [await process.communicate() for process in processes]
    won = [
        version
        for version, process in zip(("left", "right"), processes, strict=True)
        if process.returncode == 0
    ]
    assert won, results
    for process, (_, error) in zip(processes, results, strict=True):
        assert process.returncode == 0 or LoadConflict.__name__ in error.decode()
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) in won
    await _assert_next_load_cleans_up(stores, mongodb_url, "next")
