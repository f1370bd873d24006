"""What is entered in a form is no outcome of sending it: outcomes are judged when the press is answered."""

from __future__ import annotations

import asyncio

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, open_first_page
from tests.agent.verification.page_checks.conftest import HASTY, requirement

PAGE = """<main><h1>Group</h1><form aria-label=Group onsubmit="save(); return false"><label>Name <input id=named value=crew></label>
<label>Public <input type=checkbox id=shared></label><button>Edit</button></form><p id=said role=status></p></main><script>
async function save() {
  await fetch("/answer");
  said.textContent = "Edited";
  setTimeout(() => { if (window.forgets) { named.value = "crew"; shared.checked = false; } }, 20);
  setTimeout(() => { said.textContent = ""; }, 500);
}</script>"""


@pytest.mark.parametrize(
    ("forgets", "outcomes", "unmet"),
    [
        (False, "message:Edited; field_value:Name=boat; checked:Public", None),
        (True, "message:Edited; field_value:Name=boat", "field_value"),
        (True, "field_value:Name=boat", "field_value"),
        (True, "message:Edited; checked:Public", "checked"),
    ],
)
async def test_a_field_that_forgets_what_was_entered_is_noticed(
    forgets, outcomes, unmet, site, open_site_page
):
    site.page("/", PAGE)
    site.page("/answer", "done")
    async with open_site_page() as site_page:
        steps = (
            "Name | fill | boat | field_populated",
            "Public | check | | checked",
            f"Edit | click | | {outcomes}",
        )
        plan = await build_plan(site_page, requirement(*steps))
        assert plan.missing == ()

        async def answer_late(route):
            await asyncio.sleep(0.3)
            await route.fulfill(body="done")

        await site_page.page.route("**/answer", answer_late)
        await open_first_page(site_page, "/")
        await site_page.page.evaluate(f"window.forgets = {str(forgets).lower()}")
        site_page.policy = HASTY
        for step in plan.steps:
            done = await execute_step(site_page, step)
        if unmet is None:
            assert not isinstance(done, FailedStep), done.evidence.message
        else:
            assert isinstance(done, FailedStep)
            assert done.evidence.outcome.kind == unmet


async def test_a_press_that_is_never_answered_is_judged_at_the_end_of_its_time(site, open_site_page):
    site.page(
        "/",
        "<main><h1>Page</h1><button onclick=\"said.textContent='Ok'; fetch('/answer')\">Go</button><p id=said role=status></p></main>",
    )
    site.page("/answer", "done")
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement("Go | click | | message:Ok; visible:Go"))
        await site_page.page.route("**/answer", lambda _route: None)
        await open_first_page(site_page, "/")
        site_page.policy = HASTY
        done = await execute_step(site_page, plan.steps[0])
        assert not isinstance(done, FailedStep), done.evidence.message
