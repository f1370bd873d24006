"""The whole engine at one task of the seed site, against the same task written by hand, in the same run.

Knowledge over MCP, identification, gate, conditions, read-back and outcomes are all in the engine's time;
the script by hand clicks, and expects what somebody careful would. They take turns, so that both meet the
same machine: trust the ratios, not the seconds.

    python benchmarks/bench_engine.py [--rounds 7] [--without-playwright-mcp]      (or through `make bench`)

Printed beside: the share of the engine's time that is spent waiting for the knowledge server; the same clicks through
Playwright MCP as it comes (its snapshots, its pauses after clicks; no model thinks in between); and what
carrying on a run that was cut off costs before its next step begins, the browser's start left out.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from playwright.async_api import async_playwright, expect

from agent.browser.launch import find_chromium, launch
from agent.events import Event, StepEnded, StepStarted
from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.execution.task_runner import TaskRunner
from benchmarks import tokens
from kb_schema.run_records import RunStatus
from kb_store import Stores, load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from periplus.run_store_adapters import RunStoreKeeping
from periplus.seed_sites.seed_manifests import Seed, find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.session_setup import open_fresh_context, open_session

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext

    from agent.session import Session

pytestmark = pytest.mark.bench

TASK = "create_agent"
PLAYWRIGHT_MCP = "@playwright/mcp@0.0.83"
FOLDER = Path(__file__).resolve().parent.parent / ".tools" / "playwright-mcp"
_names = count(1)


def name() -> str:
    """Names of agents are unique."""
    return f"Agent {next(_names)}"


@dataclass
class Harness:
    """What all sides share."""

    seed: Seed
    url: str
    stores: Stores
    browser: Browser
    folder: Path
    asked_s: list[float] = field(default_factory=list)
    """Seconds that each run of the engine waited for the knowledge server."""


@asynccontextmanager
async def harness() -> AsyncIterator[Harness]:
    """The site, its knowledge in embedded stores, one browser."""
    seed = find_seed("spadeworks")
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = await stack.enter_async_context(start_seed_site(seed))
        stores = await stack.enter_async_context(open_stores(folder / "stores"))
        knowledge, _ = read_knowledge_folder(seed.knowledge_folder)
        await load_knowledge(stores.documents, stores.graph, knowledge)
        playwright = await stack.enter_async_context(async_playwright())
        browser = await launch(playwright)
        stack.push_async_callback(browser.close)
        yield Harness(seed, url, stores, browser, folder)


async def by_hand(h: Harness) -> float:
    """Sign in, create an agent, see that it is there: seconds."""
    context = await h.browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        page, agent, account = await context.new_page(), name(), h.seed.context
        began = time.perf_counter()
        await page.goto(f"{h.url}/login")
        await page.click("#cookie-accept")
        await page.fill("#email", str(account["email"]))
        await page.fill("#password", str(account["password"]))
        await page.click("#sign-in")
        await expect(page.locator("h1")).to_have_text("Dashboard")
        await page.goto(f"{h.url}/agent/create")
        await expect(page.locator("h1")).to_have_text("Create Agent")
        await page.fill("#agent-name", agent)
        await page.select_option("#language", "hi-IN")
        await page.click("#save-agent")
        await expect(page.locator(".toast")).to_contain_text("Agent created")
        await page.goto(f"{h.url}/agent")
        await page.fill("#agent-search", agent)
        await page.click("#agent-search-button")
        await expect(page.locator(".agent-card .agent-name")).to_have_text([agent])
        return time.perf_counter() - began
    finally:
        await context.close()


@asynccontextmanager
async def visiting(h: Harness, context: BrowserContext, run_id: str | None = None) -> AsyncIterator[Session]:
    """A session that counts how long whoever opened it waits for the knowledge server; what is told or asked beside
    the run, in tasks of its own, is not waited for.
    """
    async with open_session(
        h.stores, context, h.seed.name, base_url=h.url, values=h.seed.context, run_id=run_id
    ) as session:
        client = session.knowledge._client  # noqa: SLF001  # a stop-watch is put around it
        plain, waited, runner = client.call_tool, 0.0, asyncio.current_task()

        async def timed(*args: Any, **named: Any) -> Any:
            nonlocal waited
            began = time.perf_counter()
            try:
                return await plain(*args, **named)
            finally:
                if asyncio.current_task() is runner:
                    waited += time.perf_counter() - began

        client.call_tool = timed
        yield session
        h.asked_s.append(waited)


async def by_engine(h: Harness) -> float:
    """The task by the engine, login and read-back included: seconds."""
    async with open_fresh_context(h.browser) as context, visiting(h, context) as session:
        began = time.perf_counter()
        result = await TaskRunner(session).run_task(TASK, {"agent_name": name(), "language": "hi-IN"})
        seconds = time.perf_counter() - began
    if result.status is not RunStatus.SUCCESS:
        raise SystemExit(f"the engine did not do it: {result.error}")
    return seconds


@asynccontextmanager
async def playwright_mcp(h: Harness) -> AsyncIterator[Client]:
    """Playwright MCP as it comes, in a browser of its own. Raises `NoTokenizer` without Node."""
    node = tokens.npm_install(FOLDER, PLAYWRIGHT_MCP)
    script = FOLDER / "node_modules/@playwright/mcp/cli.js"
    flags = ["--headless", "--isolated", "--no-sandbox", "--executable-path", find_chromium() or ""]
    server = StdioServerParameters(command=node, args=[str(script), *flags], cwd=str(h.folder))
    async with Client(stdio_client(server)) as client:
        yield client


async def by_playwright_mcp(h: Harness, client: Client) -> float:
    """The same clicks through Playwright MCP, known by heart: seconds."""
    agent, account = name(), h.seed.context
    steps: tuple[tuple[str, dict[str, Any]], ...] = (
        ("browser_navigate", {"url": f"{h.url}/login"}),
        ("browser_click", {"target": "#cookie-accept"}),
        ("browser_type", {"target": "#email", "text": str(account["email"])}),
        ("browser_type", {"target": "#password", "text": str(account["password"])}),
        ("browser_click", {"target": "#sign-in"}),
        ("browser_navigate", {"url": f"{h.url}/agent/create"}),
        ("browser_type", {"target": "#agent-name", "text": agent}),
        ("browser_select_option", {"target": "#language", "values": ["hi-IN"]}),
        ("browser_click", {"target": "#save-agent"}),
        ("browser_navigate", {"url": f"{h.url}/agent"}),
        ("browser_type", {"target": "#agent-search", "text": agent}),
        ("browser_click", {"target": "#agent-search-button"}),
        ("browser_snapshot", {}),
    )
    said = ""
    began = time.perf_counter()
    for tool, arguments in steps:
        answer = await client.call_tool(tool, arguments)
        said = "".join(getattr(part, "text", "") for part in answer.content)
        if answer.is_error:
            raise SystemExit(f"{tool} {arguments}: {said}")
    seconds = time.perf_counter() - began
    if agent not in said:
        raise SystemExit(f"Playwright MCP did not do it: {said[:500]}")
    await client.call_tool("browser_close", {})
    return seconds


async def resuming(h: Harness) -> float:
    """Seconds from the start of a run that is carried on to the beginning of a step that was not done."""
    runs_folder = Path(tempfile.mkdtemp(dir=h.folder))
    async with open_runs(runs_folder) as runs:
        kept = RunStoreKeeping(runs)
        async with open_fresh_context(h.browser) as context, visiting(h, context) as session:
            run_id, reached = session.context.run_id, asyncio.Event()

            def cut(event: Event) -> None:
                if isinstance(event, StepEnded) and event.step_id == "select_language":
                    reached.set()

            session.bus.listen(cut)
            running = asyncio.create_task(
                TaskRunner(session, keeping=kept).run_task(TASK, {"agent_name": name(), "language": "hi-IN"})
            )
            await reached.wait()
            await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait({running})
        found = await kept.checkpoint(run_id)
        if found is None:
            raise SystemExit("nothing was kept")
        state = CheckpointState.model_validate(found.state)
        async with (
            open_fresh_context(h.browser, storage=state.storage) as context,  # type: ignore[arg-type]
            visiting(h, context, run_id) as session,
        ):
            went_on: list[float] = []

            def begun(event: Event) -> None:
                if isinstance(event, StepStarted) and not went_on:
                    went_on.append(time.perf_counter())

            session.bus.listen(begun)
            began = time.perf_counter()
            result = await TaskRunner(session, keeping=kept, resume=state).run_task(TASK)
    if result.status is not RunStatus.SUCCESS or not went_on:
        raise SystemExit(f"it was not carried on: {result.error}")
    return went_on[0] - began


def tell(what: str, seconds: list[float], goal: str = "") -> float:
    """One line: median and extremes."""
    middle = statistics.median(seconds)
    print(f"  {what:<44} {middle:7.2f} s  ({min(seconds):.2f}-{max(seconds):.2f}){goal}")
    return middle


async def measure(rounds: int, *, beside_playwright_mcp: bool = True) -> float:
    """Prints all of it; the ratio of engine and script."""
    async with harness() as h, AsyncExitStack() as stack:
        client = None
        if beside_playwright_mcp:
            try:
                client = await stack.enter_async_context(playwright_mcp(h))
            except tokens.NoTokenizer as exc:
                print(f"without Playwright MCP: {exc.reason}")
        hand, engine, other, again = [], [], [], []
        for number in range(rounds + 1):
            times = (await by_hand(h), await by_engine(h))
            theirs = None if client is None else await by_playwright_mcp(h, client)
            on = await resuming(h)
            if number == 0:  # warms everything up
                h.asked_s.clear()
                continue
            hand.append(times[0])
            engine.append(times[1])
            again.append(on)
            if theirs is not None:
                other.append(theirs)
    print(f"\n{TASK} with sign-in, {rounds} rounds after one to warm up, medians (min-max)")
    tell("plain Playwright, by hand", hand)
    middle = tell("the engine", engine)
    ratio = statistics.median(ours / theirs for ours, theirs in zip(engine, hand, strict=True))
    print(f"  {'engine / by hand':<44} {ratio:7.2f}    (goal 1.6, at most 2.0)")
    share = statistics.median(h.asked_s[::3]) / middle
    print(f"  {'of that, waiting for the knowledge server':<44} {share:7.1%}    (goal: at most a tenth)")
    if other:
        tell("Playwright MCP as it comes", other)
        half = statistics.median(ours / theirs for ours, theirs in zip(engine, other, strict=True))
        print(f"  {'engine / Playwright MCP':<44} {half:7.2f}    (goal 0.5)")
    tell("carrying on: until its next step begins", again, "  (goal: under 1 s)")
    return ratio


def test_the_engine_against_plain_playwright() -> None:
    """Prints the ratios."""
    asyncio.run(measure(rounds=5))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--without-playwright-mcp", action="store_true")
    given = parser.parse_args()
    asyncio.run(measure(given.rounds, beside_playwright_mcp=not given.without_playwright_mcp))
