"""The seed requirements on the sample site: found whole, executed in a fresh context, healed after its redesign."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from agent.verification.page_checks import (
    FailedStep,
    VerificationPage,
    build_plan,
    execute_step,
    heal_step,
    open_first_page,
    open_verification_page,
)
from agent.verification.planning import read_requirements
from kb_schema.verification import VerificationPlan
from tests.support.foreign_sites import spadeworks, spadeworks_2  # noqa: F401 - fixtures
from tests.support.live_spadeworks import ACCOUNT

REQUIREMENTS = Path(__file__).parents[4] / "seeds" / "spadeworks" / "requirements" / "spadeworks.json"
SECRETS = {"SPADEWORKS_PASSWORD": ACCOUNT["password"]}
ALL = (
    "sign_in", "create_agent", "validation_error", "delete_agent", "campaign_three_steps", "import_contacts",
)  # fmt: skip


async def sign_in(site_page: VerificationPage) -> None:
    page = site_page.page
    await page.goto(f"{site_page.base_url}/login")
    await page.locator("input[name=email]").fill(ACCOUNT["email"])
    await page.locator("input[name=password]").fill(ACCOUNT["password"])
    await page.locator("input[name=password]").press("Enter")
    await page.wait_for_url("**/dashboard")


async def planned(browser: Browser, base: str, req_id: str) -> VerificationPlan:
    wanted = next(each for each in await read_requirements([REQUIREMENTS]) if each.req_id == req_id)
    async with open_verification_page(
        browser, base_url=base, secrets=SECRETS, unique="firstword"
    ) as site_page:
        if wanted.login:
            await sign_in(site_page)
        return await build_plan(site_page, wanted)


@pytest.mark.sampled(0.1)
@pytest.mark.parametrize("req_id", ALL)
async def test_a_seed_requirement_is_found_whole_and_executed_from_its_plan(req_id, browser, spadeworks):  # noqa: F811
    plan = await planned(browser, spadeworks, req_id)
    assert plan.missing == ()
    assert plan.coverage == 1.0
    assert all(step.expression for step in plan.steps if step.selector is not None)
    assert ACCOUNT["password"] not in plan.model_dump_json()
    assert "firstword" not in plan.model_dump_json()
    async with open_verification_page(
        browser, base_url=spadeworks, secrets=SECRETS, unique="otherword"
    ) as site_page:
        if plan.requirement.login:
            await sign_in(site_page)
        assert await open_first_page(site_page, plan.requirement.url) is None
        for step in plan.steps:
            done = await execute_step(site_page, step)
            assert not isinstance(done, FailedStep), done.evidence.message
        assert site_page.drifted == 0


@pytest.mark.sampled(0.05)
@pytest.mark.parametrize("req_id", ALL)
async def test_its_plan_is_healed_step_by_step_after_the_redesign(req_id, browser, spadeworks, spadeworks_2):  # noqa: F811
    plan = await planned(browser, spadeworks, req_id)
    async with open_verification_page(
        browser, base_url=spadeworks_2, secrets=SECRETS, unique="otherword"
    ) as site_page:
        if plan.requirement.login:
            await sign_in(site_page)
        site_page.plan = plan.steps
        assert await open_first_page(site_page, plan.requirement.url) is None
        for planned_step in plan.steps:
            step, number = planned_step, 0
            done = await execute_step(site_page, step)
            while isinstance(done, FailedStep) and number < site_page.policy.max_heal_rounds:
                number += 1
                healing = await heal_step(site_page, step, done, number)
                step = healing.step
                done = await execute_step(site_page, step, heal_round=number)
            assert not isinstance(done, FailedStep), done.evidence.message
        assert site_page.drifted > 0
