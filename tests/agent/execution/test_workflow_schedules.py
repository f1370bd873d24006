"""Workflows of ten nodes under random schedules of failing nodes, against a model of WR 1.3, 4.2, 5 and decision 0094.

The workflow runner is the real one; the tasks of its nodes are played, so that no browser is needed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.execution.resilient_step_runner import ResilientStepRunner
from agent.execution.results.run_metrics import compute_run_metrics
from agent.execution.workflow_runner import run_workflow
from agent.run_context import RunContext
from kb_schema import parse_document
from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.run_records import EvidenceLevel, RunResult, RunStatus, TriedApproach
from kb_schema.workflows import Workflow
from periplus.exit_codes import ExitCode, exit_code_for

NODES = 10
STEPS = {
    "writer": [{"action_type": "click", "target": "#save"}],
    "reader": [{"action_type": "navigate", "target_screen": "list"}, {"action_type": "get_screen_content", "target": "td"}],
    "follower": [{"action_type": "get_screen_content", "target": "td"}],
    "opener": [{"action_type": "navigate", "target_screen": "list"}],
}  # fmt: skip
WEIGHTS = {"writer": 1.0, "reader": 1.0, "follower": 1.0, "opener": 0.25}
ANYWHERE = ("reader", "opener")
EXIT_CODES = {
    "success": ExitCode.DONE, "unverified": ExitCode.UNVERIFIED, "partial": ExitCode.PARTIAL,
    "degraded": ExitCode.PARTIAL, "failure": ExitCode.FAILED,
}  # fmt: skip


@dataclass(frozen=True)
class Schedule:
    """The kind of each node, which are optional, which fail, and whether the run may exit early."""

    kinds: tuple[str, ...]
    optional: frozenset[int]
    failing: frozenset[int]
    early: bool

    @classmethod
    def draw(cls, seed: int) -> Schedule:
        chance = random.Random(seed)
        pool = chance.choice(
            [tuple(STEPS), ("reader", "follower", "opener"), ("writer",), ("writer", "reader")]
        )
        rate = chance.choice([0.0, 0.1, 0.3, 0.6])
        return cls(
            tuple(chance.choice(pool) for _ in range(NODES)),
            frozenset(each for each in range(NODES) if chance.random() < 0.15),
            frozenset(each for each in range(NODES) if chance.random() < rate),
            chance.random() < 0.3,
        )


@dataclass
class Expected:
    """What the documents say about a schedule."""

    ran: list[int] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    gone_without: set[int] = field(default_factory=set)
    error: bool = False
    early: bool = False
    percentage: float = 0.0
    status: str = ""


def expect(told: Schedule) -> Expected:
    """Play the rules: degradation, weights, early exit, status."""
    found, lost = Expected(), False
    counted = [each for each in range(NODES) if each not in told.optional]
    whole = sum(WEIGHTS[told.kinds[each]] for each in counted)

    def percentage() -> float:
        done = sum(WEIGHTS[told.kinds[each]] for each in counted if each in found.done)
        return 100.0 if done == whole else min(round(100 * done / whole, 1), 99.9)

    def lacks_changes() -> bool:
        writers = [each for each in counted if told.kinds[each] == "writer"]
        return bool(writers) and not any(each in found.done for each in writers)

    for number, kind in enumerate(told.kinds):
        if lost and kind not in ANYWHERE:
            found.gone_without.add(number)
            continue
        found.ran.append(number)
        if number not in told.failing:
            found.done.add(number)
            lost = False
            if told.early and 70 <= percentage() < 100 and not lacks_changes():
                found.early = True
                break
        elif number not in told.optional:
            found.error = True
            if (
                number + 1 == NODES
                or "writer" in told.kinds[number + 1 :]
                or (kind == "writer" and lacks_changes())
            ):
                break
            found.gone_without.add(number)
            lost = True
        else:
            found.gone_without.add(number)
    nothing = found.error and not found.done
    found.percentage = 0.0 if nothing else percentage()
    if nothing or lacks_changes():
        found.status = "failure"
    elif found.percentage == 100 and not (found.error or found.early):
        found.status = "unverified" if told.failing & set(found.ran) else "success"
    elif found.percentage >= 70:
        found.status = "partial"
    else:
        found.status = "degraded" if found.percentage >= 40 else "failure"
    return found


class PlayedEngine:
    """A task runner whose tasks end as the schedule says."""

    def __init__(self, told: Schedule) -> None:
        self.told, self.ran, self.place, self.depth, self.groups = told, [], None, 0, {}
        self.tasks = {f"t{number}": _build_task(number, kind) for number, kind in enumerate(told.kinds)}
        self.checkpoints = SimpleNamespace(state=CheckpointState(website_id="w", task_id="ten"))
        self.session: Any = SimpleNamespace(
            bus=SimpleNamespace(tell=lambda event: None), context=RunContext(), base_url="http://x", screen_id=None,
            website=SimpleNamespace(website_id="w", resilience=None), page=SimpleNamespace(url="http://x/"),
            memory=SimpleNamespace(conclude=lambda tell, *, verified: None), criteria=None,
            presses=SimpleNamespace(held_before=False, already=False, accepted=()), judge_until_held=self._judge,
            knowledge=SimpleNamespace(task=self._task, read_parts=self._read_parts),
        )  # fmt: skip
        self.dependencies = SimpleNamespace(in_order=frozenset())
        self.stop = SimpleNamespace(check=lambda: None)
        self.guide = SimpleNamespace(arrive=self._nothing)
        self.resumption = SimpleNamespace(told_happened=False)
        policy = ResiliencePolicy(allow_early_exit=told.early)
        self.resilience = ResilientStepRunner(self, policy, None, None)  # type: ignore[arg-type]

    async def _nothing(self, *args: Any, **more: Any) -> None:
        return None

    begin = keep_state = scrape = _nothing

    async def _judge(self, conditions: Any, values: Any, **more: Any) -> list[Any]:
        assert not conditions
        return []

    async def _task(self, task_id: str) -> Any:
        return self.tasks[task_id]

    async def _read_parts(self, workflow: Workflow) -> tuple[list[Any], list[Any]]:
        return list(self.tasks.values()), []

    async def run_task(self, task_id: str, given: Any, *, depth: int = 0) -> RunResult:
        number = int(task_id[1:])
        self.ran.append(number)
        failed, ledger = number in self.told.failing, self.checkpoints.state.ledger
        if failed:
            ledger.note(TriedApproach(
                fingerprint=task_id, task_id=task_id, step_id="s0", approach="authored", outcome="failed",
            ))  # fmt: skip
        else:
            ledger.keep(f"{self.place}>{task_id}", {"value": number})
        return RunResult(
            run_id="r", website_id="w", task_id=task_id, started_at=datetime.now(UTC), duration_ms=1,
            status=RunStatus.FAILURE if failed else RunStatus.SUCCESS, error="it failed" if failed else None,
            evidence=EvidenceLevel.UNVERIFIED if failed else EvidenceLevel.VERIFIED,
            completion_percentage=0 if failed else 100, confidence_score=0 if failed else 0.9,
        )  # fmt: skip


def _build_task(number: int, kind: str) -> Any:
    steps = [
        {"step_id": f"s{each}", "order": each + 1, "action": call} for each, call in enumerate(STEPS[kind])
    ]
    return parse_document({"type": "task", "task_id": f"t{number}", "steps": steps})


def _build_workflow(told: Schedule) -> Workflow:
    nodes = [
        {"type": "task", "node_id": f"n{each}", "task_id": f"t{each}", "can_skip": each in told.optional}
        for each in range(NODES)
    ]
    parsed = parse_document({"type": "workflow", "workflow_id": "ten", "name": "Ten", "nodes": nodes})
    assert isinstance(parsed, Workflow)
    return parsed


@pytest.mark.parametrize("seed", range(200))
async def test_ten_nodes_end_as_the_documents_say(seed):
    told = Schedule.draw(seed)
    expected, engine = expect(told), PlayedEngine(told)

    result = await run_workflow(engine, _build_workflow(told), {})  # type: ignore[arg-type]
    failed = [each for each in expected.ran if each in told.failing]
    metrics = compute_run_metrics(result)
    assert engine.ran == expected.ran
    assert (result.status, result.completion_percentage) == (expected.status, expected.percentage), (
        result.error
    )
    assert result.early_exit == expected.early
    assert (result.error is not None) == expected.error
    assert {each.task_id for each in result.tried} == {f"t{each}" for each in failed}
    assert set(result.degraded_steps) == {f"n{each}" for each in expected.gone_without}
    assert result.best_effort_data == {f"n{each}>t{each}": {"value": each} for each in sorted(expected.done)}
    assert metrics["failed_approaches"] == len(failed)
    assert metrics["data_retention_rate"] == 1.0
    assert metrics["completion_percentage"] == expected.percentage
    assert metrics["partial_success_rate"] == (expected.status in ("partial", "degraded"))
    assert exit_code_for(result.status) is EXIT_CODES[expected.status]


def test_the_schedules_reach_every_status():
    """The model would say nothing if all schedules ended alike."""
    ends = [expect(Schedule.draw(seed)) for seed in range(200)]
    assert {end.status for end in ends} == set(EXIT_CODES)
    assert any(end.early for end in ends)
    assert any(end.gone_without and end.status == "partial" for end in ends)


async def test_a_failed_node_at_the_end_of_a_group_counts_for_the_nodes_after_it():
    """The group itself is over then, but the page is still that of the failed node."""
    told = Schedule(("reader", "follower", "follower", "reader"), frozenset(), frozenset({1}), early=False)
    nodes = [{"type": "task", "node_id": f"n{each}", "task_id": f"t{each}"} for each in range(4)]
    group = {"type": "group", "node_id": "g", "nodes": nodes[:2]}
    parsed = parse_document(
        {"type": "workflow", "workflow_id": "ten", "name": "Ten", "nodes": [group, *nodes[2:]]}
    )
    engine = PlayedEngine(told)
    result = await run_workflow(engine, parsed, {})  # type: ignore[arg-type]
    assert engine.ran == [0, 1, 3]
    assert (result.status, result.completion_percentage) == (RunStatus.DEGRADED, 50.0)
    engine.ran.clear()
    resumed = await run_workflow(engine, parsed, {})  # type: ignore[arg-type]
    assert engine.ran == []
    assert (resumed.status, resumed.completion_percentage) == (result.status, result.completion_percentage)
    assert resumed.error == result.error
