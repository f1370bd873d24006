"""Checkpoints in MongoDB, and plans that are remembered."""

from __future__ import annotations

import pytest

from agent.engine.stopping import Stop, Stopped
from agent.verifying.flow import Nodes, run_graph
from agent.verifying.flow.state import sealed_plan
from kb_schema.verification import Plan, PlanStep
from periplus.verifying.memory import FolderPlans, open_checkpointer
from tests.support.verify_hands import BASE, PASSWORD, Script, ScriptedHands, requirement


@pytest.mark.mongodb
async def test_a_run_whose_state_is_in_mongodb_is_carried_on(mongodb_url, tmp_path):
    wanted, script, stop = requirement(), Script(), Stop()

    async def run(stop, reached=lambda _: None):
        async with (
            open_checkpointer(tmp_path, mongodb_url) as saver,
            Nodes(wanted, ScriptedHands(script), base_url=BASE) as nodes,
        ):
            return await run_graph(nodes, wanted, run_id="r", checkpointer=saver, stop=stop, reached=reached)

    with pytest.raises(Stopped):
        await run(stop, lambda name: stop.ask("enough") if name == "generator" else None)
    assert (await run(Stop())).verdict == "pass"
    assert script.done.count("build") == 1
    assert not list(tmp_path.iterdir())


async def test_a_plan_is_remembered_for_the_very_same_requirement_only(tmp_path):
    plans, wanted = FolderPlans(tmp_path), requirement()
    steps = tuple(
        PlanStep(step_idx=index, intent=intent, password=index == 1)
        for index, intent in enumerate(wanted.steps)
    )
    plan = Plan(requirement=wanted, base_url=BASE, steps=steps)
    assert await plans.known("site", wanted) is None
    await plans.keep("site", sealed_plan(plan, wanted))
    assert await plans.known("site", wanted) == plan
    assert await plans.known("other", wanted) is None
    assert await plans.known("site", requirement(2)) is None
    assert PASSWORD.encode() not in b"".join(each.read_bytes() for each in tmp_path.rglob("*.json"))
    moved = wanted.model_copy(update={"title": "another title"})
    assert (await plans.known("site", moved)).requirement == moved
