"""Renaming and merging on a screen's page, in a real browser over embedded stores."""

from __future__ import annotations

import pytest

from kb_store import open_stores, read_knowledge
from tests.periplus.console.console_site import SITE, console, seed_knowledge


async def stored(data):
    async with open_stores(data) as stores:
        return (await read_knowledge(stores.documents, stores.graph, SITE))[0]


@pytest.fixture
async def page(browser):
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


async def test_a_screen_is_renamed_and_merged_on_its_page(page, tmp_path):
    async with console(tmp_path, seed_knowledge()) as there:
        await page.goto(there.at(f"/sites/{SITE}/screens/agent_list"))
        await page.get_by_text("Rename or merge").click()
        await page.get_by_label("Name").fill("All agents")
        await page.get_by_role("button", name="Rename").click()
        await page.wait_for_url("**/screens/all_agents")
        assert await page.get_by_role("heading", level=1).inner_text() == "All agents"
        assert (await stored(tmp_path)).tasks["search_agent"].steps[0].action.target_screen == "all_agents"
        await page.get_by_text("Rename or merge").click()
        await page.get_by_label("The same screen as").select_option("contacts_list")
        await page.get_by_role("button", name="Merge it into this one").click()
        await page.wait_for_load_state()
        knowledge = await stored(tmp_path)
        assert "contacts_list" not in knowledge.screens
        assert knowledge.tasks["browse_contacts"].steps[0].action.target_screen == "all_agents"


async def test_a_name_that_is_taken_is_refused_with_the_fix(page, tmp_path):
    async with console(tmp_path, seed_knowledge()) as there:
        await page.goto(there.at(f"/sites/{SITE}/screens/agent_list"))
        await page.get_by_text("Rename or merge").click()
        await page.get_by_label("Name").fill("agent edit")
        await page.get_by_role("button", name="Rename").click()
        await page.get_by_text("there is a screen 'agent_edit' already").wait_for()
        assert "agent_list" in (await stored(tmp_path)).screens
