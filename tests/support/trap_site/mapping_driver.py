"""Explores a site in a process of its own, so that a test can kill it: `python -m ... URL FOLDER SESSION START...`.

Says `page` or `passage` for each one that is written down, `waiting` between a look and its being written, and
`ended REASON PAGES`. What has begun is held in nobody's memory but this process's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from playwright.async_api import async_playwright

from agent.browser.launch import launch
from agent.exploration import exploration_events
from agent.exploration.website_exploration import explore
from kb_schema.explorations import Exploration, MapLimits


def wanted(url: str, starts: list[str], **limits: float) -> Exploration:
    """An exploration in a hurry: made for tests on this machine."""
    return Exploration(
        website_id="traps",
        base_url=url,
        starts=tuple(f"{url}{start}" for start in starts),
        origins=(url,),
        limits=MapLimits.model_validate({"per_second": 50, "page_s": 4, "pages_per_place": 2} | limits),
        started_at=datetime.now(UTC),
    )


def _tell(event: exploration_events.MapEvent) -> None:
    words = {exploration_events.PageFound: "page", exploration_events.TransitionAttempted: "passage"}
    if type(event) in words:
        sys.stdout.write(f"{words[type(event)]}\n")
        sys.stdout.flush()


async def _main(url: str, folder: Path, session: Path, starts: list[str]) -> None:
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        state = json.loads(session.read_text(encoding="utf-8"))
        done = await explore(
            browser, wanted(url, starts, seconds=100), folder, tell=_tell, storage_state=state
        )
        sys.stdout.write(f"ended {done.ended_by} {done.pages}\n")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
