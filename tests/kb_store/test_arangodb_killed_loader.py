"""A loader killed at any request to ArangoDB leaves the old knowledge whole; the next one cleans up."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from kb_store import load_knowledge, open_stores, read_knowledge
from tests.kb_store.samples import knowledge_of, version_of
from tests.support.arango_loopback import loopback

ROOT = Path(__file__).parents[2]
TEN = 10
ALL = 60


class Killer:
    """Kills a process when it sends its `doomed`-th request to write, which is then lost."""

    def __init__(self, doomed):
        self.doomed, self.seen, self.victim = doomed, 0, None

    def __call__(self, request):
        # The test's own reader asks only for pages, counts and generations: no transaction.
        if self.victim is None or not (request.transaction or request.path.startswith("/_api/transaction")):
            return False
        self.seen += 1
        if self.seen == self.doomed:
            os.kill(self.victim, signal.SIGKILL)
        return self.seen >= self.doomed


async def _start(data_dir, version, url):
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.arango_loader", str(data_dir), version, cwd=ROOT,
        env={**os.environ, "PERIPLUS_ARANGODB_URL": url},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def _read_until_done(stores, process):
    done = asyncio.create_task(process.wait())
    seen = set()
    while not done.done():
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
        seen.add(version_of(knowledge))
    return seen


async def _writing_requests(server, tmp_path):
    """How many requests of a load are within transactions."""
    before = len(server.requests)
    async with open_stores(tmp_path / "counted", arangodb_url=server.url("counted")) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(), batch=9)
    return sum(
        bool(asked.transaction or asked.path.startswith("/_api/transaction"))
        for asked in server.requests[before:]
    )


@pytest.mark.parametrize(
    "point",
    [pytest.param(n, marks=() if n % (ALL // TEN) == 0 else pytest.mark.nightly) for n in range(ALL)],
)
async def test_a_loader_killed_at_any_write_to_the_graph_leaves_whole_knowledge(tmp_path, point):
    with loopback() as server:
        total = await _writing_requests(server, tmp_path)
        async with open_stores(tmp_path, arangodb_url=server.url()) as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
            killer = Killer(1 + point * (total - 1) // (ALL - 1))
            trouble = "lost after" if point % 4 >= 2 else "lost before"
            server.fail_where(trouble, killer, times=1_000)
            process = await _start(tmp_path, "new", server.url())
            killer.victim = process.pid
            assert await _read_until_done(stores, process) == {"old"}
            assert process.returncode == -signal.SIGKILL, (await process.communicate())[1].decode()
            await process.communicate()
            server.heal()
            assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == "old"
            report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="next"))
            assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == "next"
            assert await stores.graph.generations("shop") == {report.generation}
            rows = [
                row
                for collection in server.server.databases["periplus"].collections.values()
                for row in collection.rows.values()
            ]
            assert {row["generation"] for row in rows if "generation" in row} == {report.generation}
