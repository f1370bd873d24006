"""How long the console's map of a large site takes: laid out for the first time, drawn again, and opened in a browser.

`python benchmarks/bench_console.py [SCREENS]` prints a table; 2,000 screens unless told otherwise.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from agent.browser.launch import launch  # noqa: E402
from benchmarks.large_site import SCREENS, WEBSITE, large_site, sizes  # noqa: E402
from mcp_server.knowledge.compiled_view import compile_view  # noqa: E402
from periplus.console import site_map_layout  # noqa: E402
from tests.periplus.console.console_site import console  # noqa: E402

pytestmark = pytest.mark.bench

DEFAULT, ROUNDS = 2_000, 5


def _layout(scale: float) -> tuple[float, float]:
    """Milliseconds of the layout and of choosing and drawing its lines."""
    view = compile_view(large_site(scale), "1")
    began = time.perf_counter()
    layout = site_map_layout.build_layout(view)
    laid = time.perf_counter()
    drawn = site_map_layout.build_site_map(view)  # lays it out once more, for the cache
    chosen = time.perf_counter()
    drawn = site_map_layout.build_site_map(view)
    again = time.perf_counter()
    assert len(layout.places) == len(drawn.layout.places)
    return (laid - began) * 1_000, (again - chosen) * 1_000


async def _opened(scale: float) -> tuple[list[float], list[float], int]:
    """Milliseconds of the answer and of the page until it is loaded, one a round, and its bytes."""
    answers, pages, size = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        async with console(Path(folder), large_site(scale)) as there, async_playwright() as playwright:
            browser = await launch(playwright)
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            for _ in range(ROUNDS):
                began = time.perf_counter()
                answer = await there.served.client.get(f"/sites/{WEBSITE}")
                answers.append((time.perf_counter() - began) * 1_000)
                size = len(answer.content)
                began = time.perf_counter()
                await page.goto(there.at(f"/sites/{WEBSITE}"), wait_until="load")
                pages.append((time.perf_counter() - began) * 1_000)
            await browser.close()
    return answers, pages, size


def test_a_large_site_opens() -> None:
    report(DEFAULT)


def report(screens: int) -> None:
    """Measure and print."""
    scale = screens / SCREENS
    laid, drawn = _layout(scale)
    answers, pages, size = asyncio.run(_opened(scale))
    assert size > 0
    print(f"the map of {sizes(scale)}: {size / 1e3:,.0f} kB")
    print(f"  laid out, once for each generation   {laid:8.0f} ms")
    print(f"  lines chosen and drawn, each time    {drawn:8.0f} ms")
    print(f"  the first answer, knowledge compiled {answers[0]:8.0f} ms")
    print(f"  an answer, median                    {statistics.median(answers[1:]):8.0f} ms")
    print(f"  loaded in a browser, median          {statistics.median(pages):8.0f} ms")


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
