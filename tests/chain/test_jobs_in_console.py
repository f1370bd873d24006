"""A task is run, watched and scheduled from the console, by somebody who sees names and never an id."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe

from kb_schema.service_records import Schedule, StoredJob
from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from tests.periplus.service.service_support import served

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
PICTURES = os.environ.get("PERIPLUS_TEST_PICTURES")
"""A folder for pictures of the pages, for looking at them."""


@pytest.fixture
async def service(tmp_path, site):
    knowledge = read_knowledge_folder(HARBOUR / "kb")[0]
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "smoke.csv").write_text("ReqID,StartPage,Element,Action\nREQ-1,/,Nothing,click\n")
    async with served(tmp_path, keyed=False, base_urls={"harbour": site.url}) as opened:
        yield opened


async def look_at(browser, service, path, name):
    """Open a page in each look: nothing is wider than the window, and axe finds nothing."""
    for look, options in LOOKS.items():
        context = await browser.new_context(**options)
        page = await context.new_page()
        answer = await page.goto(service.url + path)
        assert answer.status == 200, path
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(wide) <= 0, (path, look)
        found = (await Axe().run(page)).response["violations"]
        assert [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found] == []
        if PICTURES:
            await page.screenshot(path=f"{PICTURES}/{name}-{look.replace(' ', '-')}.png", full_page=True)
        await context.close()


async def test_a_task_is_run_and_watched_and_its_result_is_said_in_words(service, browser, site):
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}/jobs")
    assert "Nothing is running or waiting" in await page.locator("main").inner_text()
    await look_at(browser, service, "/jobs", "jobs-empty")
    await page.goto(f"{service.url}/sites/harbour/tasks/register_boat")
    await page.get_by_label("boat name").fill("Tern")
    await page.get_by_label("length").fill("6")
    await page.get_by_role("button", name="Run it now").click()
    await page.wait_for_url(re.compile(r"/jobs/[0-9a-f]+$"))
    heading = page.get_by_role("heading", level=1)
    assert "on Harbour" in await heading.inner_text()
    assert "register_boat" not in await heading.inner_text()
    # The page loads itself again until the job is over.
    await page.get_by_text("It worked").wait_for(timeout=60_000)
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]
    assert "Tern" in await page.locator("main").inner_text()
    await look_at(browser, service, page.url.removeprefix(service.url), "job-done")
    await page.get_by_role("link", name="Watch the run").click()
    run_path = page.url.removeprefix(service.url)
    assert "/runs/" in run_path
    pictures = page.locator(".shots img")
    assert await pictures.count() >= 4
    for picture in await pictures.all():
        await picture.scroll_into_view_if_needed()
        await picture.evaluate("image => image.decode()")
        assert await picture.evaluate("image => image.naturalWidth") == 1280
    await look_at(browser, service, run_path, "run")
    await page.goto(f"{service.url}/jobs")
    await look_at(browser, service, "/jobs", "jobs")
    assert await page.get_by_role("link", name="the run of").count() == 1
    await context.close()


async def test_a_schedule_is_made_with_a_form_and_paused_and_deleted(service, browser):
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}/sites/harbour/tasks/register_boat")
    await page.get_by_label("boat name").fill("Tern")
    await page.get_by_label("length").fill("6")
    await page.get_by_text("On a schedule instead").click()
    await look_at(browser, service, "/sites/harbour/tasks/register_boat", "task")
    await page.get_by_label("When (cron expression)").fill("0 6 * *")
    await page.get_by_role("button", name="Make the schedule").click()
    said = await page.locator("main").inner_text()
    assert "fields" in said or "cron" in said, said
    await page.go_back()
    await page.get_by_label("boat name").fill("Tern")
    await page.get_by_label("length").fill("6")
    await page.get_by_text("On a schedule instead").click()
    await page.get_by_label("Name of the schedule").fill("Each workday")
    await page.get_by_label("When (cron expression)").fill("0 6 * * 1-5")
    await page.get_by_label("Time zone").fill("Europe/Berlin")
    await page.get_by_role("button", name="Make the schedule").click()
    row = page.get_by_role("row", name="Each workday")
    assert "At 06:00 on Monday through Friday" in await row.inner_text()
    await look_at(browser, service, "/jobs", "schedules")
    await page.get_by_role("button", name="Pause Each workday").click()
    assert "paused" in await row.inner_text()
    await page.get_by_role("button", name="Resume Each workday").click()
    assert "paused" not in await row.inner_text()
    (schedule,) = await service.console.jobs.records.select(Schedule)
    assert (schedule.cron, schedule.zone, schedule.order.values["boat_name"]) == (
        "0 6 * * 1-5", "Europe/Berlin", "Tern",
    )  # fmt: skip
    await page.get_by_role("button", name="Delete Each workday").click()
    assert "No schedules yet" in await page.locator("main").inner_text()
    assert not await service.console.jobs.records.select(Schedule)
    await context.close()


async def test_requirements_are_verified_from_the_page_and_what_was_printed_is_shown(service, browser):
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}/jobs")
    await page.get_by_label("Files").select_option("smoke.csv")
    await page.get_by_label("Site", exact=True).select_option(index=1)
    await page.get_by_role("button", name="Verify").click()
    await page.get_by_role("button", name="Run it again").wait_for(timeout=90_000)
    await look_at(browser, service, page.url.removeprefix(service.url), "job-verification")
    assert "REQ-1" in await page.locator("pre.output").inner_text()
    (job,) = await service.console.jobs.records.select(StoredJob)
    assert (job.state, job.outcome) == ("ended", "failure")
    await context.close()
