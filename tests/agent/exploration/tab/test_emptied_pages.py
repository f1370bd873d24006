"""A page is emptied before it is closed, so that no request that the guard holds is sent."""

from __future__ import annotations

from agent.exploration.tab import exploration_tab
from agent.page.page_watchdog import read_end_reason


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
