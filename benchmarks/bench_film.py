"""How far picture and sound of a film are apart: `python -m benchmarks.bench_film --seconds 300`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright

from agent.browser.launch import launch
from tests.support.clapper import clap


async def measure(seconds: float) -> str:
    """Film claps for so long, and say how far apart they are."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        try:
            page = await browser.new_page(viewport={"width": 1280, "height": 720})
            with tempfile.TemporaryDirectory(prefix="periplus-clapper-") as folder:
                return (await clap(page, Path(folder), seconds)).told()
        finally:
            await browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    print(asyncio.run(measure(parser.parse_args().seconds)))
