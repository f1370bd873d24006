"""The review of a map in the console: one key for each decision, in a real browser over embedded stores."""

from __future__ import annotations

import base64

import pytest

from kb_store import open_stores, read_knowledge
from tests.loaders.map_review.test_map_review import both, edge, knowledge_of, screen
from tests.periplus.console.console_site import console

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
async def page(browser):
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


async def test_doubts_are_decided_with_one_key_each(page, tmp_path):
    pictures = tmp_path / "maps" / "shop" / "pictures"
    pictures.mkdir(parents=True)
    (pictures / "milestone.png").write_bytes(PNG)
    knowledge = knowledge_of(
        screen("home", labels=("Search", "Issues", "Users")), screen("milestone"), screen("other", "Milestone"),
        screen("issue_20", "Issue 20", ("Reply",)), screen("dead", "Calendar", ("Day",)),
        *both("home", "milestone", "other", "issue_20"), edge("home", "dead"),
    )  # fmt: skip
    async with console(tmp_path, knowledge) as there:
        await page.goto(there.at("/sites/shop/review"))
        assert await page.get_by_text("1 of 3").count() == 1
        shown = page.get_by_alt_text("Screenshot of Milestone")
        assert await shown.evaluate("img => img.decode().then(() => img.naturalWidth)") == 1
        await page.keyboard.press("m")
        await page.get_by_text("1 of 2").wait_for()
        await page.keyboard.press("s")
        await page.get_by_text("2 of 2").wait_for()
        await page.keyboard.press("k")
        await page.get_by_text("1 of 1").wait_for()
        await page.get_by_label("New name").fill("")
        await page.get_by_role("heading", level=1).click()
        await page.keyboard.press("r")
        await page.keyboard.type("Issue details")
        await page.keyboard.press("Enter")
        await page.get_by_text("Nothing is doubtful").wait_for()
        async with open_stores(tmp_path) as stores:
            stored = (await read_knowledge(stores.documents, stores.graph, "shop"))[0]
        assert set(stored.screens) == {"home", "milestone", "issue_details", "dead"}
        assert stored.screens["dead"].metadata["reviewed"] == ["no_way_back"]
