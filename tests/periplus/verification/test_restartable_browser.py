"""A verifier goes on with another browser when its own can no longer be used."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from agent import retry_limits
from agent.browser import browser_life
from agent.browser.browser_life import end_browser
from periplus.session_setup.browser_options import BrowserOptions
from periplus.verification.requirement_verifier import _RestartableBrowser

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")


def _kill_driver(browser):
    os.kill(browser_life._WATCHED[browser].processes.driver, signal.SIGKILL)


@pytest.mark.parametrize(
    "end", [_kill_driver, lambda browser: end_browser(browser, "by the test")], ids=["driver", "ended"]
)
async def test_a_browser_that_is_gone_is_replaced(chromium_path, end):
    async with _RestartableBrowser(BrowserOptions(headed=False), "chromium") as browsers:
        first = await browsers.get()
        assert await browsers.get() is first
        end(first)
        second = await browsers.get()
        assert second is not first
        assert browsers.alive
        page = await second.new_page()
        assert await page.title() == ""


async def test_a_browser_that_another_page_keeps_busy_is_waited_for_and_replaced(chromium_path, monkeypatch):
    """Else a page that comes after it would be opened there, and end with it."""
    monkeypatch.setattr(retry_limits, "BROWSER_ANSWER_S", 2.0)
    async with _RestartableBrowser(BrowserOptions(headed=False), "chromium") as browsers:
        first = await browsers.get()
        os.kill(browser_life._WATCHED[first].processes.driver, signal.SIGSTOP)
        second = await browsers.get()
        assert second is not first
        page = await second.new_page()
        assert await page.title() == ""
