"""Outcomes that name an element by words hold only for an element with these words, unless it was healed."""

from __future__ import annotations

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, heal_step, open_first_page
from agent.verification.root_cause import classify
from tests.agent.verification.page_checks.conftest import HASTY, requirement

PAGE = """<main><h1>Order</h1><a href="#" onclick="said.textContent = 'Open'">Open</a>
<form aria-label=Order onsubmit="return false"><label>Name <input name=who></label><label>Note <input name=note></label>
<button id=keep onclick="said.textContent = 'Kept'; {more}">Reserve</button></form>
<dl><dt>Total</dt><dd>42</dd></dl><p role=status id=said></p></main>"""
RENAMED = "keep.textContent = 'Hold on'"


async def execute_changed(site, open_site_page, steps, change, *, more="", at=0):
    """Build the plan, change the page, execute one step, and run one round of healing if it fails."""
    site.page("/", PAGE.format(more=more))
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement(*steps))
        assert not plan.missing, plan.missing
        await open_first_page(site_page, "/")
        await site_page.page.evaluate(f"() => {{ {change} }}")
        site_page.policy, site_page.plan = HASTY, plan.steps
        done = await execute_step(site_page, plan.steps[at])
        if not isinstance(done, FailedStep):
            return done, None, None
        healing = await heal_step(site_page, plan.steps[at], done, 1)
        again = await execute_step(site_page, healing.step, heal_round=1) if healing.event.success else None
        return done, healing, again


@pytest.mark.parametrize(
    "steps",
    [("Open | click | | visible:Reserve",), ("Open | click | | enabled:Reserve",)],
)
@pytest.mark.parametrize("change", [RENAMED, f"{RENAMED}; keep.id = 'other'"])
async def test_a_position_does_not_hold_an_outcome_that_names_words(site, open_site_page, steps, change):
    done, healing, _ = await execute_changed(site, open_site_page, steps, change)
    assert isinstance(done, FailedStep), "held by a button 'Hold on'"
    assert "no element has these words" in done.evidence.message
    assert "button 'Hold on'" in done.evidence.message
    assert done.evidence.matched == 0
    assert not healing.event.success, "no step acts on it, so that a wrong element would not be noticed"


async def test_the_value_beside_other_words_is_not_the_named_one(site, open_site_page):
    change = "document.querySelector('dt').textContent = 'Deposit'"
    done, _, _ = await execute_changed(site, open_site_page, ("Open | click | | text:Total=42",), change)
    assert isinstance(done, FailedStep)


async def test_more_words_capitals_and_a_role_are_the_same_words(site, open_site_page):
    steps = ("Open | click | | visible:Reserve button; text:Total=42",)
    for words in ("Reserve now", "RESERVE"):
        done, _, _ = await execute_changed(site, open_site_page, steps, f"keep.textContent = '{words}'")
        assert not isinstance(done, FailedStep), done.evidence.message


async def test_an_element_that_a_later_step_acts_on_is_healed_as_that_step_would_and_says_so(
    site, open_site_page
):
    steps = ("Open | click | | visible:Reserve", "Reserve | click | | message:Kept")
    done, healing, again = await execute_changed(site, open_site_page, steps, RENAMED)
    assert isinstance(done, FailedStep)
    assert healing.event.success
    assert not isinstance(again, FailedStep), again.evidence.message
    assert "asked for what stands in its place" in healing.event.actions


async def test_where_it_is_not_healed_it_is_offered_for_the_step_that_acts_on_it(site, open_site_page):
    steps = ("Open | click | | visible:Reserve", "Reserve | click | | message:Kept")
    post, change = "fetch('/kept', {method: 'POST'})", f"{RENAMED}; keep.id = 'other'"
    done, healing, _ = await execute_changed(site, open_site_page, steps, change, more=post)
    assert not healing.event.success
    assert (done.evidence.step_idx, done.evidence.offered.step_idx) == (0, 1)
    named = done.evidence.offered.model_copy(update={"req_id": "order"})
    facts = {"held_before": True, "heal_rounds": 1, "answers": (), "offered": named}
    cause = classify(done.evidence.model_copy(update=facts))
    assert cause.class_ == "healing_declined"
    assert "--accept order:2" in cause.recommendation


async def test_an_outcome_that_names_the_element_of_an_earlier_step_is_asked_of_the_healed_one(
    site, open_site_page
):
    site.page("/", PAGE.format(more=""))
    async with open_site_page() as site_page:
        steps = ("Reserve | click | | message:Kept", "Open | click | | visible:Reserve")
        plan = await build_plan(site_page, requirement(*steps))
        await open_first_page(site_page, "/")
        await site_page.page.evaluate(f"() => {{ {RENAMED} }}")
        site_page.policy, site_page.plan = HASTY, plan.steps
        for step in plan.steps:
            done = await execute_step(site_page, step)
            assert isinstance(done, FailedStep)
            healing = await heal_step(site_page, step, done, 1)
            assert healing.event.success, healing.event.reason
            again = await execute_step(site_page, healing.step, heal_round=1)
            assert not isinstance(again, FailedStep), again.evidence.message
