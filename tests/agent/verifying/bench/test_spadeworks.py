"""The seed requirements on the sample site: found whole, executed in a fresh context, healed after its redesign."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from agent.verifying.bench import Bench, Undone, build_plan, execute_step, heal_step, open_bench
from agent.verifying.planning import read_requirements
from kb_schema.verification import Plan
from tests.support.foreign_sites import spadeworks, spadeworks_2  # noqa: F401 - fixtures
from tests.support.live_spadeworks import ACCOUNT

REQUIREMENTS = Path(__file__).parents[4] / "seeds" / "spadeworks" / "requirements" / "spadeworks.json"
SECRETS = {"SPADEWORKS_PASSWORD": ACCOUNT["password"]}
ALL = (
    "sign_in", "create_agent", "validation_error", "delete_agent", "campaign_three_steps", "import_contacts",
)  # fmt: skip


async def sign_in(bench: Bench) -> None:
    page = bench.page
    await page.goto(f"{bench.base_url}/login")
    await page.locator("input[name=email]").fill(ACCOUNT["email"])
    await page.locator("input[name=password]").fill(ACCOUNT["password"])
    await page.locator("input[name=password]").press("Enter")
    await page.wait_for_url("**/dashboard")


async def planned(browser: Browser, base: str, req_id: str) -> Plan:
    wanted = next(each for each in await read_requirements([REQUIREMENTS]) if each.req_id == req_id)
    async with open_bench(browser, base_url=base, secrets=SECRETS, unique="firstword") as bench:
        if wanted.login:
            await sign_in(bench)
        return await build_plan(bench, wanted)


@pytest.mark.sampled(0.1)
@pytest.mark.parametrize("req_id", ALL)
async def test_a_seed_requirement_is_found_whole_and_executed_from_its_plan(req_id, browser, spadeworks):  # noqa: F811
    plan = await planned(browser, spadeworks, req_id)
    assert plan.missing == ()
    assert plan.coverage == 1.0
    assert all(step.expression for step in plan.steps if step.selector is not None)
    assert ACCOUNT["password"] not in plan.model_dump_json()
    assert "firstword" not in plan.model_dump_json()
    async with open_bench(browser, base_url=spadeworks, secrets=SECRETS, unique="otherword") as bench:
        if plan.requirement.login:
            await sign_in(bench)
        assert await bench.start(plan.requirement.url) is None
        for step in plan.steps:
            done = await execute_step(bench, step)
            assert not isinstance(done, Undone), done.evidence.message
        assert bench.drifted == 0


@pytest.mark.sampled(0.05)
@pytest.mark.parametrize("req_id", ALL)
async def test_its_plan_is_healed_step_by_step_after_the_redesign(req_id, browser, spadeworks, spadeworks_2):  # noqa: F811
    plan = await planned(browser, spadeworks, req_id)
    async with open_bench(browser, base_url=spadeworks_2, secrets=SECRETS, unique="otherword") as bench:
        if plan.requirement.login:
            await sign_in(bench)
        assert await bench.start(plan.requirement.url) is None
        for planned_step in plan.steps:
            step, number = planned_step, 0
            done = await execute_step(bench, step)
            while isinstance(done, Undone) and number < bench.policy.max_heal_rounds:
                number += 1
                healing = await heal_step(bench, step, done, number)
                step = healing.step
                done = await execute_step(bench, step, heal_round=number)
            assert not isinstance(done, Undone), done.evidence.message
        assert bench.drifted > 0
