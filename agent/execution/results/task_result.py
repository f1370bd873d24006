"""Builds the result of a task's run: status, completion, confidence, data, approaches tried (WR 5.1, 5.2)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.execution.results.run_errors import describe_goal, list_errors
from agent.execution.results.task_completion import (
    CompletionPart,
    StatusFactors,
    choose_status,
    compute_confidence,
    compute_percentage,
    list_missing_steps,
)
from agent.run_context import merge_values
from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.run_records import RunResult, RunStatus, StepRecord, StepStatus

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun


@dataclass(frozen=True, slots=True)
class TaskRunEnd:
    """How a task's run ended."""

    error: str | None = None
    hint: str | None = None
    needs_person: bool = False
    closing: bool = False
    """The error came after the steps: the goal is missing or cannot be judged."""


def choose_end_status(
    run: TaskRun, end: TaskRunEnd, parts: Sequence[CompletionPart], policy: ResiliencePolicy
) -> RunStatus:
    """The status of a run that ended, by what is done of its steps."""
    criteria = run.criteria
    ending = StatusFactors(
        needs_person=end.needs_person,
        failed=end.error is not None or run.early_exit,
        contradicted=run.contradicted or end.closing,
        allow_partial=run.task.allow_partial_success and not run.read_back_contradicts,
        criteria_share=1.0 if criteria is None else criteria.share,
    )
    return choose_status(parts, ending, policy)


def build_result(
    engine: TaskExecution,
    run: TaskRun,
    end: TaskRunEnd,
    status: RunStatus,
    parts: Sequence[CompletionPart],
    started_at: datetime,
    started: float,
) -> RunResult:
    """The result of a task's run, without secrets. `started`: of `time.monotonic`."""
    context = engine.session.context
    counted = [part for part in parts if part.counts]
    failed_optional = [
        each.step_id
        for each in run.records
        if each.status is StepStatus.SKIPPED and each.error is not None and not each.degraded
    ]
    degraded = [part.step_id for part in parts if part.degraded]
    done = compute_percentage(parts) * (1.0 if run.criteria is None else run.criteria.share)
    redact = context.redact
    error = end.error or run.error
    return RunResult(
        run_id=context.run_id,
        website_id=engine.session.website.website_id,
        task_id=run.task.task_id,
        goal=describe_goal(run.task),
        status=status,
        evidence=run.evidence(status),
        started_at=started_at,
        duration_ms=(time.monotonic() - started) * 1000,
        steps=tuple(_mark_degraded(run.records, {*degraded, *failed_optional})),
        outputs=redact(run.outputs),
        error=redact(error),
        errors=tuple(redact(list(list_errors(run.records, error)))),
        hint=redact(end.hint),
        completion_percentage=round(min(done, 100.0), 1),
        completed_steps=sum(part.share > 0 for part in counted),
        total_steps=len(counted),
        degraded_steps=tuple(dict.fromkeys([*degraded, *failed_optional])),
        critical_missing=list_missing_steps(parts),
        best_effort_data=redact(collect_best_effort(run)),
        confidence_score=_confidence(run, parts),
        early_exit=run.early_exit,
        tried=tuple(each for each in run.ledger.tried if _belongs(run, each.task_id)),
        replans=run.ledger.total,
        values_read=run.ledger.seen if run.depth == 0 else 0,
        state_bytes=len(engine.checkpoints.state.model_dump_json()) if run.depth == 0 else 0,
    )


def _mark_degraded(records: Iterable[StepRecord], names: AbstractSet[str]) -> Iterator[StepRecord]:
    """Yield the records; those of steps that the run continued without, or that were done in part, are marked."""
    for each in records:
        yield each.model_copy(update={"degraded": True}) if each.step_id in names else each


def collect_best_effort(run: TaskRun) -> dict[str, Any]:
    """Return what the task and its sub-tasks read; sub-tasks by their paths."""
    inner = {
        path.removeprefix(f"{run.path}/"): values
        for path, values in run.ledger.data.items()
        if run.path is not None and path.startswith(f"{run.path}/")
    }
    own = run.ledger.data.get(run.path or "", {})
    return {**merge_values(own, run.outputs), **inner}


def _confidence(run: TaskRun, parts: Sequence[CompletionPart]) -> float:
    found = compute_confidence(parts, contradicted=run.contradicted)
    return found if run.criteria is None else round(min(found, run.criteria.confidence), 2)


def _belongs(run: TaskRun, task_id: str) -> bool:
    """The requested task reports every approach, a sub-task only its own."""
    return run.depth == 0 or task_id == run.task.task_id
