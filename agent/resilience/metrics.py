"""WR's measurements of one run ("Performance Metrics", "Monitoring & Alerts"), from its result. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.resilience.ledger import meaningful
from kb_schema.runs import RunResult, RunStatus

PARTLY = (RunStatus.PARTIAL, RunStatus.DEGRADED)
MEANINGFUL = (RunStatus.SUCCESS, *PARTLY)


def metrics_of(result: RunResult) -> dict[str, float]:
    """Name -> value, for the collection `metrics`. Rates are means over runs: of one run 0 or 1.

    `replans_of.TASK.STEP` is there for every step that was replanned.
    """
    kept = values_in(result.best_effort_data)
    lost = max(0, result.values_read - kept)
    told = {
        "replan_attempts": float(result.replans),
        "data_retention_rate": 1.0 if result.values_read == 0 else 1 - lost / result.values_read,
        "data_loss_incidents": float(lost > 0),
        "partial_success_rate": float(result.status in PARTLY),
        "degraded_completion_rate": float(bool(result.degraded_steps)),
        "completion_percentage": result.completion_percentage,
        "confidence_score": result.confidence_score,
        "workflow_duration_ms": result.duration_ms,
        "memory_bytes": float(result.state_bytes),
        "failed_approaches": float(sum(each.outcome == "failed" for each in result.tried)),
    }
    for each in result.tried:
        if each.approach != "authored":
            name = f"replans_of.{each.task_id}.{each.step_id}"
            told[name] = told.get(name, 0.0) + 1
    return told


def values_in(data: Mapping[str, Any]) -> int:
    """Values that say something; those of tasks within the task are under their paths."""
    return sum(
        values_in(value) if ">" in name and isinstance(value, dict) else meaningful(value)
        for name, value in data.items()
    )


def means(runs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of every measurement over the runs that have it."""
    found: dict[str, list[float]] = {}
    for run in runs:
        for name, value in run.items():
            found.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in sorted(found.items())}
