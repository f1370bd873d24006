"""A step stays in the row that its requirement names, whatever its stored selector tells the row by."""

from __future__ import annotations

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, heal_step, open_first_page
from kb_schema.selectors import Selector
from tests.agent.verification.page_checks.conftest import HASTY, requirement

PAGE = """<main><h1>Watches</h1><table>
<tr><td><span>{fig}</span></td><td>Fig page</td><td><button onclick="said.textContent = 'Fig'">Edit</button></td></tr>
<tr><td><span>{pear}</span></td><td>Pear page</td><td><button onclick="said.textContent = 'Pear'">Edit</button></td></tr>
</table><p role=status id=said></p></main>"""
BY_STATE = Selector.model_validate(
    {"strategies": [{"type": "xpath", "value": "//tr[.//span[normalize-space()='Fetching']]//button"}]}
)
SETTINGS = """<nav><ul><li><a href="#s">Settings</a></li></ul></nav><main><section><h2>{heading}</h2>
<button onclick="said.textContent = 'Saved'">Save</button></section><p role=status id=said></p></main>"""
TICKS = """<main><table><tr><td>Fig</td><td><label><input type=checkbox style="position:absolute;opacity:0;width:0;height:0"
onchange="said.textContent = 'Fig'"><span style="display:inline-block;width:20px;height:20px;background:red"></span>Watched</label></td></tr>
<tr><td>Pear</td><td></td></tr></table><p role=status id=said></p></main>"""


@pytest.mark.parametrize("fig", ["Fetching", "Idle"])
async def test_a_row_that_is_told_by_its_state_is_looked_for_by_its_name(site, open_site_page, fig):
    site.page("/", PAGE.format(fig="Idle", pear="Fetching"))
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement("Edit@Pear page | click | | shows:Pear"))
        step = plan.steps[0].model_copy(update={"selector": BY_STATE})
        site.page("/", PAGE.format(fig=fig, pear="Idle"))
        await open_first_page(site_page, "/")
        site_page.policy = HASTY
        undone = await execute_step(site_page, step)
        assert isinstance(undone, FailedStep), undone
        assert await site_page.page.inner_text("#said") == "", "nothing was pressed"
        healing = await heal_step(site_page, step, undone, 1)
        assert healing.event.success, healing.event.reason
        done = await execute_step(site_page, healing.step, heal_round=1)
        assert not isinstance(done, FailedStep), done
        assert await site_page.page.inner_text("#said") == "Pear"


@pytest.mark.parametrize("heading", ["Settings", "Preferences"])
async def test_an_entry_of_a_menu_is_not_taken_for_the_section_of_its_name(site, open_site_page, heading):
    site.page("/", SETTINGS.format(heading="Settings"))
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement("Save@Settings | click | | shows:Saved"))
        site.page("/", SETTINGS.format(heading=heading))
        await open_first_page(site_page, "/")
        site_page.policy = HASTY
        done = await execute_step(site_page, plan.steps[0])
        assert not isinstance(done, FailedStep), done


async def test_a_hidden_box_stands_in_its_row(site, open_site_page):
    site.page("/", TICKS)
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement("Watched@Fig | check | | shows:Fig"))
        await open_first_page(site_page, "/")
        site_page.policy = HASTY
        done = await execute_step(site_page, plan.steps[0])
        assert not isinstance(done, FailedStep), done
