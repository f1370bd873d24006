"""A loader killed at any request to ArangoDB leaves the old knowledge whole; the next one cleans up."""

from __future__ import annotations

import os
import signal

import pytest

from kb_store import load_knowledge, open_stores, read_knowledge
from tests.kb_store.crash_injection import read_until_done
from tests.kb_store.sample_knowledge import knowledge_of, version_of
from tests.support import warm
from tests.support.arango_loopback import loopback
from tests.support.rotation import rotating

FEW = 4
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


def _start(data_dir, version, url):
    env = {"PERIPLUS_ARANGODB_URL": url}
    return warm.start("tests.support.arango_loader", str(data_dir), version, env=env)


async def _writing_requests(server, tmp_path):
    """How many requests of a load are within transactions."""
    before = len(server.requests)
    async with open_stores(tmp_path / "counted", arangodb_url=server.url("counted")) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(), batch=9)
    return sum(
        bool(asked.transaction or asked.path.startswith("/_api/transaction"))
        for asked in server.requests[before:]
    )


@pytest.mark.parametrize("point", rotating("arangodb killed loader", range(ALL), FEW))
async def test_a_loader_killed_at_any_write_to_the_graph_leaves_whole_knowledge(tmp_path, point):
    with loopback() as server:
        total = await _writing_requests(server, tmp_path)
        async with open_stores(tmp_path, arangodb_url=server.url()) as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
            killer = Killer(1 + point * (total - 1) // (ALL - 1))
            trouble = "lost after" if point % 4 >= 2 else "lost before"
            server.fail_where(trouble, killer, times=1_000)
            process = _start(tmp_path, "new", server.url())
            killer.victim = process.pid
            assert await read_until_done(stores, process) == {"old"}
            assert process.returncode == -signal.SIGKILL, process.communicate()
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
