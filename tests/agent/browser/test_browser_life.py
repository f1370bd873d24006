"""A browser that does not answer is ended with its driver, and what waits for either ends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from playwright.async_api import Error as DriverError
from playwright.async_api import async_playwright

from agent import retry_limits
from agent.browser import browser_life
from agent.browser.browser_life import close_browser, is_alive, read_end_reason
from agent.browser.browser_processes import BrowserProcesses, is_running
from agent.browser.launch import LaunchSettings, find_chromium, launch
from agent.page.errors import PageGone
from agent.page.page_watchdog import close_context, page_deadline

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")

WRAPPER = """#!/bin/sh
"{chromium}" "$@"
"""


def _processes(browser) -> BrowserProcesses:
    return browser_life._WATCHED[browser].processes


@pytest.fixture
async def own():
    """A browser of its own, which the test may end."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        processes = _processes(browser)
        yield browser
        for pid in processes:
            if is_running(pid):
                os.kill(pid, signal.SIGCONT)
        await close_browser(browser)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(retry_limits, "BROWSER_ANSWER_S", 2.0)


@pytest.mark.parametrize("part", ["browser", "driver"])
async def test_a_browser_that_does_not_answer_is_ended_and_what_waits_for_it_ends(impatient, own, part):
    context = await own.new_context()
    page = await context.new_page()
    os.kill(getattr(_processes(own), part), signal.SIGSTOP)
    waiting = (own.new_context(), page.screenshot(), page.title(), page.evaluate("new Promise(() => {})"))
    said = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 60)
    assert all(isinstance(each, DriverError) for each in said), said
    assert not is_alive(own)
    await _wait_until_ended(_processes(own))
    await asyncio.wait_for(close_context(context), 5)
    await asyncio.wait_for(close_browser(own), 5)


async def test_the_only_page_of_a_browser_that_does_not_answer_has_failed_with_its_reason(impatient, own):
    page = await (await own.new_context()).new_page()
    os.kill(_processes(own).driver, signal.SIGSTOP)
    with pytest.raises(PageGone, match="the browser did not answer for 2 s and was ended"):
        async with page_deadline(page, 60.0, "the test"):
            await page.title()


async def test_of_several_pages_none_is_blamed_for_the_browser(impatient, own):
    pages = [await (await own.new_context()).new_page() for _ in range(2)]
    os.kill(_processes(own).driver, signal.SIGSTOP)
    with pytest.raises(DriverError, match="closed"):
        async with page_deadline(pages[0], 60.0, "the test"):
            await pages[0].title()
    assert read_end_reason(own) is None


async def test_a_page_is_not_blamed_if_another_one_was_open_since_the_last_answer(own):
    other = await own.new_context()
    page = await (await own.new_context()).new_page()
    await other.close()
    browser_life.end_browser(own, "ended by the test")
    with pytest.raises(DriverError, match="closed"):
        async with page_deadline(page, 60.0, "the test"):
            await page.title()


async def test_a_browser_that_answers_is_left_alone(monkeypatch):
    monkeypatch.setattr(retry_limits, "BROWSER_ANSWER_S", 0.6)
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        page = await browser.new_page()
        await page.evaluate("new Promise((done) => setTimeout(done, 2000))")
        assert is_alive(browser)
        await close_browser(browser)


async def test_a_browser_whose_driver_has_ended_is_not_alive(own):
    assert is_alive(own)
    os.kill(_processes(own).driver, signal.SIGKILL)
    with pytest.raises(DriverError):
        await own.new_context()
    assert not is_alive(own)


async def test_a_browser_that_does_not_close_is_ended(monkeypatch, own):
    monkeypatch.setattr(browser_life, "CLOSE_S", 0.5)
    processes = _processes(own)
    os.kill(processes.driver, signal.SIGSTOP)
    await asyncio.wait_for(close_browser(own), 10)
    await _wait_until_ended(processes)


async def test_the_driver_is_found_above_a_script_that_starts_the_browser(tmp_path):
    script = tmp_path / "chromium"
    script.write_text(WRAPPER.format(chromium=shutil.which(find_chromium() or "")))
    script.chmod(0o700)
    async with async_playwright() as playwright:
        browser = await launch(playwright, settings=LaunchSettings(executable=str(script)))
        command = (await asyncio.to_thread(_read_command, _processes(browser).driver)).lower()
        await close_browser(browser)
    assert b"node" in command
    assert b"chromium" not in command


async def _wait_until_ended(processes: BrowserProcesses) -> None:
    async with asyncio.timeout(30):
        while any(map(is_running, processes)):  # noqa: ASYNC110 - the system has no event for it
            await asyncio.sleep(0.05)


def _read_command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
