"""The means of the metrics of stored runs, for `periplus runs averages` and the console (WR metrics)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent.execution.results.run_metrics import compute_means
from kb_store.runs.run_store import RunStore

MEASURED_KINDS = frozenset({"task", "workflow"})


@dataclass(frozen=True, slots=True)
class RunAverages:
    """Means over runs."""

    runs: int
    """The number of runs with metrics."""
    means: Mapping[str, float]


async def average_runs(store: RunStore, website: str | None, limit: int) -> RunAverages:
    """Return the means over the runs of tasks and workflows that have metrics, among the newest `limit` runs."""
    newest = await store.runs(website_id=website, limit=limit)
    found = [
        {each.metric_name: each.metric_value for each in await store.metrics(run.run_id)}
        for run in newest
        if run.kind in MEASURED_KINDS
    ]
    measured = [each for each in found if each]
    return RunAverages(len(measured), compute_means(measured))
