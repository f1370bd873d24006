"""Where the time of one flow goes: the engine against a careful script by hand, on the sample site, Roundup and Trac.

    python -m benchmarks.bench_flows [--flows spadeworks roundup trac] [--rounds 5] [--again]

Each flow is kept in `out/bench/flows.json`: an interrupted measurement goes on. The two take turns in one Chromium. CPU time is told
of our process, of Playwright's driver and of Chromium, so that other work on the machine has little part in it; messages are those from
our process to the driver, by method. `docs/pictures/engine.svg` is drawn from it. Roundup and Trac need the knowledge of `make conversations`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from playwright._impl.connection import Connection
from playwright.async_api import Browser, Page, async_playwright, expect

from agent.browser.launch import launch
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_task_or_workflow
from benchmarks.bench_engine import by_hand, harness
from benchmarks.conversations.applications import copy_of_knowledge, serve, workflow_of
from benchmarks.figures import Figures
from benchmarks.process_cpu import read_parts_cpu_s
from kb_store import Stores, open_stores
from periplus.session_setup import open_fresh_context, open_session
from tests.zoo.registry.serving import PASSWORD

KNOWLEDGE = Path("out/conversations")
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "engine.svg"
PARTS = ("own", "driver", "chromium")
NAMES = {"own": "our process", "driver": "Playwright's driver", "chromium": "Chromium"}
COLOURS = {"own": "#1565c0", "driver": "#6a1b9a", "chromium": "#2e7d32", "idle": "#bdbdbd"}
_numbers = count(int(time.time()) % 100_000)


@dataclass(frozen=True)
class Flow:
    """One task, done both ways on the same running site."""

    browser: Browser
    hand: Callable[[], Awaitable[object]]
    engine: Callable[[], Awaitable[object]]


class _Messages:
    """Counts the messages to Playwright's driver."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        plain = Connection.send_message_to_server

        def counted(connection: Connection, owner: Any, method: str, *rest: Any) -> Any:
            self.seen[method] += 1
            return plain(connection, owner, method, *rest)

        Connection.send_message_to_server = counted  # type: ignore[method-assign]


@asynccontextmanager
async def _sample_flow() -> AsyncIterator[Flow]:
    async with harness() as h:

        async def engine() -> None:
            async with (
                open_fresh_context(h.browser) as context,
                open_session(
                    h.stores, context, h.seed.name, base_url=h.url, values=h.seed.context
                ) as session,
            ):
                given = {"agent_name": f"Flow {next(_numbers)}", "language": "hi-IN"}
                result = await TaskRunner(session).run_task("create_agent", given)
            assert result.complete, result.error

        yield Flow(h.browser, lambda: by_hand(h), engine)


