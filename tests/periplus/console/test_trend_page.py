"""Trends over runs on a page: names instead of ids, numbers beside the chart, and links to what failed."""

from __future__ import annotations

import os
from datetime import date

from axe_playwright_python.async_playwright import Axe

from periplus.console.trend_page import HEIGHT, build_bars
from periplus.runs.run_trends import DayTrend
from tests.periplus.console.console_site import SITE, console, seed_knowledge

PICTURES = os.environ.get("PERIPLUS_TEST_PICTURES")


async def test_the_page_says_what_passed_by_name_and_leads_to_the_failure(browser, tmp_path):
    async with console(tmp_path, seed_knowledge()) as there:
        for look in (
            {"viewport": {"width": 1280, "height": 900}},
            {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
        ):
            context = await browser.new_context(**look)
            page = await context.new_page()
            await page.goto(there.at("/runs"))
            await page.get_by_role("link", name="Trends").click()
            said = await page.locator("main").inner_text()
            assert "2 runs in 14 days" in said
            row = page.get_by_role("region", name="Runs by task").get_by_role("row", name="Create")
            assert "50 %" in await row.inner_text()
            assert "create_agent" not in said
            assert (await Axe().run(page)).response["violations"] == []
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await page.evaluate(wide) <= 0
            if PICTURES:
                await page.screenshot(
                    path=f"{PICTURES}/trends-{look['viewport']['width']}.png", full_page=True
                )
            await row.get_by_role("link", name="why").click()
            assert page.url.endswith(f"/runs/{SITE}-bad")
            assert "Spadeworks" in await page.get_by_role("navigation", name="Breadcrumb").inner_text()
            await page.goto(there.at("/runs/trends?site=nowhere&days=7"))
            assert "No run ended in the last 7 days" in await page.locator("main").inner_text()
            await context.close()


def test_the_day_with_the_most_runs_is_as_high_as_the_chart():
    days = (DayTrend(date(2026, 3, 1), 2, 1, 1, 0, None), DayTrend(date(2026, 3, 2), 1, 0, 0, 0, None))
    first, second = build_bars(days)
    assert first.passed + first.other + first.failed == HEIGHT
    assert (second.passed, second.failed) == (HEIGHT / 4, 0)
