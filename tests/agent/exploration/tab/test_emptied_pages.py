"""A page is emptied before it is closed, so that no request that the guard holds is sent."""

from __future__ import annotations

import asyncio

from agent.exploration.tab import exploration_tab
from agent.page.page_watchdog import read_end_reason
from tests.agent.exploration.small_site import small_site


async def test_a_page_that_cannot_be_emptied_is_ended(browser, monkeypatch):
    monkeypatch.setattr(exploration_tab, "EMPTYING_S", 0.0)
    context = await browser.new_context()
    page = await context.new_page()
    await exploration_tab.empty_page(page)
    assert "could not be emptied" in (read_end_reason(page) or "")
    await context.close()


async def test_a_page_that_can_be_emptied_is_not_ended(browser):
    context = await browser.new_context()
    page = await context.new_page()
    await page.set_content("<p>full</p>")
    await exploration_tab.empty_page(page)
    assert read_end_reason(page) is None
    assert await page.locator("p").count() == 0
    await context.close()


async def test_windows_close_after_they_were_emptied(browser):
    """With an empty page that was only committed, one in six stayed open."""
    with small_site({"*": "<a href=/window target=_blank rel=noreferrer>Window</a>"}) as site:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(site.url)
        for _ in range(25):
            async with context.expect_page() as opening:
                await page.click("a")
            window = await opening.value
            await window.wait_for_load_state()
            await exploration_tab.empty_page(window)
            async with asyncio.timeout(5):
                await window.close()
        await context.close()
