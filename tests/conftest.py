"""What every test may ask for: one Chromium per worker, a fresh page, and ffmpeg where it is needed."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from playwright.async_api import async_playwright

from agent.browser.launch import BrowserMissing, find_chromium, launch
from tests.support import budget, rotation
from tests.support.mongod import (  # noqa: F401 - fixtures
    _reused,
    _stoppable,
    emptied_mongodb_url,
    mongodb_server,
    mongodb_url,
    own_mongod,
)
from tests.support.needs import lacking

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, BrowserContext, Page, ViewportSize

os.environ.setdefault("PERIPLUS_KEYRING", "0")  # no test waits for a person's keyring to be unlocked

settings.register_profile("periplus", deadline=None)  # no test is red because the machine is busy
settings.load_profile("periplus")

VIEWPORT: ViewportSize = {"width": 1280, "height": 720}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of tests marked `sampled(share)` that share is in the normal run, drawn anew each time; the nightly has all.

    With `together=True` all tests of a file are drawn, or none: where what they share is what takes long.
    """
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            continue
        drawn = item.location[0] if mark.kwargs.get("together") else item.nodeid
        if rotation.dice(drawn).random() >= mark.args[0]:
            item.add_marker(pytest.mark.nightly)
    budget.draw(items)


def pytest_configure(config: pytest.Config) -> None:
    """Where the table of durations is to be written anew, whoever started the workers does it."""
    if os.environ.get("PERIPLUS_TEST_DURATIONS") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(budget.Stopwatch())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How to draw the same samples again."""
    terminalreporter.write_line(f"rotating samples: {rotation.VARIABLE}={rotation.SEED}")


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The Chromium the tests use; without one they fail and say what to install."""
    path = find_chromium()
    if path is None:
        raise BrowserMissing
    return path


@pytest.fixture(scope="session")
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    """One headless Chromium per worker."""
    async with async_playwright() as playwright:
        started = await launch(playwright)
        yield started
        await started.close()


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A browser context of the test's own: no cookies, 1280 x 720."""
    opened = await browser.new_context(viewport=VIEWPORT)
    yield opened
    await opened.close()


@pytest.fixture
async def page(context: BrowserContext) -> Page:
    """A blank page in a context of its own."""
    return await context.new_page()


def _need(program: str) -> None:
    if shutil.which(program) is None:
        lacking(f"{program} is not installed; `make setup` installs it or says how")


@pytest.fixture(scope="session")
def ffmpeg() -> None:
    """Ask for this in tests that make or read video."""
    _need("ffmpeg")
    _need("ffprobe")


@pytest.fixture(scope="session")
def espeak() -> None:
    """Ask for this in tests that speak."""
    _need("espeak-ng")
