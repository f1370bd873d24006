"""Checkpoints in MongoDB, and plans that are remembered."""

from __future__ import annotations

import pytest

from agent.execution.stop_request import RunStopped, StopRequest
from agent.verification.graph import PassedPlans, run_graph
from agent.verification.graph.verification_state import seal_plan
from kb_schema.verification import PlanStep, VerificationPlan
from periplus.verification.verification_checkpointer import open_checkpointer
from tests.support.scripted_verification import BASE, PASSWORD, Script, requirement, scripted_nodes


@pytest.mark.mongodb
async def test_a_run_whose_state_is_in_mongodb_is_carried_on(mongodb_url, tmp_path):
    wanted, script, stop = requirement(), Script(), StopRequest()

    async def run(stop, reached=lambda _: None):
        async with open_checkpointer(tmp_path, mongodb_url) as saver:
            nodes = scripted_nodes(script, wanted)
            return await run_graph(nodes, run_id="r", checkpointer=saver, stop=stop, reached=reached)

    with pytest.raises(RunStopped):
        await run(stop, lambda name: stop.ask("enough") if name == "generator" else None)
    assert (await run(StopRequest())).verdict == "pass"
    assert script.done.count("build") == 1
    assert not list(tmp_path.iterdir())


async def test_what_scripts_throw_while_a_requirement_passes_is_usual_on_the_whole_site(tmp_path):
    plans = PassedPlans(tmp_path)
    assert await plans.list_usual_errors("site") == frozenset()
    for number, usual in enumerate((("Error: Transport 0 not open",), ("Error: x", "Error: y"))):
        plan = VerificationPlan(requirement=requirement(), base_url=BASE, usual_errors=usual)
        plan = plan.model_copy(
            update={"requirement": plan.requirement.model_copy(update={"req_id": f"R-{number}"})}
        )
        await plans.keep("site", plan)
    assert await plans.list_usual_errors("site") == {"Error: Transport 0 not open", "Error: x", "Error: y"}
    assert await plans.list_usual_errors("other") == frozenset()


async def test_a_plan_is_remembered_for_the_very_same_requirement_only(tmp_path):
    plans, wanted = PassedPlans(tmp_path), requirement()
    steps = tuple(
        PlanStep(step_idx=index, intent=intent, password=index == 1)
        for index, intent in enumerate(wanted.steps)
    )
    plan = VerificationPlan(requirement=wanted, base_url=BASE, steps=steps)
    assert await plans.find("site", wanted) is None
    await plans.keep("site", seal_plan(plan, wanted))
    assert await plans.find("site", wanted) == plan
    assert await plans.find("other", wanted) is None
    assert await plans.find("site", requirement(2)) is None
    assert PASSWORD.encode() not in b"".join(each.read_bytes() for each in tmp_path.rglob("*.json"))
    moved = wanted.model_copy(update={"title": "another title"})
    assert (await plans.find("site", moved)).requirement == moved
