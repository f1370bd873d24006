"""The means of the metrics of runs, on a page of the console."""

from __future__ import annotations

from datetime import UTC, datetime

from kb_schema.run_records import Metric, StoredRun
from kb_store.store_factory import open_runs
from tests.mcp_server import pantry
from tests.periplus.console.console_site import console

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNS = (("a", "pantry", 100.0), ("b", "pantry", 80.0), ("c", "other", 0.0))


async def test_averages_of_runs_are_shown_for_one_website_or_all(browser, tmp_path):
    async with open_runs(tmp_path) as runs:
        for run_id, website, value in RUNS:
            await runs.begin_run(
                StoredRun(
                    run_id=run_id,
                    url="http://x/",
                    started_at=NOW,
                    website_id=website,
                    kind="task",
                    subject="t",
                )
            )
            await runs.add_metric(
                Metric(
                    run_id=run_id, metric_name="completion_percentage", metric_value=value, recorded_at=NOW
                )
            )
    context = await browser.new_context()
    page = await context.new_page()
    async with console(tmp_path, pantry.knowledge()) as there:
        await page.goto(there.at("/runs?site=pantry"))
        await page.get_by_role("link", name="Averages").click()
        region = page.get_by_role("region", name="Averages")
        assert "Means of 2 runs" in await region.inner_text()
        assert "90" in await region.get_by_role("row", name="completion percentage").inner_text()
        await page.get_by_label("Website").select_option("")
        await page.get_by_role("button", name="Show").click()
        await region.get_by_text("Means of 3 runs").wait_for()
        assert "60" in await region.get_by_role("row", name="completion percentage").inner_text()
        await page.goto(there.at("/runs/averages?site=nowhere"))
        assert "No run with metrics yet" in await page.locator("main").inner_text()
    await context.close()
