"""The stores with a large website in them: loading, reading, exporting, and a cold compiled view.

    python -m benchmarks.bench_stores                    10,000 screens, 50,000 transitions, 2,000 tasks
    python -m benchmarks.bench_stores --scale 0.1        a tenth of that
    python -m benchmarks.bench_stores --mongodb-url URL  not on a mongod of its own

Trust the ratios of one run, not the seconds. Every store is measured in a process of its own, so
that the peak of memory is that store's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kb_schema import KnowledgeBase, Sourced, assemble, parse_document
from kb_store import load_knowledge, open_stores, read_knowledge
from loaders import write_folder
from mcp_server.compiled import compile_view
from tests.support.mongod import Mongod, with_database

SCREENS, WAYS_PER_SCREEN, TASKS = 10_000, 5, 2_000
WEBSITE = "large"
ROOT = Path(__file__).parents[1]


def large_site(scale: float) -> KnowledgeBase:
    """Screens with URL patterns and elements, five ways out of each, tasks of four steps, groups."""
    screens, tasks = max(10, int(SCREENS * scale)), max(2, int(TASKS * scale))
    documents: list[dict[str, Any]] = [
        {"type": "website", "website_id": WEBSITE, "name": "Large", "base_url": "https://large.example"}
    ]
    documents += [{"type": "screen_group", "group_id": f"g{n}", "name": f"Group {n}"} for n in range(20)]
    for n in range(screens):
        elements = [
            {"element_id": f"e{k}", "type": "button", "selector": f"#s{n}-e{k}"}
            for k in range(WAYS_PER_SCREEN)
        ]
        documents.append(
            {"type": "screen", "screen_id": f"s{n}", "name": f"Screen {n}", "url_patterns": [f"^/s/{n}$"],
             "ui_elements": elements}
        )  # fmt: skip
        documents.append({"type": "belongs_to", "_from": f"screen/s{n}", "_to": f"screen_group/g{n % 20}"})
        for k in range(WAYS_PER_SCREEN):
            target = (n * (k + 2) + 7 * k + 1) % screens
            documents.append(
                {"type": "transition", "transition_id": f"t{n}-{k}", "_from": f"screen/s{n}",
                 "_to": f"screen/s{target}", "cost": {"estimated_ms": 100 + k}, "reliability_score": 0.9,
                 "triggered_by": {"action_type": "click", "element_id": f"e{k}"}}
            )  # fmt: skip
    for n in range(tasks):
        steps = [{"action": {"action_type": "click", "target": f"#step-{k}"}} for k in range(4)]
        documents.append({"type": "task", "task_id": f"task{n}", "name": f"Task {n}", "steps": steps})
    return assemble([Sourced(parse_document(document)) for document in documents])[0]


class Clock:
    """Named seconds, one after the other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """How long the block takes, under `name`."""
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began


async def measure(scale: float, folder: Path, mongodb_url: str | None) -> dict[str, float]:
    """Seconds by what was done, and the megabytes of memory that it took beyond the site itself."""
    clock = Clock()
    with clock.timed("make the site"):
        knowledge = large_site(scale)
    before = _peak_mb()
    async with open_stores(folder / "data", mongodb_url=mongodb_url) as stores:
        with clock.timed("load"):
            await load_knowledge(stores.documents, stores.graph, knowledge)
        peak_load = _peak_mb()
        with clock.timed("load again"):
            await load_knowledge(stores.documents, stores.graph, knowledge)
        del knowledge
        with clock.timed("read"):
            read, generation = await read_knowledge(stores.documents, stores.graph, WEBSITE)
        with clock.timed("compile the view"):
            view = compile_view(read, str(generation))
        assert len(view.ways) == len(read.screens)
        with clock.timed("write files"):
            await asyncio.to_thread(write_folder, read, folder / "export")
    seconds = clock.seconds
    return {
        "load s": seconds["load"],
        "load again s": seconds["load again"],
        "cold view s": seconds["read"] + seconds["compile the view"],
        "export s": seconds["read"] + seconds["write files"],
        "site in memory MB": before,
        "peak of load MB": peak_load,
        "peak of all MB": _peak_mb(),
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _in_own_process(scale: float, folder: Path, mongodb_url: str | None) -> dict[str, float]:
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.bench_stores", "--scale", str(scale), "--one", str(folder)]
    command += ["--mongodb-url", mongodb_url] if mongodb_url else []
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(told.stdout)
    print("mongodb:" if mongodb_url else "embedded:", found, file=sys.stderr, flush=True)
    return found


def _print_table(scale: float, found: dict[str, dict[str, float]]) -> None:
    print(f"{int(SCREENS * scale)} screens, {int(SCREENS * scale) * WAYS_PER_SCREEN} transitions, "
          f"{int(TASKS * scale)} tasks")  # fmt: skip
    print(f"{'':<20}" + "".join(f"{name:>12}" for name in found) + f"{'ratio':>10}")
    first, *_, last = found.values()
    for row in first:
        cells = "".join(f"{each[row]:>12.1f}" for each in found.values())
        print(f"{row:<20}{cells}{last[row] / first[row]:>9.1f}x")


def main() -> None:
    """Every store in turn."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--mongodb-url")
    options.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        print(json.dumps(asyncio.run(measure(chosen.scale, chosen.one, chosen.mongodb_url))))
        return
    folder = Path(tempfile.mkdtemp(prefix="periplus-bench-"))
    mongod = None if chosen.mongodb_url else Mongod(folder / "mongod")
    stop: Callable[[], None] = mongod.stop if mongod else lambda: None
    try:
        if mongod:
            mongod.start()
        url = chosen.mongodb_url or with_database(mongod.url if mongod else "", "bench")
        found = {
            "embedded": _in_own_process(chosen.scale, folder / "embedded", None),
            "mongodb": _in_own_process(chosen.scale, folder / "mongodb", url),
        }
        _print_table(chosen.scale, found)
    finally:
        stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