async def _roundup_by_hand(page: Page, url: str, title: str) -> None:
    await page.goto(f"{url}/")
    await page.fill("input[name=__login_name]", "admin")
    await page.fill("input[name=__login_password]", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await expect(page.get_by_role("link", name="Logout")).to_be_visible()
    await page.get_by_role("link", name="Create New").first.click()
    await page.fill("input[name=title]", title)
    await page.select_option("select[name=priority]", label="bug")
    await page.select_option("select[name=assignedto]", label="tomas")
    await page.fill("textarea[name='@note']", "Eleven minutes")
    await page.get_by_role("button", name="Submit New Entry").click()
    await expect(page.locator(".ok-message")).to_contain_text("created")


async def _trac_by_hand(page: Page, url: str, title: str) -> None:
    await page.goto(f"{url}/")
    await page.get_by_role("link", name="Login").click()
    await page.fill("#username", "warden")
    await page.fill("#password", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await expect(page.get_by_role("button", name="Logout")).to_be_visible()
    await page.get_by_role("link", name="New Ticket").click()
    await page.fill("#field-summary", title)
    await page.fill("#field-description", "Eleven minutes")
    await page.select_option("#field-priority", label="critical")
    await page.select_option("#field-component", label="Stairs")
    await page.get_by_role("button", name="Create ticket").click()
    await expect(page.get_by_role("heading", name=title)).to_be_visible()


_ZOO: dict[str, tuple[str, Callable[[Page, str, str], Awaitable[None]], str, dict[str, str]]] = {
    "roundup": (
        "create_issue",
        _roundup_by_hand,
        "title",
        {"assignedto": "tomas", "login_password": PASSWORD, "note": "Eleven minutes", "priority": "bug"},
    ),
    "trac": (
        "create_ticket",
        _trac_by_hand,
        "summary",
        {
            "component": "Stairs",
            "description_you_may_use_wikiformatting_h": "Eleven minutes",
            "password": PASSWORD,
            "priority": "critical",
        },
    ),
}
"""Application -> its job, the script, the input with the title, and the other inputs."""


@asynccontextmanager
async def _zoo_flow(application: str) -> AsyncIterator[Flow]:
    job, script, title, given = _ZOO[application]
    async with AsyncExitStack() as stack:
        data = await stack.enter_async_context(copy_of_knowledge(application, KNOWLEDGE))
        stores: Stores = await stack.enter_async_context(open_stores(data))
        served = await stack.enter_async_context(serve(application))
        playwright = await stack.enter_async_context(async_playwright())
        browser = await launch(playwright)
        stack.push_async_callback(browser.close)

        async def hand() -> None:
            context = await browser.new_context(viewport={"width": 1280, "height": 720})
            await script(await context.new_page(), served.base_url, f"Clock {next(_numbers)} is slow")
            await context.close()

        async def engine() -> None:
            values = {**given, title: f"Clock {next(_numbers)} is slow"}
            async with (
                open_fresh_context(browser) as context,
                open_session(stores, context, "site", base_url=served.base_url) as session,
            ):
                result = await run_task_or_workflow(TaskRunner(session), workflow_of(job), values)
            assert result.complete, result.error

        yield Flow(browser, hand, engine)


async def measure(name: str, rounds: int) -> dict[str, float]:
    """Return the medians of a flow, of the script and of the engine in turns."""
    messages = _Messages()
    found: dict[str, list[dict[str, float]]] = {"hand": [], "engine": []}
    async with _sample_flow() if name == "spadeworks" else _zoo_flow(name) as flow:
        for number in range(rounds + 1):
            for side, work in (("hand", flow.hand), ("engine", flow.engine)):
                messages.seen.clear()
                before, begin = read_parts_cpu_s(), time.perf_counter()
                await work()
                taken = time.perf_counter() - begin
                now = read_parts_cpu_s()
                spent = {part: now[part] - before[part] for part in PARTS}
                told = {f"messages {method}": float(times) for method, times in messages.seen.items()}
                if number:  # the first warms up
                    found[side].append(
                        {
                            **spent,
                            "cpu": sum(spent.values()),
                            "seconds": taken,
                            "messages": float(messages.seen.total()),
                            **told,
                        }
                    )
    figures = {
        f"{side} {key}": statistics.median(each.get(key, 0.0) for each in sides)
        for side, sides in found.items()
        for key in sorted({key for each in sides for key in each})
    }
    for key in ("cpu", "seconds", "messages"):
        figures[f"ratio {key}"] = statistics.median(
            ours[key] / theirs[key] for ours, theirs in zip(found["engine"], found["hand"], strict=True)
        )
    return figures | {"rounds": rounds, "load_average": os.getloadavg()[0]}


def draw(parts: dict[str, dict[str, float]], note: str) -> str:
    """Return an SVG with a bar of CPU time for each flow and side."""
    bars = [(flow, side) for flow in parts for side in ("hand", "engine")]
    longest = max(parts[flow][f"{side} cpu"] for flow, side in bars)
    height = 30 + 30 * len(bars) + 50
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="760" height="{height}" fill="#ffffff"/>',
        '<text x="10" y="18" font-weight="bold">CPU time of one flow: by hand, and by the engine</text>',
    ]
    for number, (flow, side) in enumerate(bars):
        figures, y, x = parts[flow], 30 + 30 * number, 150.0
        lines.append(f'<text x="10" y="{y + 15}">{flow}, {"by hand" if side == "hand" else "engine"}</text>')
        for part in PARTS:
            width = figures[f"{side} {part}"] / longest * 420
            lines.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{COLOURS[part]}"/>'
            )
            x += width
        told = f"{figures[f'{side} cpu']:.2f} s, {figures[f'{side} messages']:.0f} messages"
        lines.append(f'<text x="{x + 6:.1f}" y="{y + 15}">{told}</text>')
    y = 30 + 30 * len(bars) + 8
    for number, part in enumerate(PARTS):
        lines.append(f'<rect x="{10 + 170 * number}" y="{y}" width="12" height="12" fill="{COLOURS[part]}"/>')
        lines.append(f'<text x="{28 + 170 * number}" y="{y + 11}">{NAMES[part]}</text>')
    lines += [f'<text x="10" y="{y + 32}" fill="#555555">{note}</text>', "</svg>", ""]
    return "\n".join(lines)


def main() -> int:
    """Measure what is not kept, print all, and draw the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flows", nargs="+", default=["spadeworks", *_ZOO])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    asked = parser.parse_args()
    kept = Figures("flows")
    for name in asked.flows:
        if name in _ZOO and not (KNOWLEDGE / name / "made").exists():
            sys.stderr.write(f"expected the knowledge of {name} in {KNOWLEDGE} -> make conversations\n")
            return 2
        if asked.again or name not in kept.parts:
            kept.add(name, asyncio.run(measure(name, asked.rounds)))
        print(
            f"{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in kept.parts[name].items()),
            flush=True,
        )
    loads = [part["load_average"] for part in kept.parts.values()]
    note = f"Medians of {asked.rounds} rounds, {kept.measured}, 2 cores, load average {min(loads):.0f} to {max(loads):.0f}."
    PICTURE.write_text(draw(kept.parts, note), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
