"""What lies over a page is put away by its own control, and only where that agrees to nothing."""

from __future__ import annotations

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, open_first_page
from kb_schema.locator_expressions import to_source
from tests.agent.verification.page_checks.conftest import requirement

COVERED = """
<button onclick="document.querySelector('p').textContent = 'saved'">Save</button><p role=status></p>
<div role=dialog aria-label=Notice style="position:fixed;inset:0;background:white">{what}
<button onclick="this.parentElement.remove()">{closer}</button></div>
"""
WANTED = requirement("Save | click | | message:saved")


@pytest.mark.parametrize("closer", ["Decline", "\u00d7"])
async def test_a_notice_is_closed_and_the_plan_tells_of_it(closer, site, open_site_page):
    site.page("/", COVERED.format(what="We value your privacy", closer=closer))
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, WANTED)
    assert plan.missing == ()
    assert [each.name for each in plan.obstacles] == [closer]
    assert closer in to_source(plan.obstacles[0].expression)
    async with open_site_page() as site_page:
        await open_first_page(site_page, "/")
        done = await execute_step(site_page, plan.steps[0])
        assert not isinstance(done, FailedStep), done
        assert done.heal_round == 0


@pytest.mark.parametrize(
    ("what", "closer"),
    [
        ("A question", "Accept all"),
        ("A question", "Delete everything"),
        ("Cancel the booking of the boat Heron?", "Cancel"),
        ("Ann invites you to the crew.", "Decline"),
    ],
)
async def test_nothing_is_agreed_to_for_the_sake_of_what_lies_beneath(what, closer, site, open_site_page):
    site.page("/", COVERED.format(what=what, closer=closer))
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, WANTED)
        assert await site_page.page.get_by_role("dialog").count() == 1
    assert [each.step_idx for each in plan.missing] == [0]
    assert plan.obstacles == ()
