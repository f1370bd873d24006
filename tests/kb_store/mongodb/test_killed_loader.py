"""A loader killed at any moment leaves the old knowledge in MongoDB whole, and the next one cleans up."""

from __future__ import annotations

import asyncio
import signal

import pymongo
import pytest

from kb_store import LoadConflict, Stores, load_knowledge, open_stores, read_knowledge
from kb_store.mongodb.database_schema import DOCUMENTS, EDGES, GENERATIONS, PINS, VERTICES
from tests.kb_store.crash_injection import kill_at, stages_of
from tests.kb_store.sample_knowledge import knowledge_of, version_of
from tests.support import warm
from tests.support.warm import Started

pytestmark = pytest.mark.mongodb

LOADER = "tests.kb_store.mongodb.crashing_loader"


@pytest.fixture
async def stores(mongodb_url, tmp_path):
    async with open_stores(tmp_path, mongodb_url=mongodb_url) as opened:
        yield opened


def _start(url: str, version: str, moment: int = 0) -> Started:
    return warm.start(LOADER, url, version, str(moment), streamed=True)


async def _assert_next_load_cleans_up(stores: Stores, url: str, version: str) -> None:
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version=version))
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == version
    async with pymongo.AsyncMongoClient(url) as client:
        database = client.get_default_database()
        for name in (*DOCUMENTS.values(), *VERTICES.values(), *EDGES.values()):
            assert set(await database[name].distinct("_id.generation")) == {report.generation}, name
        assert await database[PINS].count_documents({}) == 0
        assert [w.get("lease") async for w in database[GENERATIONS].find()] == [None]


async def _kill_at(number: int, stores: Stores, url: str) -> None:
    await kill_at(
        number,
        stores,
        stages=stages_of(_start(url, "counted")),
        start=lambda version, moment: _start(url, version, moment),
        clean_up=lambda version: _assert_next_load_cleans_up(stores, url, version),
    )


async def test_a_loader_killed_at_any_of_ten_moments_leaves_whole_knowledge_behind(stores, mongodb_url):
    await _kill_at(10, stores, mongodb_url)


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_a_loader_killed_at_any_of_fifty_moments_leaves_whole_knowledge_behind(stores, mongodb_url):
    await _kill_at(50, stores, mongodb_url)


async def test_a_first_load_that_is_killed_leaves_no_website(stores, mongodb_url):
    assert _start(mongodb_url, "new", 12).wait() == -signal.SIGKILL
    assert list(await stores.documents.websites()) == []
    await _assert_next_load_cleans_up(stores, mongodb_url, "next")


async def test_of_two_loaders_at_once_none_tears_and_one_wins(stores, mongodb_url):
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
    processes = [_start(mongodb_url, version) for version in ("left", "right")]
    results = [await asyncio.to_thread(process.communicate) for process in processes]
    won = [
        version
        for version, process in zip(("left", "right"), processes, strict=True)
        if process.returncode == 0
    ]
    assert won, results
    for process, (told, _) in zip(processes, results, strict=True):
        assert process.returncode == 0 or LoadConflict.__name__ in told
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) in won
    await _assert_next_load_cleans_up(stores, mongodb_url, "next")
