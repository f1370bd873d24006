"""Builds the result of a workflow's run from its nodes: status, completion, data, approaches tried (WR 5.1, 5.2)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from kb_schema.run_records import EvidenceLevel, RunResult, RunStatus, StepRecord, StepStatus
from kb_schema.workflows import Workflow

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution


@dataclass(frozen=True, slots=True)
class WorkflowRunEnd:
    """How a workflow's run ended."""

    error: str | None = None
    hint: str | None = None
    needs_person: bool = False
    closing: bool = False
    """All nodes are done; the success criteria do not hold."""
    early_exit: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowRecords:
    """What a run of a workflow left: the records of steps, how each node ended, the results of its tasks."""

    steps: Sequence[StepRecord]
    ended: Mapping[str, StepRecord]
    results: Sequence[RunResult]


def choose_workflow_status(
    parts: Sequence[CompletionPart], end: WorkflowRunEnd, policy: ResiliencePolicy
) -> RunStatus:
    """Return the status by what is done of the nodes. A run that failed with nothing done is a failure."""
    if end.error is not None and not end.needs_person and not any(part.share > 0 for part in parts):
        return RunStatus.FAILURE
    factors = StatusFactors(
        needs_person=end.needs_person,
        failed=end.error is not None or end.early_exit,
        contradicted=end.closing,
    )
    return choose_status(parts, factors, policy)


def build_workflow_result(
    engine: TaskExecution,
    workflow: Workflow,
    version: str | None,
    end: WorkflowRunEnd,
    status: RunStatus,
    evidence: EvidenceLevel,
    parts: Sequence[CompletionPart],
    records: WorkflowRecords,
    started_at: datetime,
    started: float,
) -> RunResult:
    """Return the result of a workflow's run, without secrets. `started`: of `time.monotonic`."""
    context, state = engine.session.context, engine.checkpoints.state
    redact, ledger = context.redact, state.ledger
    workflow_id = workflow.workflow_id
    outputs: dict[str, Any] = {}
    for result in records.results:
        outputs = merge_values(outputs, result.outputs)
    counted = [part for part in parts if part.counts]
    degraded = [part.step_id for part in parts if part.degraded]
    optional = [
        name
        for name, record in records.ended.items()
        if record.status is StepStatus.SKIPPED and record.error is not None
    ]
    nothing = end.error is not None and not any(part.share > 0 for part in parts)
    return RunResult(
        run_id=context.run_id,
        website_id=engine.session.website.website_id,
        task_id=workflow_id,
        workflow_version=version,
        goal=describe_goal(workflow),
        status=status.with_evidence(evidence),
        evidence=evidence,
        started_at=started_at,
        duration_ms=(time.monotonic() - started) * 1000,
        steps=tuple(records.steps),
        outputs=redact(outputs),
        error=redact(end.error),
        errors=tuple(redact(list(list_errors(records.steps, end.error)))),
        hint=redact(end.hint),
        completion_percentage=0.0 if nothing else compute_percentage(parts),
        completed_steps=sum(part.share > 0 for part in counted),
        total_steps=len(counted),
        degraded_steps=tuple(dict.fromkeys([*degraded, *optional])),
        critical_missing=list_missing_steps(parts),
        best_effort_data=redact(
            {path.removeprefix(f"{workflow_id}/"): dict(values) for path, values in ledger.data.items()}
        ),
        confidence_score=compute_confidence(parts, contradicted=end.closing),
        early_exit=end.early_exit,
        tried=tuple(ledger.tried),
        replans=ledger.total,
        values_read=ledger.seen,
        state_bytes=len(state.model_dump_json()),
    )
