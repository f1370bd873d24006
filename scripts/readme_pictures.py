"""Make the pictures of the README with our own commands: `make readme-picture`.

The moving picture is a demo's film (`periplus demo --format gif`), smaller. The others are a verification report and pages of
the console after a run. Needs Chromium and ffmpeg; takes about four minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import async_playwright

from agent.browser.launch import launch
from agent.media.film_stills import GifLimits, make_gif
from agent.media.media_tools import FFMPEG, run_tool
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SMALL = GifLimits(max_bytes=1_200_000, longest_s=35.0, width=720)
WIDTH, HEIGHT = 1100, 620
PASSWORD = "spadeworks-demo"  # noqa: S105 - of the sample site


def _periplus(*arguments: str) -> list[str]:
    print("periplus", *arguments)
    return [sys.executable, "-m", "periplus", *arguments]


async def main() -> None:
    """Write the pictures to `docs/pictures`."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PERIPLUS_DATA_DIR": str(folder / "data"),
            "PERIPLUS_SECRET_PASSWORD": PASSWORD,
            "SPADEWORKS_PASSWORD": PASSWORD,
        }

        def run(*arguments: str) -> None:
            subprocess.run(_periplus(*arguments), cwd=folder, env=environment, check=True)

        run("demo", "--format", "gif", "--headless", "--out", "film")
        await make_gif(folder / "film" / "demo.mp4", PICTURES / "demo.gif", SMALL)
        at = ("-v", "error", "-nostdin", "-y", "-sseof", "-22", "-i", str(folder / "film" / "demo.mp4"))
        await run_tool(
            FFMPEG, *at, "-frames:v", "1", "-vf", "scale=720:-2", "-q:v", "6", str(PICTURES / "demo.jpg")
        )
        requirements = str(ROOT / "seeds/spadeworks/requirements/spadeworks.csv")
        run("verify", requirements, "--seed", "spadeworks", "--headless", "--out", "verified")
        async with start_seed_site(find_seed("spadeworks")) as base_url:
            account = ("-i", "email=demo@spadeworks.example", "-i", "agent_name=Ada")
            run("run", "create_agent", "--website", "spadeworks", "--base-url", base_url, *account)
        await _take_pictures(folder, environment)


def _newest_run(folder: Path, environment: dict[str, str]) -> str:
    command = _periplus("runs", "list", "--json", "--limit", "1")
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return str(json.loads(done.stdout)[0]["run_id"])


@contextmanager
def _serve(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Start `periplus serve` and yield its address."""
    command = _periplus("serve", "--port", "0")
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr or ():
            found = re.search(r"Periplus at (http://[^:]+:\d+)", line)
            if found:
                yield found[1]
                break
    finally:
        process.terminate()
        process.wait()


async def _take_pictures(folder: Path, environment: dict[str, str]) -> None:
    with _serve(folder, environment) as address:
        async with async_playwright() as playwright:
            browser = await launch(playwright)
            page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            for name, url in {
                "verify": (folder / "verified" / "report.html").as_uri(),
                "map": f"{address}/sites/spadeworks",
                "run": f"{address}/runs/{_newest_run(folder, environment)}",
            }.items():
                await page.goto(url, wait_until="networkidle")
                await page.screenshot(path=PICTURES / f"{name}.jpg", type="jpeg", quality=60)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
