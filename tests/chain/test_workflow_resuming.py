"""A workflow that is cut off anywhere is carried on: what is done is not done again, and what was decided
is not decided anew.
"""

from __future__ import annotations

from typing import Any

import pytest

from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.workflows import Workflow
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping
from tests.support.lives import another_life, ended_at, kept_state
from tests.support.rotation import rotating

MOST = 24
"""Beginnings and ends of steps there are in the workflow."""

REGISTER = {
    "type": "task", "task_id": "register_boat",
    "io_spec": {"inputs": [{"name": "boat_name", "source": "session_context"}]},
    "steps": [
        {"step_id": "open_form", "action": {"action_type": "navigate", "target_screen": "boat_new"}},
        {"step_id": "fill_name", "action": {"action_type": "fill", "target": "name_field", "value": "{boat_name}"}},
        {"step_id": "moor", "action": {"action_type": "click", "target": "moor"},
         "postconditions": [{"type": "navigates_to", "screen_id": "quay"}]},
    ],
    "read_back": {
        "screen_id": "quay", "expect": "one_more", "where": {"name": "{boat_name}"},
        "extraction": {"method": "table_extraction", "selector": "tr.boat", "columns": {"name": "td.name"}},
    },
}  # fmt: skip


def _registers(node_id: str, name: str, **more: Any) -> dict[str, Any]:
    where = {"source": "context", "key": "item"} if name == "item" else {"source": "hardcoded", "value": name}
    return {
        "type": "task",
        "node_id": node_id,
        "task_id": "register_boat",
        "inputs": {"boat_name": where},
        **more,
    }


NODES = [
    _registers("only_where_there_is_none", "First", when=[{"type": "element_hidden", "element": "tr.boat"}],
               else_nodes=[_registers("else", "Wrong way")]),
    {"type": "group", "node_id": "each", "nodes": [_registers("one", "item")],
     "iterator_spec": {"type": "list_processing", "items": "{names}", "item_action": {"runs_nodes": True}}},
    _registers("last", "Last", skip_unless={"type": "element_visible", "element": "tr.boat"}),
]  # fmt: skip


@pytest.fixture
async def kept(tmp_path):
    async with open_runs(tmp_path / "runs") as runs:
        yield RunStoreKeeping(runs)


@pytest.fixture
def workflow(session) -> Workflow:
    session.knowledge.know(parse_document(REGISTER))
    told = {
        "type": "workflow", "workflow_id": "round", "name": "Round", "nodes": NODES,
        "io_spec": {"inputs": [{"name": "names", "type": "array", "source": ["task_context", "user_input"]}]},
        "success_criteria": [{"type": "element_visible", "element": "tr.boat"}],
    }  # fmt: skip
    parsed = parse_document(told)
    assert isinstance(parsed, Workflow)
    return parsed


@pytest.mark.parametrize("at", rotating(__name__, range(1, MOST + 1), 1))
async def test_a_workflow_cut_off_anywhere_is_carried_on_without_repeating_anything(
    session, site, kept, browser, workflow, at
):
    given = {"names": ["Auk", "Tern"]}
    assert await ended_at(session, run_workflow(TaskRunner(session, keeping=kept), workflow, given), at)
    async with another_life(session, browser) as again:
        engine = TaskRunner(again, keeping=kept, resume=await kept_state(kept, session))
        result = await run_workflow(engine, workflow, {})
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["First", "Auk", "Tern", "Last"]


async def test_a_workflow_whose_end_was_not_noted_is_over_all_the_same(
    session, site, kept, browser, workflow
):
    first = await run_workflow(TaskRunner(session, keeping=kept), workflow, {"names": []})
    assert first.complete, first.error
    async with another_life(session, browser) as again:
        engine = TaskRunner(again, keeping=kept, resume=await kept_state(kept, session))
        result = await run_workflow(engine, workflow, {})
    assert (result.status, result.evidence) == (first.status, first.evidence)
    assert [boat["name"] for boat in site.state()["boats"]] == ["First", "Last"]


async def test_a_workflow_that_was_cut_off_before_its_first_node_has_the_inputs_it_began_with(
    session, site, kept, workflow
):
    began = CheckpointState(website_id="harbour", task_id="round", given={"names": ["Auk"]})
    result = await run_workflow(TaskRunner(session, keeping=kept, resume=began), workflow, {})
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["First", "Auk", "Last"]


async def test_a_task_that_was_cut_off_before_its_first_step_has_the_inputs_it_began_with(
    session, site, kept, workflow
):
    began = CheckpointState(website_id="harbour", task_id="register_boat", given={"boat_name": "Skua"})
    result = await TaskRunner(session, keeping=kept, resume=began).run_task("register_boat", {})
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
