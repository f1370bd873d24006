"""The demo's flow without narration against the same clicks written by hand, in the same run.

`make bench`, or `python benchmarks/bench_demo.py [--rounds 5]`. The two take turns, so that both
meet the same machine; trust the ratio, not the seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from agent.browser.launch import launch
from agent.media.voice import SilentVoice
from agent.page import in_page_library
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.narrator import Narrator
from kb_store import Stores, load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.seed_sites.seed_manifests import Seed, find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.session_setup import open_session

if TYPE_CHECKING:
    from playwright.async_api import Browser

SEED, FLOW = "spadeworks", "spadeworks_tour"
VIEWPORT = {"width": 1280, "height": 720}


@pytest.mark.bench
def test_the_tour_against_plain_playwright() -> None:
    """Prints the ratio."""
    asyncio.run(measure(rounds=5))


async def measure(rounds: int) -> float:
    """Median seconds of both, and the ratio."""
    seed = find_seed(SEED)
    raw, guided = [], []
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(start_seed_site(seed))
            stores = await stack.enter_async_context(open_stores(Path(folder)))
            knowledge, _ = read_knowledge_folder(seed.knowledge_folder)
            await load_knowledge(stores.documents, stores.graph, knowledge)
            playwright = await stack.enter_async_context(async_playwright())
            browser = await launch(playwright)
            stack.push_async_callback(browser.close)
            for number in range(rounds + 1):
                by_hand = await _by_hand(browser, _raw_tour(seed), url)
                by_guide = await _by_guide(browser, stores, seed, url)
                if number:  # the first round warms both up
                    raw.append(by_hand)
                    guided.append(by_guide)
    hand, guide = statistics.median(raw), statistics.median(guided)
    print(f"\n{FLOW}, {rounds} rounds after one to warm up, medians (min-max)")
    print(f"  plain Playwright  {hand:6.2f} s  ({min(raw):.2f}-{max(raw):.2f})")
    print(f"  the guide         {guide:6.2f} s  ({min(guided):.2f}-{max(guided):.2f})")
    print(f"  ratio             {guide / hand:6.2f}")
    return guide / hand


async def _by_hand(browser: Browser, tour: ModuleType, url: str) -> float:
    context = await browser.new_context(viewport=VIEWPORT)
    page = await context.new_page()
    began = time.perf_counter()
    await tour.play(page, url)
    seconds = time.perf_counter() - began
    await context.close()
    return seconds


async def _by_guide(browser: Browser, stores: Stores, seed: Seed, url: str) -> float:
    context = await browser.new_context(viewport=VIEWPORT)
    await in_page_library.install(context)
    async with open_session(stores, context, seed.name, base_url=url, values=seed.context) as session:
        narrator = Narrator(SilentVoice(), time.monotonic, silent=True)
        player = FlowPlayer(session, narrator, clock=lambda: 0.0, instant=True)
        began = time.perf_counter()
        told = await player.play(FLOW)
        seconds = time.perf_counter() - began
    await context.close()
    if not told.succeeded:
        raise SystemExit(f"the tour failed: {[s.reason for s in told.segments if s.reason]}")
    return seconds


def _raw_tour(seed: Seed) -> ModuleType:
    """The hand-written script that comes with the seed."""
    spec = importlib.util.spec_from_file_location("raw_tour", seed.folder / "raw_tour.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    asyncio.run(measure(parser.parse_args().rounds))
