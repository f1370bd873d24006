"""A browser that is started ahead is the one whose contexts are opened; it ends with its job, used or not."""

import asyncio
import os
import stat

import pytest

from agent.browser.launch import find_chromium
from periplus.errors import UserError
from periplus.session_setup.browser_ahead import browser_ahead
from periplus.session_setup.browser_options import BrowserOptions

HEADLESS = BrowserOptions(headed=False)


@pytest.fixture
def counted_browser(tmp_path, monkeypatch):
    """A Chromium that notes each of its starts; returns the file with the process ids."""
    real, notes, script = find_chromium(), tmp_path / "started", tmp_path / "chromium"
    script.write_text(f'#!/bin/sh\necho $$ >> "{notes}"\nexec "{real}" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PERIPLUS_CHROMIUM", str(script))
    return notes


def _is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("ahead", [True, False])
async def test_one_browser_is_started_whether_ahead_or_with_the_context(counted_browser, ahead):
    async with browser_ahead(HEADLESS) as browser:
        if ahead:
            browser.start()
        async with browser.open() as context:
            page = await context.new_page()
            await page.set_content("<h1>Here</h1>")
            assert await page.inner_text("h1") == "Here"
    pids = counted_browser.read_text().split()
    assert len(pids) == 1
    assert not _is_running(int(pids[0]))


async def test_a_browser_that_nobody_used_is_closed(counted_browser):
    async with browser_ahead(HEADLESS) as browser:
        browser.start()
        await asyncio.wait_for(asyncio.shield(browser._ready), 30)
    assert not _is_running(int(counted_browser.read_text()))


async def test_a_job_that_ends_while_its_browser_starts_does_not_wait_for_it(counted_browser):
    async with browser_ahead(HEADLESS) as browser:
        browser.start()
    assert not counted_browser.exists()


async def test_a_browser_that_cannot_start_is_an_error_where_it_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_CHROMIUM", str(tmp_path / "none"))
    async with browser_ahead(HEADLESS) as browser:
        browser.start()
        with pytest.raises(UserError, match="no Chromium found"):
            async with browser.open():
                pytest.fail("there is no browser")
    async with browser_ahead(HEADLESS) as browser:
        browser.start()  # nobody asks for the error, and nothing is printed


@pytest.mark.parametrize(
    "options", [BrowserOptions(cdp_endpoint="http://127.0.0.1:9222"), BrowserOptions(user_data_dir="profile")]
)
async def test_what_belongs_to_a_person_is_not_opened_ahead(options):
    async with browser_ahead(options) as browser:
        browser.start()
        assert browser._task is None
