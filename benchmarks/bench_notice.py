"""How soon a change of the knowledge is noticed by whoever follows it: the poll of a file, MongoDB's change stream.

    python -m benchmarks.bench_notice                    20 loads into each
    python -m benchmarks.bench_notice --rounds 5
    python -m benchmarks.bench_notice --mongodb-url URL  on this MongoDB, in a database that it may drop

From the commit of a load to its being told, each at a random time between two looks of the poll. The
baseline is one look: what noticing would cost somebody who asks without pause.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from contextlib import ExitStack, aclosing
from pathlib import Path

import pymongo

from benchmarks.timing import median_ms_async
from kb_store import Stores, load_knowledge, open_stores
from kb_store.generation_watch import POLL_SECONDS, watch_changes
from kb_store.knowledge_loader import LoadProgress
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support.mongod import Mongod, with_database

PATIENCE = 60.0
"""Seconds until a change is taken to be never noticed."""
DATABASE = "periplus_bench_notice"


async def noticed_ms(loading: Stores, following: Stores, rounds: int) -> list[float]:
    """Milliseconds from each commit to its being told."""
    found, committed = [], 0.0

    def tell(progress: LoadProgress) -> None:
        nonlocal committed
        if progress.stage == "collect":  # told right after the commit
            committed = time.perf_counter()

    async def tells() -> float:
        await asyncio.wait_for(anext(told), PATIENCE)
        return time.perf_counter()

    await load_knowledge(loading.documents, loading.graph, knowledge_of())
    async with aclosing(watch_changes(following.documents)) as told:  # type: ignore[type-var]
        await tells()
        for number in range(rounds):
            telling = asyncio.create_task(tells())
            await asyncio.sleep(random.uniform(0, 2 * POLL_SECONDS))  # noqa: S311 - no secret
            knowledge = knowledge_of(version=str(number))
            await load_knowledge(loading.documents, loading.graph, knowledge, on_progress=tell)
            found.append((await telling - committed) * 1_000)
    return found


async def measure(name: str, folder: Path, url: str | None, rounds: int) -> None:
    """Print one line for one store."""
    async with (
        open_stores(folder, mongodb_url=url) as loading,
        open_stores(folder, mongodb_url=url) as following,
    ):
        found = await noticed_ms(loading, following, rounds)
        look = await median_ms_async(following.documents.websites, 20)
    median, worst = statistics.median(found), max(found)
    print(f"{name:<24} median {median:7.1f} ms   max {worst:7.1f} ms   of {rounds}   one look {look:6.2f} ms")


def main() -> None:
    """Both stores in one run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="loads into each store (20)")
    parser.add_argument("--mongodb-url", help="a MongoDB to use; else one is started")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="periplus-bench-")))
        server = given.mongodb_url
        if server is None:
            mongod = Mongod(folder / "mongod")
            stack.callback(mongod.stop)
            mongod.start()
            server = mongod.url
        asyncio.run(measure("embedded, poll", folder, None, given.rounds))
        asyncio.run(measure("MongoDB, change stream", folder, with_database(server, DATABASE), given.rounds))
        with pymongo.MongoClient(server) as client:
            client.drop_database(DATABASE)


if __name__ == "__main__":
    main()
