"""What one worker does and needs: the figures that docs/scale.md reckons with.

`python -m benchmarks.bench_fleet [--runs N] [--widths 1,2,4] [--mapping]`: the task `create_agent` on the seed site,
each time in a browser context of its own, with so many at a time; with `--mapping` the exploration of that site,
signed in, by so many (one: without workers). Rates are told as ratios to one at a time: they
say what the machine gave, which the last line names. Memory is PSS (what is shared is shared out), of
Chromium's processes and of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.exploration.website_exploration import explore
from kb_schema.explorations import Exploration, MapLimits
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.exploration.login_form import sign_in_by_form
from periplus.fleet.exploration_jobs import FleetExplorationParts
from periplus.fleet.local_fleet import open_local_fleet
from periplus.fleet.run_collection import RunCollection, RunCollectionSettings, collect_runs
from periplus.fleet.worker_resources import StoreAddresses, WorkerResources
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.session_setup import start_browser

SEED = find_seed("spadeworks")
LOOK_S = 0.25
"""Between two looks at memory."""
MB = 1024 * 1024


@dataclass(frozen=True)
class Measured:
    """One width."""

    width: int
    runs: int
    seconds: float
    browser_mb: float
    own_mb: float
    calls: float
    """Of the run store, a run."""
    trace_mb: float
    """On disk, a run."""

    @property
    def per_minute(self) -> float:
        """Runs."""
        return self.runs / self.seconds * 60


@dataclass(frozen=True)
class Explored:
    """One exploration."""

    width: int
    seconds: float
    pages: int
    passages: int
    browser_mb: float
    own_mb: float


class _Counting:
    """A run store that counts what it is asked for."""

    def __init__(self, runs: Any, counts: Counter[str]) -> None:
        self._runs, self._counts = runs, counts

    def __getattr__(self, name: str) -> Any:
        if name in ("leases", "memory"):
            return _Counting(getattr(self._runs, name), self._counts)
        found = getattr(self._runs, name)
        if not callable(found):
            return found

        def asked(*args: Any, **more: Any) -> Any:
            self._counts[name] += 1
            return found(*args, **more)

        return asked


def list_tree() -> Iterator[tuple[int, str, int]]:
    """Every process that we started, and ours: its id, command and PSS in bytes."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(rest[1]), []).append(int(stat.parent.name))
    wanted = [os.getpid()]
    for pid in wanted:
        wanted += children.get(pid, [])
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        pss = next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
        yield (
            pid,
            ("site" if b"seeds.spadeworks.site" in command else command[0].decode(errors="replace")),
            pss * 1024,
        )


def _memory() -> tuple[float, float]:
    """MB of Chromium, and of Periplus with the browser's driver."""
    browser = own = 0
    for _, command, pss in list_tree():
        name = Path(command).name
        if "chrom" in name or "headless_shell" in name:
            browser += pss
        elif command != "site":
            own += pss
    return browser / MB, own / MB


@asynccontextmanager
async def watch_memory(peaks: list[float]) -> AsyncIterator[None]:
    """Fill in the peaks of `_memory` while the block runs."""

    async def look() -> None:
        while True:
            now = await asyncio.to_thread(_memory)
            peaks[:] = [max(a, b) for a, b in zip(peaks, now, strict=True)]
            await asyncio.sleep(LOOK_S)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.wait([looking])


async def _measure(width: int, runs: int, base_url: str, shelf: StoreAddresses, folder: Path) -> Measured:
    collection = RunCollection(
        task_id="create_agent", website_id="spadeworks", inputs="-", inputs_sha256="", base_url=base_url
    )
    settings = RunCollectionSettings(shelf, folder, dict(SEED.context))
    counts: Counter[str] = Counter()
    peaks = [0.0, 0.0]
    async with open_local_fleet(width) as fleet:
        await warm_up(fleet.home, shelf, counts)
        rows = [{"agent_name": f"Bench {width} {number}"} for number in range(runs)]
        async with watch_memory(peaks):
            began = time.perf_counter()
            came = await collect_runs(collection, rows, fleet, settings, tell=lambda _: None)
            seconds = time.perf_counter() - began
    assert all(each.succeeded for each in came), [each for each in came if not each.succeeded]
    size = await asyncio.to_thread(_size, folder)
    return Measured(width, runs, seconds, *peaks, sum(counts.values()) / runs, size / runs / MB)


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


