"""WR's metrics of one run ("Performance Metrics", "Monitoring & Alerts"), from its result. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.run_context import is_meaningful
from kb_schema.run_records import RunResult, RunStatus

PARTLY = (RunStatus.PARTIAL, RunStatus.DEGRADED)
MEANINGFUL = (RunStatus.SUCCESS, *PARTLY)


def compute_run_metrics(result: RunResult) -> dict[str, float]:
    """Return name -> value, for the collection `metrics`. Rates of a single run are 0 or 1.

    `model_cost_usd` is missing if a language model without a known price was used. `replans_of.TASK.STEP` exists for every step that was replanned.
    """
    kept = collect_values(result.best_effort_data)
    lost = max(0, result.values_read - kept)
    metrics = {
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
        "model_calls": float(result.model_use.calls),
        "model_tokens": float(result.model_use.tokens),
    }
    if result.model_use.cost_usd is not None:
        metrics["model_cost_usd"] = result.model_use.cost_usd
    for each in result.tried:
        if each.approach != "authored":
            name = f"replans_of.{each.task_id}.{each.step_id}"
            metrics[name] = metrics.get(name, 0.0) + 1
    return metrics


def collect_values(data: Mapping[str, Any]) -> int:
    """Count the values that are not empty; values of sub-tasks are under their paths."""
    return sum(
        collect_values(value) if ">" in name and isinstance(value, dict) else is_meaningful(value)
        for name, value in data.items()
    )


def compute_means(runs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every metric over the runs that have it."""
    found: dict[str, list[float]] = {}
    for run in runs:
        for name, value in run.items():
            found.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in sorted(found.items())}
