"""What fills the browser's memory is ended, and its page says why."""

from __future__ import annotations

import sys
from html import escape

import pytest
from playwright.async_api import async_playwright

from agent.browser import memory_watch
from agent.browser.browser_processes import BrowserProcesses, Process
from agent.browser.launch import LaunchSettings, launch
from agent.browser.memory_watch import MemoryLimitInvalid, MemoryLimits, MemoryWatch
from agent.page import in_page_library
from agent.page.errors import PageGone
from agent.page.page_actions import perform_action
from agent.page.page_watchdog import page_deadline, read_end_reason, watch_context
from kb_schema.selectors import css
from tests.support.pages import show

BROWSER, PAGE, OTHER_PAGE, NETWORK, DRIVER = 1_000_001, 1_000_002, 1_000_003, 1_000_004, 1_000_005
"""Processes that do not exist."""
PROCESSES = BrowserProcesses(BROWSER, DRIVER)


@pytest.fixture
def ended(monkeypatch):
    """The processes that were ended."""
    pids: list[int] = []
    monkeypatch.setattr(memory_watch, "end_process", pids.append)
    monkeypatch.setattr(memory_watch, "SETTLE_S", 0.0)
    return pids


def _look(watch, *, browser=100, page=100, other=100, network=50, driver=100, cpu=(0, 0)):
    watch.look(
        [
            Process(BROWSER, False, browser, 0),
            Process(PAGE, True, page, cpu[0]),
            Process(OTHER_PAGE, True, other, cpu[1]),
            Process(NETWORK, False, network, 0),
            Process(DRIVER, False, driver, 0),
        ]
    )


def test_a_page_beyond_its_limit_is_ended_and_the_other_one_is_left_alone(ended):
    watch = MemoryWatch(PROCESSES, MemoryLimits(500, 0))
    _look(watch, page=500)
    assert (ended, watch.read_reason()) == ([], None)
    _look(watch, page=501)
    assert ended == [PAGE]
    assert watch.read_reason() == "its process took more than 500 MB of memory; the page was ended"


@pytest.mark.parametrize("full", ["browser", "network", "driver"])
def test_the_page_that_computes_most_is_the_cause_of_another_full_process(ended, full):
    watch = MemoryWatch(PROCESSES, MemoryLimits(500, 0))
    _look(watch, cpu=(5_000, 10))
    _look(watch, **{full: 600}, page=300, cpu=(5_001, 90))
    assert ended == [OTHER_PAGE]
    assert "this page was the busiest" in (watch.read_reason() or "")


def test_at_twice_the_limit_the_full_process_is_ended_itself(ended):
    watch = MemoryWatch(PROCESSES, MemoryLimits(500, 0))
    _look(watch, network=1_001)
    assert ended == [NETWORK]


@pytest.mark.parametrize("full", ["browser", "driver"])
def test_at_twice_the_limit_the_browser_is_ended_with_its_driver(ended, full):
    told = []
    watch = MemoryWatch(PROCESSES, MemoryLimits(500, 0), told.append)
    _look(watch, **{full: 1_001})
    assert ended == []
    assert told == ["a process of the browser took more than 1000 MB of memory; the browser was ended"]


def test_a_driver_that_passes_on_what_an_ended_page_had_sent_costs_no_other_page(ended):
    watch = MemoryWatch(PROCESSES, MemoryLimits(500, 0))
    _look(watch, driver=700, cpu=(90, 10))
    _look(watch, driver=690, cpu=(90, 90))
    assert ended == [PAGE]
    _look(watch, driver=720, cpu=(90, 200))
    assert ended == [PAGE, OTHER_PAGE]


def test_after_an_end_the_browser_may_pass_on_what_waits_before_another_page_counts_as_the_cause(
    ended, monkeypatch
):
    monkeypatch.setattr(memory_watch, "SETTLE_S", 600.0)
    watch = MemoryWatch(PROCESSES, MemoryLimits(500, 0))
    for _ in range(3):
        _look(watch, browser=700, cpu=(90, 10))
    assert ended == [PAGE]


def test_of_a_browser_beyond_its_limit_the_largest_page_is_ended(ended):
    watch = MemoryWatch(PROCESSES, MemoryLimits(0, 1_000))
    _look(watch, page=300, other=400)
    assert ended == []
    _look(watch, page=400, other=600)
    assert ended == [OTHER_PAGE]
    assert watch.peak_mb == 1_250


def test_zero_is_no_limit(ended):
    _look(MemoryWatch(PROCESSES, MemoryLimits(0, 0)), page=99_999, browser=99_999)
    assert ended == []


def test_the_limits_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("PERIPLUS_PAGE_MEMORY", "700")
    monkeypatch.setenv("PERIPLUS_BROWSER_MEMORY", "0")
    assert MemoryLimits.from_environment() == MemoryLimits(700, 0)
    monkeypatch.delenv("PERIPLUS_PAGE_MEMORY")
    monkeypatch.delenv("PERIPLUS_BROWSER_MEMORY")
    assert MemoryLimits.from_environment() == MemoryLimits(2_000, memory_watch._read_machine_mb() // 2)
    monkeypatch.setenv("PERIPLUS_PAGE_MEMORY", "2 GB")
    with pytest.raises(
        MemoryLimitInvalid,
        match="PERIPLUS_PAGE_MEMORY: expected a number of MB, 0 for no limit, found '2 GB'",
    ):
        MemoryLimits.from_environment()


GROWS = {
    "arrays": "setInterval(() => kept.push(new Uint8Array(4e6).fill(1)), 10)",
    "a worker's messages": "kept.push(new Worker(`data:text/javascript,while (true) postMessage('x'.repeat(20000))`))",
    "a worker's own memory": "kept.push(new Worker(`data:text/javascript,const kept = []; while (true) kept.push(new Uint8Array(4e6).fill(1))`))",
}


async def _press_and_wait(page):
    async with page_deadline(page, 120.0, "the test"):
        await perform_action(page, "click", selector=css("#go"))
        await page.wait_for_function("() => false", timeout=0)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")
@pytest.mark.parametrize("script", GROWS.values(), ids=GROWS)
async def test_a_page_that_grows_is_ended_with_the_reason_and_the_rest_works_on(script, chromium_path):
    async with async_playwright() as playwright:
        browser = await launch(playwright, settings=LaunchSettings(memory=MemoryLimits(400, 0)))
        context, other = await browser.new_context(), await browser.new_context()
        watch_context(context)
        await in_page_library.install(context)
        page, bystander = await context.new_page(), await other.new_page()
        await show(
            page, f'<script>kept = []</script><button id=go onclick="{escape(script)}">Go</button>', "/grows"
        )
        with pytest.raises(PageGone, match="its process took more than 400 MB of memory; the page was ended"):
            await _press_and_wait(page)
        assert "400 MB" in (read_end_reason(page) or "")
        await bystander.set_content("<h1>works</h1>")
        assert await bystander.inner_text("h1") == "works"
        await browser.close()