async def warm_up(home: WorkerResources, shelf: StoreAddresses, counts: Counter[str]) -> None:
    """Browser and stores are there, and asked through a counter."""
    await home.browser()
    _, runs = await home.open_stores(shelf)
    home._kept["runs", shelf] = _Counting(runs, counts)  # noqa: SLF001 - a benchmark looks inside


async def _all(widths: list[int], runs: int) -> list[Measured]:
    with tempfile.TemporaryDirectory() as place:
        data = Path(place)
        knowledge, _ = read_knowledge_folder(SEED.knowledge_folder)
        async with open_stores(data / "data") as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge)
        shelf = StoreAddresses(data_dir=str(data / "data"))
        async with start_seed_site(SEED) as base_url:
            await _measure(1, 1, base_url, shelf, _folder(data, "warm"))
            return [
                await _measure(width, max(runs, width), base_url, shelf, _folder(data, f"w{width}"))
                for width in widths
            ]


async def _explored(width: int, base_url: str, folder: Path) -> Explored:
    peaks = [0.0, 0.0]
    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(start_browser(headed=False))
        account = {name: str(SEED.context[name]) for name in ("email", "password")}
        state = await sign_in_by_form(browser, f"{base_url}/", account)
        wanted = Exploration(
            website_id="spadeworks", base_url=base_url, starts=(f"{base_url}/",), origins=(base_url,),
            limits=MapLimits(per_second=100.0), started_at=datetime.now(UTC),
        )  # fmt: skip
        parts = None
        if width > 1:
            fleet = await stack.enter_async_context(open_local_fleet(width))
            await fleet.home.browser()
            parts = FleetExplorationParts(fleet)
        async with watch_memory(peaks):
            began = time.perf_counter()
            done = await explore(browser, wanted, folder, storage_state=state, workers=parts)
            seconds = time.perf_counter() - began
    assert done.ended_by == "done", done.ended_by
    return Explored(width, seconds, done.pages, done.passages, *peaks)


async def _all_explored(widths: list[int]) -> list[Explored]:
    with tempfile.TemporaryDirectory() as place:
        async with start_seed_site(SEED) as base_url:
            return [await _explored(width, base_url, Path(place) / str(width)) for width in widths]


def _tell_explored(found: list[Explored]) -> None:
    print("| at a time | seconds | passages/min | ratio | pages | passages | Chromium MB | Periplus MB |")
    print("|---|---|---|---|---|---|---|---|")
    rates = [each.passages / each.seconds * 60 for each in found]
    for each, rate in zip(found, rates, strict=True):
        print(
            f"| {each.width} | {each.seconds:.0f} | {rate:.1f} | {rate / rates[0]:.2f} | {each.pages} |"
            f" {each.passages} | {each.browser_mb:.0f} | {each.own_mb:.0f} |"
        )


def _folder(data: Path, name: str) -> Path:
    folder = data / name
    folder.mkdir()
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--widths", default="1,2,4")
    parser.add_argument("--mapping", action="store_true", help="explore the site instead")
    asked = parser.parse_args()
    load_before = os.getloadavg()[0]
    if asked.mapping:
        _tell_explored(asyncio.run(_all_explored([int(each) for each in asked.widths.split(",")])))
        print(f"{os.cpu_count()} cores; load before {load_before:.1f}, after {os.getloadavg()[0]:.1f}")
        return
    found = asyncio.run(_all([int(each) for each in asked.widths.split(",")], asked.runs))
    print("| at a time | runs/min | ratio | Chromium MB | Periplus MB | store calls/run | trace MB/run |")
    print("|---|---|---|---|---|---|---|")
    for each in found:
        print(
            f"| {each.width} | {each.per_minute:.1f} | {each.per_minute / found[0].per_minute:.2f} |"
            f" {each.browser_mb:.0f} | {each.own_mb:.0f} | {each.calls:.0f} | {each.trace_mb:.2f} |"
        )
    if len(found) > 1:
        more = (found[-1].browser_mb - found[0].browser_mb) / (found[-1].width - found[0].width)
        own = (found[-1].own_mb - found[0].own_mb) / (found[-1].width - found[0].width)
        print(f"\neach further context: {more:.0f} MB of Chromium, {own:.1f} MB of Periplus")
    print(f"{os.cpu_count()} cores; load before {load_before:.1f}, after {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
