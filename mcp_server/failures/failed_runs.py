"""Recorded runs as evidence: which step of a run failed, and what the run recorded about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kb_schema.run_records import StoredRun, StoredStep
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.failures.failure_case import ReportedFailure

LATEST = "latest"
"""Instead of a run's id: the newest run that did not succeed."""
MOST_RUNS_SEARCHED = 100
"""How many of the newest runs are searched for it."""


class RunReader(Protocol):
    """Recorded runs, to read. `kb_store.runs.run_store.RunStore` satisfies it. May raise `StoreError`."""

    async def run(self, run_id: str) -> StoredRun | None:
        """One run."""

    async def runs(self, *, website_id: str | None = None, limit: int = 100) -> Sequence[StoredRun]:
        """The newest runs first."""

    async def steps(self, run_id: str) -> Sequence[StoredStep]:
        """A run's steps, by `step_idx`."""


async def read_failed_run(
    reader: RunReader, website_id: str, run_id: str
) -> tuple[StoredRun, ReportedFailure]:
    """Return a run that did not succeed, and what it recorded about the failure.

    Raises `UnknownName` for an unknown run, `BadRequest` for one that succeeded or is still running.
    """
    run = await _run(reader, website_id, run_id)
    steps = await reader.steps(run.run_id)
    failed = [step for step in steps if step.status == "failed"]
    if not failed and run.error is None:
        if run.finished_at is None:
            raise BadRequest(f"run {run.run_id!r} has not ended", hint="ask again once it has")
        if run.status is not None and run.status.complete:
            raise BadRequest(f"run {run.run_id!r} succeeded", hint="nothing of it failed")
    last = failed[-1] if failed else None
    before = next((step for step in reversed(steps) if step.screen_id is not None), None)
    return run, ReportedFailure(
        error=((last.error_message if last else None) or run.error or "")[:20_000] or None,
        task_id=last.task_id if last else run.subject if run.kind == "task" else None,
        step_id=last.step_id if last else None,
        screen_id=(last.screen_id if last else None) or (before.screen_id if before else None),
        element_id=last.element if last else None,
        action_type=last.action if last else None,
    )


async def _run(reader: RunReader, website_id: str, run_id: str) -> StoredRun:
    if run_id != LATEST:
        found = await reader.run(run_id)
        if found is None or found.website_id != website_id:
            known = [
                each.run_id for each in await reader.runs(website_id=website_id, limit=MOST_RUNS_SEARCHED)
            ]
            raise UnknownName("run", run_id, known, hint=f"{LATEST!r} is the newest that did not succeed")
        return found
    for each in await reader.runs(website_id=website_id, limit=MOST_RUNS_SEARCHED):
        if each.finished_at is not None and not (each.status is not None and each.status.complete):
            return each
    raise BadRequest("no recorded run failed", hint="describe the failure: error, task_id, step_id, snapshot")
