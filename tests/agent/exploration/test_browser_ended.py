"""A browser or driver that ends during an exploration: what was seen is kept, and nothing says that it was done."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from agent.browser import browser_life
from agent.browser.browser_life import close_browser
from agent.browser.browser_processes import end_process
from agent.browser.launch import launch
from agent.exploration.exploration_events import ExplorationEnded, MapEvent, PageFound
from agent.exploration.website_exploration import BrowserEnded, explore
from kb_schema.exploration_folder import ExplorationFolder
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_run import MapRunPlan, map_website
from tests.agent.exploration.small_site import html, small_site

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")
PAGES = {
    "/": html("Home", "<nav><a href='/one'>One</a> <a href='/two'>Two</a></nav>"),
    "*": html("Page", "<nav><a href='/'>Home</a></nav>"),
}


@pytest.fixture
async def own() -> AsyncIterator[Browser]:
    """A browser of its own, which the test may end."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        processes = browser_life._WATCHED[browser].processes
        yield browser
        end_process(processes.browser)
        await close_browser(browser)


def _end_driver(browser: Browser) -> None:
    os.kill(browser_life._WATCHED[browser].processes.driver, signal.SIGKILL)


async def test_an_exploration_whose_driver_ends_keeps_its_pages_and_is_not_done(
    own: Browser, tmp_path: Path
) -> None:
    told: list[MapEvent] = []

    def tell(event: MapEvent) -> None:
        told.append(event)
        if isinstance(event, PageFound):
            _end_driver(own)

    with small_site(PAGES) as site, pytest.raises(BrowserEnded) as ended:
        await explore(own, site.wanted(), tmp_path, tell=tell)
    folder = ExplorationFolder(tmp_path)
    assert len(folder.pages()) == ended.value.pages == 1
    assert folder.exploration.ended_by is None
    assert not any(isinstance(each, ExplorationEnded) for each in told)


class _View:
    """What a map shows; ends the driver when a page is found, or before anything is."""

    def __init__(self, browser: Browser, *, at_once: bool) -> None:
        self._browser = browser
        if at_once:
            _end_driver(browser)

    def __call__(self, event: MapEvent) -> None:
        if isinstance(event, PageFound):
            _end_driver(self._browser)

    def say(self, text: str) -> None:
        pass


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_map_whose_driver_ends_fails_with_exit_code_1_and_says_what_was_kept(
    own: Browser, tmp_path: Path, at_once: bool
) -> None:
    folder = MapFolder(tmp_path / "map")
    with small_site(PAGES) as site:
        plan = MapRunPlan("small", site.url, folder)
        with pytest.raises(UserError) as failed:
            await map_website(own, plan, None, _View(own, at_once=at_once))  # type: ignore[arg-type]
    assert failed.value.code == ExitCode.FAILED
    assert "ended during the exploration" in failed.value.message
    assert ("1 page" in failed.value.message) is not at_once
    assert not folder.knowledge.exists()
    assert folder.exploration.exists is not at_once
