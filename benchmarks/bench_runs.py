"""16 runs at once in one Chromium against one alone, and against bare contexts that a script drives: memory and CPU time of each.

    python -m benchmarks.bench_runs [--at-once 16] [--again]

The task is `create_agent` of the seed site, as `periplus collect --workers 16` does it (stores, traces, a new context per run); the
script by hand is that of `bench_engine`. Each part is a process of its own, and is kept in `out/bench/runs.json`: an interrupted
measurement goes on. Memory is PSS beyond that of the open browser, at its peak, divided by the contexts open then; CPU time is of
Chromium, of the driver and of Periplus together, without the site.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.bench_engine import by_hand, harness
from benchmarks.bench_fleet import MB, SEED, list_tree, warm_up, watch_memory
from benchmarks.figures import Figures
from benchmarks.process_cpu import read_tree_cpu_s
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.fleet.local_fleet import open_local_fleet
from periplus.fleet.run_collection import RunCollection, RunCollectionSettings, collect_runs
from periplus.fleet.worker_resources import StoreAddresses
from periplus.seed_sites.site_process import start_seed_site

ROUNDS = 3
"""Times that each context's place is used, so that peaks meet."""


@asynccontextmanager
async def measured(figures: dict[str, float], at_once: int) -> AsyncIterator[None]:
    """Fill in memory and CPU time of the block, per context."""
    peaks = [0.0, 0.0]
    before = [0.0, 0.0]
    for _, command, pss in list_tree():
        before[0 if is_browser(command) else 1] += 0 if command == "site" else pss / MB
    spent = read_tree_cpu_s()
    async with watch_memory(peaks):
        yield
    figures["cpu_s"] = (read_tree_cpu_s() - spent) / (at_once * ROUNDS)
    figures["chromium_mb"] = (peaks[0] - before[0]) / at_once
    figures["own_mb"] = (peaks[1] - before[1]) / at_once
    figures["load_average"] = os.getloadavg()[0]


def is_browser(command: str) -> bool:
    """Return whether a process is Chromium's."""
    name = Path(command).name
    return "chrom" in name or "headless_shell" in name


async def measure_bare(at_once: int) -> dict[str, float]:
    """So many contexts that a script by hand drives, each place used `ROUNDS` times."""
    figures: dict[str, float] = {}
    async with harness() as h:
        await by_hand(h)

        async def place() -> None:
            for _ in range(ROUNDS):
                await by_hand(h)

        async with measured(figures, at_once):
            await asyncio.gather(*(place() for _ in range(at_once)))
    return figures


async def measure_runs(at_once: int) -> dict[str, float]:
    """So many runs at once by the engine, in one browser."""
    figures: dict[str, float] = {}
    collection = RunCollection(task_id="create_agent", website_id="spadeworks", inputs="-", inputs_sha256="")
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        knowledge, _ = read_knowledge_folder(SEED.knowledge_folder)
        async with open_stores(data) as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge)
        addresses = StoreAddresses(data_dir=str(data))
        async with start_seed_site(SEED) as base_url, open_local_fleet(at_once) as fleet:
            collection = collection.model_copy(update={"base_url": base_url})
            await warm_up(fleet.home, addresses, Counter())

            async def runs(name: str, count: int) -> int:
                """Make so many runs; return how many failed. Ends the benchmark if it is more than a third: they did too little."""
                folder = Path(place) / name
                folder.mkdir()
                settings = RunCollectionSettings(addresses, folder, dict(SEED.context))
                rows = [{"agent_name": f"{name} {number}"} for number in range(count)]
                own = collection.model_copy(update={"collection_id": f"{collection.collection_id}-{name}"})
                came = await collect_runs(own, rows, fleet, settings, tell=lambda _: None)
                failed = [each for each in came if not each.succeeded]
                for each in failed:
                    sys.stderr.write(f"failed: {each.ran.error if each.ran else each.trouble}\n")
                assert len(failed) * 3 <= count, f"{len(failed)} of {count} runs failed"
                return len(failed)

            await runs("first", 1)
            async with measured(figures, at_once):
                figures["failed"] = await runs("measured", at_once * ROUNDS)
    return figures


PARTS: dict[str, Callable[[int], Awaitable[dict[str, float]]]] = {"bare": measure_bare, "runs": measure_runs}


async def _one(kind: str, at_once: int) -> dict[str, float]:
    return await PARTS[kind](at_once)


def main() -> int:
    """Measure what is not kept, and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(asyncio.run(_one(asked.one[0], int(asked.one[1])))))
        return 0
    kept = Figures("runs")
    for kind in PARTS:
        for at_once in (1, asked.at_once):
            name = f"{kind} {at_once}"
            if asked.again or name not in kept.parts:
                command = [
                    sys.executable,
                    "-W",
                    "ignore",
                    "-m",
                    "benchmarks.bench_runs",
                    "--one",
                    kind,
                    str(at_once),
                ]
                told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                kept.add(name, json.loads(told.splitlines()[-1]))
            print(
                f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in kept.parts[name].items()),
                flush=True,
            )
    many, alone, bare = (
        kept.parts[f"{kind} {n}"]
        for kind, n in (("runs", asked.at_once), ("runs", 1), ("bare", asked.at_once))
    )
    total = many["chromium_mb"] + many["own_mb"]
    print(
        f"memory of a run, to a bare context: {total / bare['chromium_mb']:.2f} (goal 1.3); Chromium's alone {many['chromium_mb'] / bare['chromium_mb']:.2f}"
    )
    print(f"CPU time of a run, to one alone: {many['cpu_s'] / alone['cpu_s']:.2f} (goal 1.2)")
    print(f"failed: {many.get('failed', 0):.0f} of {asked.at_once * ROUNDS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
