"""Long ones: does memory or time per unit grow from the second tenth to the last?

    python -m benchmarks.bench_long run --units 5000          a run of 5,000 steps
    python -m benchmarks.bench_long server --units 168        a server of a week: 168 hours, each with 60 calls and a load
    python -m benchmarks.bench_long map --units 5000          a map of 5,000 pages
    python -m benchmarks.bench_long recording --units 720     a recording of an hour: an act every five seconds

What happens in an hour or a week is done one after the other without the pauses. Each part is kept in `out/bench/long.json` and not
measured again without `--again`. CPU time is of our process, of Playwright's driver and of Chromium; memory what the three have written
and share with nobody; both are medians of the samples of a tenth, files those of the part's folder.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp import Client

from agent.events import Event, StepEnded
from agent.execution.task_runner import TaskRunner
from agent.exploration.website_exploration import explore
from agent.recording.demonstration_recorder import DemonstrationRecorder
from agent.run_context import RunContext
from benchmarks.bench_fleet import MB, list_tree
from benchmarks.figures import Figures
from benchmarks.long_site import WEBSITE, linked_site, list_knowledge, list_site
from benchmarks.process_cpu import read_tree_cpu_s
from kb_schema import KnowledgeBase, SourcedDocument, assemble
from kb_schema.explorations import Exploration, MapLimits
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.server import create_server
from periplus.run_store_adapters import RunStoreKeeping
from periplus.session_setup import open_fresh_context, open_session, start_browser
from tests.mcp_server import pantry

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

TENTHS = 10
GOAL = 0.05
CALLS_AN_HOUR = 60


def _memory_mb() -> float:
    """Return what this process and all below it have written and share with nobody.

    The PSS, which counts libraries by how many processes use them now, grows when other programs end.
    """
    gc.collect()
    found = 0
    for pid, command, _ in list_tree():
        with suppress(OSError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
            line = next(each for each in rollup.splitlines() if each.startswith("Private_Dirty:"))
            found += 0 if command == "site" else int(line.split()[1]) * 1024
    return found / MB


@dataclass
class Growth:
    """Samples by tenth of the work."""

    units: int
    folder: Path
    done: int = 0
    memory_mb: list[list[float]] = field(default_factory=lambda: [[] for _ in range(TENTHS)])
    cpu_ms: list[list[float]] = field(default_factory=lambda: [[] for _ in range(TENTHS)])
    file_kb: list[float] = field(default_factory=list)
    _cpu: float = field(default_factory=read_tree_cpu_s)
    _at: int = 0

    def reached(self, done: int) -> None:
        """`done` units are done: sample five times a tenth."""
        self.done = done
        step = max(1, self.units // (TENTHS * 5))
        if done - self._at < step:
            return
        spent, tenth = read_tree_cpu_s(), min(TENTHS - 1, (done - 1) * TENTHS // self.units)
        self.cpu_ms[tenth].append((spent - self._cpu) / (done - self._at) * 1_000)
        self.memory_mb[tenth].append(_memory_mb())
        self.file_kb.append(
            sum(each.stat().st_size for each in self.folder.rglob("*") if each.is_file()) / 1_000
        )
        self._cpu, self._at = read_tree_cpu_s(), done

    def figures(self) -> dict[str, float]:
        """Return the medians of the second tenth and of the last, and the growth of each."""
        second, last = 1, TENTHS - 1
        found: dict[str, float] = {"units": self.done}
        for name, samples in (("memory_mb", self.memory_mb), ("cpu_ms", self.cpu_ms)):
            first, then = (statistics.median(samples[tenth]) for tenth in (second, last))
            found |= {
                f"{name} second tenth": first,
                f"{name} last tenth": then,
                f"{name} growth": then / first - 1 if first else math.nan,  # too little to measure
            }
        return found | {"files_kb a unit": self.file_kb[-1] / self.done, "load_average": os.getloadavg()[0]}


async def measure_run(growth: Growth) -> None:
    """One run of the engine, kept in a run store: half of the steps type, half press a button that sends."""
    things = [f"thing {number}" for number in range(growth.units // 2)]
    with list_site() as site:
        async with (
            open_stores(growth.folder) as stores,
            open_runs(growth.folder) as runs,
            start_browser(headed=False) as browser,
        ):
            await load_knowledge(stores.documents, stores.graph, list_knowledge(site.base))
            async with (
                open_fresh_context(browser) as context,
                open_session(stores, context, WEBSITE, base_url=site.base) as session,
            ):
                ended = 0

                def step(event: Event) -> None:
                    nonlocal ended
                    if isinstance(event, StepEnded) and event.task_id == "add_one":
                        ended += 1
                        growth.reached(ended)

                session.bus.listen(step)
                engine = TaskRunner(session, keeping=RunStoreKeeping(runs))
                result = await engine.run_task("add_all", {"things": things})
        assert result.complete, result.error
        assert len(site.writes) == len(things)


async def measure_server(growth: Growth) -> None:
    """A server in this process: every hour mixed calls with outcomes, then a load of knowledge that differs."""
    async with open_stores(growth.folder) as stores:
        await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
        source = StoreSource(stores.documents, stores.graph, stores.views_folder)
        async with (
            ViewCache(source).following() as views,
            Client(create_server(views, learned=stores.learned)) as client,
        ):
            for hour in range(growth.units):
                for call in range(CALLS_AN_HOUR):
                    tool, arguments = _calls(hour, call)
                    answer = await client.call_tool(tool, {"website_id": "pantry", **arguments})
                    assert not answer.is_error, answer.content
                await load_knowledge(stores.documents, stores.graph, _hour(hour))
                growth.reached(hour + 1)


def _hour(hour: int) -> KnowledgeBase:
    """The pantry with another name each hour."""
    known = pantry.knowledge()
    website = known.website.model_copy(update={"name": f"Pantry of hour {hour}"})
    return assemble(
        [SourcedDocument(website if each is known.website else each) for each in known.documents()]
    )[0]


def _calls(hour: int, call: int) -> tuple[str, dict[str, Any]]:
    snapshot = pantry.page(
        f"/shelf?hour={hour}&call={call}", f"<h1>Shelf</h1><p>{hour} {call}</p>"
    ).model_dump(mode="json")
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("identify_current_screen", {"snapshot": snapshot}),
        ("get_screen", {"screen_id": "shelf"}),
        ("find_path", {"from_screen": "shelf", "to_screen": "jar_new", "facts": {f"fact{hour}": call}}),
        ("search_knowledge", {"query": f"jar {hour} {call}"}),
        (
            "record_outcome",
            {
                "outcome": {
                    "outcome_id": f"o{hour}-{call}",
                    "transition_id": "open_new",
                    "succeeded": True,
                    "duration_ms": 120,
                }
            },
        ),
    )
    return calls[call % len(calls)]


async def measure_map(growth: Growth) -> None:
    """An exploration of a site with so many pages."""
    with linked_site(growth.units) as (site, seen):
        wanted = Exploration(
            website_id=WEBSITE, base_url=site.base, starts=(f"{site.base}/",), origins=(site.base,),
            limits=MapLimits(per_second=1_000.0, states=growth.units + 10, seconds=40_000.0, depth=50, pages_per_place=growth.units),
            started_at=datetime.now(UTC),
        )  # fmt: skip

        async def watch() -> None:
            while True:
                if len(seen) > growth.done:
                    growth.reached(len(seen))
                await asyncio.sleep(0.5)

        async with start_browser(headed=False) as browser, _beside(watch):
            done = await explore(browser, wanted, growth.folder / "map")
        assert done.pages >= growth.units * 0.99, (done.pages, done.ended_by)


async def measure_recording(growth: Growth) -> None:
    """A person who types and presses a button, again and again; each is an act of the recording."""
    with list_site() as site:
        async with start_browser(headed=False) as browser:
            await _record(browser, site.base, growth)
        assert len(site.writes) == growth.units // 2


async def _record(browser: Browser, base: str, growth: Growth) -> None:
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    recorder = DemonstrationRecorder(
        context, growth.folder / "recording", context=RunContext(), name="add things"
    )
    await recorder.start()
    page: Page = await context.new_page()
    await page.goto(f"{base}/")
    for number in range(growth.units // 2):
        await page.click("#thing")
        await page.keyboard.type(f"thing {number}")
        async with page.expect_navigation():
            await page.click("#add")
        growth.reached(2 * number + 2)
    await recorder.rest()
    await page.close()
    await asyncio.wait_for(recorder.closed.wait(), 60)
    await recorder.finish()
    await context.close()


@asynccontextmanager
async def _beside(work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


PARTS: dict[str, tuple[int, Callable[[Growth], Awaitable[None]]]] = {
    "run": (5_000, measure_run),
    "server": (168, measure_server),
    "map": (5_000, measure_map),
    "recording": (720, measure_recording),
}
"""Part -> its units, and what measures it."""


async def _measure(part: str, units: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        growth = Growth(units, Path(folder))
        await PARTS[part][1](growth)
        return growth.figures()


def main() -> int:
    """Measure a part unless it is kept; return 1 if it grew by more than the goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--units", type=int, help="fewer than the part has")
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    asked = parser.parse_args()
    units = asked.units or PARTS[asked.part][0]
    kept, name = Figures("long"), f"{asked.part} {units}"
    if asked.again or name not in kept.parts:
        kept.add(name, asyncio.run(_measure(asked.part, units)))
    found = kept.parts[name]
    print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in found.items()))
    grown = [key for key, value in found.items() if key.endswith(" growth") and value > GOAL]
    for key in grown:
        print(f"{key}: expected at most {GOAL:.0%}, found {found[key]:.1%}", file=sys.stderr)
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(main())
