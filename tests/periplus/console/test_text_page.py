"""Texts of tasks, screens and flows are changed in the console, and the history says who changed what, and puts it back."""

from __future__ import annotations

import pytest

from kb_store import open_stores, read_knowledge
from loaders.edits.knowledge_edit import EditRefused
from loaders.edits.text_edit import list_texts, set_text
from tests.periplus.console.console_site import SITE, console, seed_knowledge


async def stored(data):
    async with open_stores(data) as stores:
        return (await read_knowledge(stores.documents, stores.graph, SITE))[0]


async def test_a_description_is_changed_and_put_back_from_its_history(browser, tmp_path):
    context = await browser.new_context()
    page = await context.new_page()
    before = seed_knowledge().tasks["create_agent"].description
    async with console(tmp_path, seed_knowledge()) as there:
        await page.goto(there.at(f"/sites/{SITE}/tasks/create_agent"))
        await page.get_by_role("link", name="Texts and their history").click()
        assert "Nothing was changed here yet" in await page.locator("main").inner_text()
        await page.get_by_label("Description", exact=True).fill("Makes a <b>voice</b> agent.")
        await page.get_by_role("button", name="Save Description", exact=True).click()
        row = page.get_by_role("region", name="History").get_by_role("row", name="this machine")
        assert "Makes a <b>voice</b> agent." in await row.inner_text()
        assert (await stored(tmp_path)).tasks["create_agent"].description == "Makes a <b>voice</b> agent."
        await page.get_by_role("button", name="Put back Description").click()
        await page.wait_for_load_state()
        assert (await stored(tmp_path)).tasks["create_agent"].description == before
        assert await page.get_by_role("region", name="History").get_by_role("row").count() == 3
        await page.goto(there.at(f"/sites/{SITE}/texts/task/create_agnt"))
        assert "create_agent" in await page.locator("main").inner_text()  # what was probably meant
    await context.close()


@pytest.mark.parametrize(
    ("kind", "document", "field"),
    [
        ("screen", "dashboard", "name"),
        ("screen", "dashboard", "description"),
        ("task", "create_agent", "input.agent_name"),
        ("flow", "spadeworks_demo", None),
    ],
)
def test_each_text_of_a_document_can_be_changed_and_nothing_else_changes(kind, document, field):
    knowledge = seed_knowledge()
    held = {"screen": knowledge.screens, "task": knowledge.tasks, "flow": knowledge.flows}[kind][document]
    wanted = field or next(each.field for each in list_texts(held) if each.field.startswith("segment."))
    edit = set_text(knowledge, kind, document, wanted, "  Another text ")
    after = {"screen": edit.knowledge.screens, "task": edit.knowledge.tasks, "flow": edit.knowledge.flows}[
        kind
    ]
    texts = {each.field: each.text for each in list_texts(after[document])}
    assert texts == {**{each.field: each.text for each in list_texts(held)}, wanted: "Another text"}
    assert edit.renamed == {}
    others = [each for each in knowledge.documents() if (each.kind, each.local_id) != (held.kind, document)]
    assert [
        each for each in edit.knowledge.documents() if (each.kind, each.local_id) != (held.kind, document)
    ] == others


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("name", " ", "name is empty"),
        ("steps", "x", "has no text 'steps'"),
        ("input.none", "x", "has no text"),
    ],
)
def test_what_is_no_text_or_may_not_be_empty_is_refused(field, text, said):
    with pytest.raises(EditRefused) as refused:
        set_text(seed_knowledge(), "task", "create_agent", field, text)
    assert said in refused.value.message
    assert refused.value.fix
