"""Which tasks of a website succeeded in a run."""

from __future__ import annotations

from kb_schema.run_records import RunStatus
from kb_store.runs.run_store import RunStore

MOST_RUNS = 1_000
"""The latest runs that are looked at."""


async def list_tried_tasks(runs: RunStore, website_id: str) -> frozenset[str]:
    """Return the ids of tasks that succeeded in one of the latest runs."""
    found = await runs.runs(website_id=website_id, limit=MOST_RUNS)
    return frozenset(
        each.subject for each in found if each.kind == "task" and each.status is RunStatus.SUCCESS
    )
