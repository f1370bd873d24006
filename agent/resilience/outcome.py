"""A task's run as its result: status, completion, confidence, data, what was tried (WR 5.1, 5.2)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.resilience.completion import Ending, confidence, missing, percentage, status_of
from agent.resilience.ledger import merged
from kb_schema.runs import RunResult, RunStatus, StepStatus

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run


@dataclass(frozen=True, slots=True)
class End:
    """How a task's run came to its end."""

    error: str | None = None
    hint: str | None = None
    needs_person: bool = False
    closing: bool = False
    """The error came after its steps: what it is for is not there, or cannot be told."""


async def status_at(engine: Engine, run: Run, end: End) -> RunStatus:
    """What the run is called."""
    parts = await engine.resilience.parts(run)
    criteria = run.criteria
    ending = Ending(
        needs_person=end.needs_person,
        failed=end.error is not None or run.early_exit,
        contradicted=run.contradicted or end.closing,
        allow_partial=run.task.allow_partial_success and not run.read_back_contradicts,
        criteria_share=1.0 if criteria is None else criteria.share,
    )
    return status_of(parts, ending, engine.resilience.policy(run))


async def result_of(
    engine: Engine, run: Run, end: End, status: RunStatus, started_at: datetime, started: float
) -> RunResult:
    """Everything there is to tell, without secrets."""
    context, parts = engine.session.context, await engine.resilience.parts(run)
    counted = [part for part in parts if part.counts]
    failed_optional = [
        each.step_id for each in run.records
        if each.status is StepStatus.SKIPPED and each.error is not None and not each.degraded
    ]  # fmt: skip
    degraded = [part.step_id for part in parts if part.degraded]
    done = percentage(parts) * (1.0 if run.criteria is None else run.criteria.share)
    redact = context.redact
    error = end.error or run.error
    return RunResult(
        run_id=context.run_id,
        website_id=engine.session.website.website_id,
        task_id=run.task.task_id,
        status=status,
        evidence=run.evidence(status),
        started_at=started_at,
        duration_ms=(time.monotonic() - started) * 1000,
        steps=tuple(run.records),
        outputs=redact(run.outputs),
        error=redact(error),
        hint=redact(end.hint),
        completion_percentage=round(min(done, 100.0), 1),
        completed_steps=sum(part.share > 0 for part in counted),
        total_steps=len(counted),
        degraded_steps=tuple(dict.fromkeys([*degraded, *failed_optional])),
        critical_missing=missing(parts),
        best_effort_data=redact(best_effort(run)),
        confidence_score=_confidence(run, parts),
        early_exit=run.early_exit,
        tried=tuple(each for each in run.ledger.tried if _belongs(run, each.task_id)),
        replans=run.ledger.total,
        values_read=run.ledger.seen if run.depth == 0 else 0,
        state_bytes=len(engine.keeper.state.model_dump_json()) if run.depth == 0 else 0,
    )


def best_effort(run: Run) -> dict[str, Any]:
    """What the task read, and what the tasks within it read, by their paths."""
    inner = {
        path.removeprefix(f"{run.path}/"): values for path, values in run.ledger.data.items()
        if run.path is not None and path.startswith(f"{run.path}/")
    }  # fmt: skip
    own = run.ledger.data.get(run.path or "", {})
    return {**merged(own, run.outputs), **inner}


def _confidence(run: Run, parts: Any) -> float:
    found = confidence(parts, contradicted=run.contradicted)
    return found if run.criteria is None else round(min(found, run.criteria.confidence), 2)


def _belongs(run: Run, task_id: str) -> bool:
    """The task that was asked for tells of everything, those within it of themselves."""
    return run.depth == 0 or task_id == run.task.task_id
