"""Workflows run by the one engine on the harbour, and published over MCP."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from agent.errors import UnknownToKnowledge
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.run_records.session_trace import SessionTrace
from kb_schema import parse_document
from kb_schema.action_calls import ActionCall
from kb_schema.run_records import EvidenceLevel, RunStatus, StepStatus
from kb_schema.session_reader import read_session
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

pytestmark = pytest.mark.sampled(0.3)

BOATS = {"type": "element_visible", "element": "tr.boat"}
REGISTER: dict[str, Any] = {
    "type": "task", "node_id": "register", "task_id": "register_boat",
    "inputs": {"boat_name": {"source": "task_context", "key": "boat"}},
}  # fmt: skip


def _workflow(*nodes: dict[str, Any], **more: Any) -> Workflow:
    told = {"type": "workflow", "workflow_id": "round", "name": "Round", "nodes": list(nodes), **more}
    parsed = parse_document(told)
    assert isinstance(parsed, Workflow)
    return parsed


async def test_nodes_run_in_order_with_their_inputs_and_a_fork_is_judged_once(session, site):
    """Both ways change what the fork looks at: judged twice, both would be gone."""
    fork = {
        "type": "task", "node_id": "clear", "task_id": "cast_off_all", "when": [BOATS],
        "else_nodes": [REGISTER],
    }  # fmt: skip
    end = {"type": "task", "node_id": "again", "task_id": "register_boat",
           "inputs": {"boat_name": {"source": "hardcoded", "value": "Tern"}}}  # fmt: skip
    inputs = {"inputs": [{"name": "boat", "source": "user_input"}]}
    workflow = _workflow(fork, end, io_spec=inputs, success_criteria=[BOATS])
    first = await run_workflow(TaskRunner(session), workflow, {"boat": "Puffin"})
    assert first.complete, first.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Puffin", "Tern"]
    assert first.evidence is EvidenceLevel.VERIFIED
    second = await run_workflow(TaskRunner(session), workflow, {"boat": "Puffin"})
    assert second.complete, second.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_a_group_repeats_its_nodes_for_every_item(session, site):
    item = {"boat_name": {"source": "context", "key": "item.name"}}
    body = [
        {"type": "task", "node_id": "one", "task_id": "register_boat", "inputs": item},
        {"type": "task", "node_id": "never", "task_id": "cast_off_all", "can_skip": True,
         "skip_unless": {"type": "element_visible", "element": "#no-such-thing"}},
    ]  # fmt: skip
    group = {
        "type": "group", "node_id": "each", "nodes": body,
        "iterator_spec": {"type": "list_processing", "items": "{boats}", "item_action": {"runs_nodes": True}},
    }  # fmt: skip
    workflow = _workflow(group, io_spec={"inputs": [{"name": "boats", "type": "array"}]})
    result = await run_workflow(
        TaskRunner(session), workflow, {"boats": [{"name": "Tern"}, {"name": "Skua"}]}
    )
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern", "Skua"]
    assert [record.status for record in result.steps if record.step_id == "never"] == [StepStatus.SKIPPED] * 2


@pytest.mark.parametrize(("rows", "status"), [("tr.boat", "success"), ("tr.vessel", "unverified")])
async def test_a_loop_that_finds_nothing_to_do_is_no_evidence(session, site, rows, status):
    """In another release the rows are called otherwise, and "no such row is there" holds from the beginning."""
    site.moor("Tern", "Skua")
    loop = {
        "type": "task", "node_id": "all", "task_id": "cast_off_one",
        "iterator_spec": {"type": "collection_processing", "collection_selector": rows,
                          "item_action": {"task_id": "cast_off_one"}, "termination_condition": {"type": "empty_collection"}},
    }  # fmt: skip
    gone = {"type": "element_disappears", "element": rows}
    result = await run_workflow(TaskRunner(session), _workflow(loop, success_criteria=[gone]), {})
    assert (result.status.value, result.error) == (status, None)
    assert len(site.state()["boats"]) == (0 if rows == "tr.boat" else 2)


async def test_a_task_repeats_over_what_the_page_has(session, site):
    site.moor("Tern", "Skua", "Gannet")
    loop = {
        "type": "task", "node_id": "all", "task_id": "cast_off_one",
        "iterator_spec": {"type": "collection_processing", "collection_selector": "tr.boat",
                          "item_action": {"task_id": "cast_off_one"}, "termination_condition": {"type": "empty_collection"}},
    }  # fmt: skip
    result = await run_workflow(TaskRunner(session), _workflow(loop), {})
    assert result.complete, result.error
    assert site.state()["boats"] == []


async def test_what_nobody_is_there_for_needs_a_person(session):
    for node in (
        {"type": "wait", "node_id": "w", "prompt": "Sign the form"},
        {"type": "agent", "node_id": "a", "goal": "Choose a berth"},
    ):
        result = await run_workflow(TaskRunner(session), _workflow(node), {})
        assert result.status is RunStatus.NEEDS_PERSON
        assert result.error in ("Sign the form", "Choose a berth")


async def test_an_agent_step_does_what_is_suggested_within_its_bound(session, site, tmp_path):
    class Model:
        asked = 0

        async def suggest(self, context: Any) -> list[ActionCall]:
            self.asked += 1
            assert context.original_goal == "Free the first berth"
            return [ActionCall(action_type="click", target="tr.boat:first-child button")]

    site.moor("Tern")
    session.inferencer = Model()
    trace = SessionTrace(tmp_path / "run", website_id="harbour", context=session.context)
    session.bus.listen(trace)
    gone = {"type": "element_disappears", "selector": "tr.boat"}
    node = {"type": "agent", "node_id": "a", "goal": "Free the first berth", "until": gone, "max_steps": 2}
    result = await run_workflow(TaskRunner(session), _workflow(node), {})
    assert result.complete, result.error
    assert site.state()["boats"] == []
    assert session.inferencer.asked == 1
    trace.close(complete=True)
    (pressed,) = [each for each in read_session(tmp_path / "run").steps if each.action_type == "click"]
    assert pressed.reasoning == "Free the first berth"
    assert session.reasoning is None
    never = node | {"until": {"type": "element_visible", "element": "#no-such-thing"}}
    site.moor("Tern", "Skua", "Gannet")
    await session.page.reload()
    failed = await run_workflow(TaskRunner(session), _workflow(never), {})
    assert not failed.succeeded
    assert len(site.state()["boats"]) == 1


@pytest.mark.parametrize("does_it", [True, False])
async def test_a_gap_asks_a_person_who_does_it_in_the_browser(session, site, does_it):
    class Person:
        asked: ClassVar[list[str]] = []

        async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
            self.asked.append(prompt)
            if does_it:
                await session.page.locator("tr.boat:first-child button").click()
            return "done"

    site.moor("Tern")
    session.context.asker = Person()
    gone = {"type": "element_disappears", "selector": "tr.boat"}
    node = {"type": "agent", "node_id": "a", "goal": "Free the first berth", "until": gone}
    result = await run_workflow(TaskRunner(session), _workflow(node), {})
    assert result.complete == does_it
    assert "Free the first berth" in Person.asked[-1]
    assert does_it or "by hand" in (result.error or "")


async def test_a_failing_node_ends_the_workflow_and_says_where(session, site):
    broken = Task.model_validate({
        "task_id": "broken", "steps": [{"action": {"action_type": "click", "target": "#no-such-thing"}}],
    })  # fmt: skip
    session.knowledge.know(broken)
    session.resilience = session.resilience.model_copy(update={"enable_replanning": False})
    nodes = [{"type": "task", "node_id": "b", "task_id": "broken"}, REGISTER]
    result = await run_workflow(TaskRunner(session), _workflow(*nodes), {})
    assert result.status is RunStatus.FAILURE
    assert "no-such-thing" in (result.error or "")
    assert site.state()["boats"] == []


async def test_a_workflow_is_published_with_its_tasks_and_read_again(session, site):
    own = Task.model_validate({
        "task_id": "round-1", "name": "Cast off", "steps": [{"action": {"action_type": "click", "target": "tr.boat button"}}],
    })  # fmt: skip
    node = {"type": "task", "node_id": "n1", "task_id": "round-1"}
    workflow = _workflow(node, unverified=True)
    with pytest.raises(UnknownToKnowledge):
        await session.knowledge.workflow("round")
    with pytest.raises(UnknownToKnowledge, match="no success criteria"):
        await session.knowledge.publish(_workflow(node), [own])
    with pytest.raises(UnknownToKnowledge, match="round-1"):  # refused without its task
        await session.knowledge.publish(workflow)
    published = await session.knowledge.publish(workflow, [own])
    assert (published.workflow_id, published.replaced) == ("round", False)
    with pytest.raises(UnknownToKnowledge, match="no task, but a workflow"):
        await session.knowledge.task("round")
    site.moor("Tern")
    result = await run_workflow(TaskRunner(session), await session.knowledge.workflow("round"), {})
    assert result.status is RunStatus.UNVERIFIED, result.error
    assert site.state()["boats"] == []


async def test_a_way_that_a_missing_value_closes_is_not_waited_for(session, site, monkeypatch):
    async def waits(*_: Any) -> None:
        raise AssertionError("it waits for a page that cannot change it")

    given = {"type": "context_equals", "name": "boat"}
    way = REGISTER | {"when": [{"type": "all_of", "conditions": [given]}]}
    workflow = _workflow(way, io_spec={"inputs": [{"name": "boat", "required": False}]})
    monkeypatch.setattr("agent.session.wait_for_change", waits)
    result = await run_workflow(TaskRunner(session), workflow, {})
    assert result.complete, result.error
    assert site.state()["boats"] == []
    monkeypatch.undo()
    assert (await run_workflow(TaskRunner(session), workflow, {"boat": "Tern"})).complete
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]
