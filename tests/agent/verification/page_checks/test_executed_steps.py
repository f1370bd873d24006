"""A step that was executed is reported with a locator to copy and with the action's own name."""

from __future__ import annotations

from agent.playwright_locators.locator_proof import to_locator
from agent.verification.page_checks import build_plan, execute_step, open_first_page
from kb_schema.verification import ExecutedStep
from tests.agent.verification.page_checks.conftest import requirement

PAGE = """<form onsubmit="return false"><label>Kind <select><option>Serum</option><option>Blood</option></select></label>
<label>Name <input></label><label>Note <input></label><input type=checkbox aria-label=Urgent><button>Save</button></form>"""


async def test_a_step_has_the_locator_and_the_name_that_requirements_give_its_action(site, open_site_page):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        wanted = requirement(
            "Kind | select | Blood", "Name | type | Ann", "Note | fill | x", "Urgent | check", "Save | click", " | | | title:A page"
        )  # fmt: skip
        plan = await build_plan(site_page, wanted)
        await open_first_page(site_page, "/")
        done = [await execute_step(site_page, each) for each in plan.steps]
        assert all(isinstance(each, ExecutedStep) for each in done), done
        assert [(each.action, each.locator) for each in done] == [
            ("select", 'page.get_by_label("Kind")'),
            ("type", 'page.get_by_label("Name")'),
            ("fill", 'page.get_by_label("Note")'),
            ("check", 'page.get_by_role("checkbox", name="Urgent")'),
            ("click", 'page.get_by_role("button", name="Save")'),
            ("", None),
        ]
        for step in plan.steps[:-1]:
            assert await to_locator(site_page.page, step.expression).count() == 1


async def test_a_secret_is_in_no_locator(site, open_site_page):
    site.page("/", "<button>Pay hunter22</button>")
    async with open_site_page(secrets={"WORD": "hunter22"}) as site_page:
        plan = await build_plan(site_page, requirement("Pay | click"))
        await open_first_page(site_page, "/")
        done = await execute_step(site_page, plan.steps[0])
        told = done if isinstance(done, ExecutedStep) else done.executed
        assert told.locator is not None
        assert "hunter22" not in told.model_dump_json()
