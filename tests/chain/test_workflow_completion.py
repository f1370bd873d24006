"""A workflow whose nodes fail: partial results, early exit, one timeout, approaches, data (WR 1.2, 4.2, 5)."""

from __future__ import annotations

from typing import Any

import pytest

from agent.events import Replanned
from agent.execution import step_runner
from agent.execution.results.run_metrics import compute_run_metrics
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.healing.healer import HealPolicy
from kb_schema import parse_document
from kb_schema.resilience_policy import MAX_TOTAL_REPLANS, ResiliencePolicy
from kb_schema.run_records import RunStatus
from kb_schema.workflows import Workflow

pytestmark = pytest.mark.sampled(0.4)

TO_QUAY = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "quay"}}
ABSENT = "#no-such-thing"


@pytest.fixture
def quick(session, impatient):
    session.healing = HealPolicy(max_rounds=0, gate_s=0.3)
    return session


def know_reader(session: Any, name: str, selector: str = "td.name") -> dict[str, Any]:
    """Teach a task that opens the quay and reads one text; return its node."""
    look = {"step_id": "look", "action": {"action_type": "get_screen_content", "target": selector}}
    rule = {"method": "dom_extraction", "selector": selector}
    outputs = [{"name": name, "after_step": "look", "extraction": rule}]
    told = {
        "type": "task",
        "task_id": f"read_{name}",
        "steps": [TO_QUAY, look],
        "io_spec": {"outputs": outputs},
    }
    session.knowledge.know(parse_document(told))
    return {"type": "task", "node_id": name, "task_id": f"read_{name}"}


def register(name: str, boat: str) -> dict[str, Any]:
    return {
        "type": "task", "node_id": name, "task_id": "register_boat",
        "inputs": {"boat_name": {"source": "hardcoded", "value": boat}},
    }  # fmt: skip


def know_broken(session: Any, name: str = "broken") -> dict[str, Any]:
    steps = [{"step_id": "press", "action": {"action_type": "click", "target": ABSENT}}]
    session.knowledge.know(parse_document({"type": "task", "task_id": name, "steps": steps}))
    return {"type": "task", "node_id": name, "task_id": name}


def build(*nodes: dict[str, Any], **more: Any) -> Workflow:
    told = {"type": "workflow", "workflow_id": "round", "name": "Round", "nodes": list(nodes), **more}
    parsed = parse_document(told)
    assert isinstance(parsed, Workflow)
    return parsed


async def test_four_of_five_nodes_are_a_partial_result_with_what_was_tried(quick, site):
    boats = [register(name, name.title()) for name in ("tern", "skua", "gannet", "puffin")]
    result = await run_workflow(TaskRunner(quick), build(*boats, know_broken(quick)), {})
    assert result.status is RunStatus.PARTIAL, result.error
    assert (result.completion_percentage, result.completed_steps, result.total_steps) == (80.0, 4, 5)
    assert result.confidence_score > 0
    assert "no-such-thing" in (result.error or "")
    assert (result.goal, result.errors[-1]) == ("Round", result.error)
    assert {each.task_id for each in result.tried if each.outcome == "failed"} == {"broken"}
    assert result.replans == sum(each.approach != "authored" for each in result.tried)
    assert compute_run_metrics(result)["partial_success_rate"] == 1.0
    assert len(site.state()["boats"]) == 4


async def test_a_node_that_only_reads_is_gone_without_and_all_that_was_read_is_kept(quick, site):
    site.moor("Gannet")
    nodes = [know_reader(quick, "first"), know_reader(quick, "rating", ABSENT), know_reader(quick, "last")]
    result = await run_workflow(TaskRunner(quick), build(*nodes), {})
    assert result.status in (RunStatus.PARTIAL, RunStatus.DEGRADED), result.error
    assert result.degraded_steps == ("rating",)
    assert result.outputs == {"first": "Gannet", "last": "Gannet"}
    assert result.best_effort_data == {
        "first>read_first": {"first": "Gannet"},
        "last>read_last": {"last": "Gannet"},
    }
    assert compute_run_metrics(result)["data_retention_rate"] == 1.0


async def test_no_node_that_changes_the_site_runs_after_a_failed_one(quick, site):
    result = await run_workflow(TaskRunner(quick), build(know_broken(quick), register("tern", "Tern")), {})
    assert (result.status, result.completion_percentage) == (RunStatus.FAILURE, 0.0)
    assert site.state()["boats"] == []


async def test_a_workflow_of_whose_changes_none_is_done_is_a_failure(quick, site):
    site.moor("Gannet")
    readers = [know_reader(quick, name) for name in ("a", "b", "c", "d")]
    result = await run_workflow(TaskRunner(quick), build(*readers, know_broken(quick)), {})
    assert result.status is RunStatus.FAILURE
    assert result.critical_missing == ("broken",)
    assert result.outputs["a"] == "Gannet"


async def test_a_workflow_may_exit_early_and_says_so(quick, site):
    quick.resilience = ResiliencePolicy(allow_early_exit=True, min_acceptable_completion=60)
    boats = [register(name, name.title()) for name in ("tern", "skua", "gannet")]
    result = await run_workflow(TaskRunner(quick), build(*boats), {})
    assert (result.status, result.early_exit, result.error) == (RunStatus.PARTIAL, True, None)
    assert result.completion_percentage == 66.7
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern", "Skua"]


async def test_the_time_of_a_run_does_not_begin_anew_with_each_node(quick, site, monkeypatch):
    quick.resilience = ResiliencePolicy(timeout_s=100)
    engine, now = TaskRunner(quick), [0.0]
    monkeypatch.setattr("agent.execution.resilient_step_runner.time.monotonic", lambda: now[0])

    def spend(run_task):
        async def after(*args: Any, **more: Any) -> Any:
            result = await run_task(*args, **more)
            now[0] += 60
            return result

        return after

    monkeypatch.setattr(engine, "run_task", spend(engine.run_task))
    boats = [register(name, name.title()) for name in ("tern", "skua", "gannet")]
    result = await run_workflow(engine, build(*boats), {})
    assert "exceeded its `timeout_s`" in (result.error or "")
    assert result.status is RunStatus.DEGRADED
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern", "Skua"]


async def test_no_workflow_has_more_than_fifteen_replans_however_many_nodes_fail(quick, monkeypatch):
    """Each node alone has five other approaches or more: the total is that of the workflow, not of a node."""
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.2)
    quick.resilience = ResiliencePolicy(max_replans_per_step=999, max_total_replans=MAX_TOTAL_REPLANS)
    replanned = []
    quick.bus.listen(lambda e: replanned.append(e.task_id) if isinstance(e, Replanned) else None)
    many = [{"type": "css", "value": value} for value in ("h1", "nav", "#add", "#home", "#fog", "#boats + p")]
    look = {
        "step_id": "look", "action": {"action_type": "get_screen_content", "target": {"strategies": many}},
        "postconditions": [{"type": "dom_contains", "value": "never", "timeout": 0.1}],
    }  # fmt: skip
    names = ("a", "b", "c", "d")
    for name in names:
        quick.knowledge.know(parse_document({"type": "task", "task_id": name, "steps": [TO_QUAY, look]}))
    nodes = [{"type": "task", "node_id": name, "task_id": name} for name in names]
    result = await run_workflow(TaskRunner(quick), build(*nodes), {})
    assert (result.replans, len(replanned), MAX_TOTAL_REPLANS) == (15, 15, 15)
    assert len(set(replanned)) > 1
    assert result.status is RunStatus.FAILURE
