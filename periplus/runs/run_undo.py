"""`periplus run --undo`: undoes the steps in a run's journal with the tasks that the knowledge base names.

Each undo is its own run with its own journal and read-back. Its id is derived from the step that it undoes, so an
interrupted undo is resumed instead of repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field, JsonValue
from rich.console import Console
from rich.markup import escape

from agent.execution.effects.undo import UNDO, UndoableEffect, build_undo_plan
from agent.execution.persistence.checkpoints import FOR_UNDOING, LATEST
from kb_schema.base import Model
from kb_schema.run_records import EvidenceLevel, RunResult, StoredRun
from kb_store.runs.run_leases import hold_run_lease
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.output_folder import prepare_output_folder
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run

MOST_TRIES = 20
"""Maximum number of failed attempts to undo one step."""


class UndoneEffect(Model):
    """One step of a run, and the result of undoing it."""

    did: str
    """The task that did it."""
    by: str
    """The task that undoes it."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    run_id: str | None = None
    """The run id of the undo."""
    evidence: EvidenceLevel | None = None
    error: str | None = None
    """Why it was not undone."""


class PermanentEffect(Model):
    """A step that cannot be undone, with the reason."""

    did: str
    reason: str


class UndoReport(Model):
    """The result of undoing a run."""

    run_id: str
    undone: tuple[UndoneEffect, ...] = ()
    before: tuple[UndoneEffect, ...] = ()
    """Undone by an earlier undo."""
    failed: tuple[UndoneEffect, ...] = ()
    stays: tuple[PermanentEffect, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether all effects of the run are undone."""
        return not self.failed and not self.stays


async def undo_run(
    run: StoredRun,
    resources: TaskRunResources,
    *,
    base_url: str | None = None,
    values: Mapping[str, object] | None = None,
) -> UndoReport:
    """Undo a run's steps in reverse order; stop at the first failure, because it may depend on earlier steps.

    Raises `UserError` if there is nothing to undo, `RunHeld` if the run is active or is already being undone.
    """
    runs = resources.runs
    async with hold_run_lease(
        runs.leases, run.run_id, on_lost=lambda: resources.stop.ask("the run was taken over")
    ):
        plan = build_undo_plan(await runs.journal(run.run_id))
        if not (plan.to_do or plan.stays or plan.undone):
            raise UserError(
                f"run {run.run_id} ({run.subject}) has nothing to undo",
                fix=f"`periplus runs show {run.run_id}` shows its steps",
            )
        undone: list[UndoneEffect] = []
        failed: list[UndoneEffect] = []
        for reversal in plan.to_do:
            run_request = await _build_undo_request(run, reversal, runs, base_url or run.url, values or {})
            folder = prepare_output_folder(resources.folder / f"undo-{len(undone) + 1}")
            result = await _execute_undo_task(run_request, resources, folder, runs)
            told = _build_undone_effect(reversal, result)
            if not result.complete:
                failed.append(told)
                break
            await runs.conclude_action(run.run_id, reversal.key, "happened")
            undone.append(told)
        if not failed:
            for name in (LATEST, FOR_UNDOING):  # an undone run can be neither resumed nor undone again
                await runs.drop_checkpoint(run.run_id, name)
        return UndoReport(
            run_id=run.run_id,
            undone=tuple(undone),
            before=tuple(_describe_reversal(each) for each in plan.undone),
            failed=tuple(failed),
            stays=tuple(PermanentEffect(did=each.did, reason=each.reason) for each in plan.stays),
        )


async def _build_undo_request(
    run: StoredRun, reversal: UndoableEffect, runs: RunStore, base_url: str, values: Mapping[str, object]
) -> TaskRunRequest:
    """Return the request that undoes one step, or resumes an interrupted undo. Raises `UserError`."""
    kept = await runs.checkpoint(run.run_id, FOR_UNDOING)
    known = kept.state if kept is not None and isinstance(kept.state, dict) else {}
    run_request = TaskRunRequest(
        run.website_id,
        reversal.task_id,
        base_url=base_url,
        values={**values, **reversal.inputs},
        undoes=True,
        storage=known.get("storage"),
    )
    for number in range(MOST_TRIES):
        run_id = _build_undo_run_id(run, reversal, number)
        earlier = await runs.run(run_id)
        if earlier is None or (earlier.status is not None and earlier.status.complete):
            return replace(run_request, run_id=run_id)
        if await runs.checkpoint(run_id) is not None:
            return replace(run_request, run_id=run_id, carries_on=True)
        doubts = [e for e in await runs.journal(run_id) if e.outcome is None and e.action != UNDO]
        if doubts:
            raise UserError(
                f"an earlier undo of {reversal.did} was interrupted and has no checkpoint",
                fix=f"`periplus runs show {run_id}` shows its steps; check the site",
            )
    raise UserError(
        f"undoing {reversal.did} failed {MOST_TRIES} times", fix="check the site and undo it by hand"
    )


async def _execute_undo_task(
    run_request: TaskRunRequest, resources: TaskRunResources, folder: Path, runs: RunStore
) -> RunResult:
    """Execute the undo and return its result; if it had already ended, the stored result."""
    earlier = await runs.run(run_request.run_id)
    if (
        earlier is not None
        and earlier.status is not None
        and earlier.status.complete
        and earlier.finished_at is not None
    ):
        return RunResult(
            run_id=earlier.run_id,
            website_id=earlier.website_id,
            task_id=earlier.subject,
            status=earlier.status,
            evidence=earlier.evidence or EvidenceLevel.UNVERIFIED,
            started_at=earlier.started_at,
            duration_ms=earlier.duration_ms or 0.0,
            outputs=earlier.outputs,
        )
    return await execute_task_run(run_request, replace(resources, folder=folder))


def _build_undo_run_id(run: StoredRun, reversal: UndoableEffect, number: int) -> str:
    """Return the run id of an undo; always the same for the same step."""
    told = json.dumps([run.run_id, reversal.key, number])
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _describe_reversal(reversal: UndoableEffect) -> UndoneEffect:
    return UndoneEffect(did=reversal.did, by=reversal.task_id, inputs=dict(reversal.inputs))


def _build_undone_effect(reversal: UndoableEffect, result: RunResult) -> UndoneEffect:
    error = None if result.complete else result.error or str(result.status)
    return _describe_reversal(reversal).model_copy(
        update={"run_id": result.run_id, "evidence": result.evidence, "error": error}
    )


def print_undo_report(report: UndoReport, console: Console, *, as_json: bool) -> None:
    """Print the report for people, or as JSON."""
    if as_json:
        print(report.model_dump_json(indent=2))  # noqa: T201 - the output of --json
        return
    for each in report.undone:
        _line(console, "green", f"undone: {_format_effect(each)}", str(each.evidence))
    for each in report.before:
        _line(console, "dim", f"undone earlier: {_format_effect(each)}", None)
    for each in report.failed:
        _line(console, "red", f"not undone: {_format_effect(each)}", each.error)
    for left in report.stays:
        _line(console, "yellow", f"cannot be undone: {left.did}", left.reason)
    if report.failed:
        _line(console, "green", f"-> fix the problem, then repeat: periplus run --undo {report.run_id}", None)


def _format_effect(undone: UndoneEffect) -> str:
    given = ", ".join(f"{name}={value}" for name, value in undone.inputs.items())
    return f"{undone.did}, by {undone.by}" + (f" ({given})" if given else "")


def _line(console: Console, style: str, text: str, reason: str | None) -> None:
    more = f": {escape(reason)}" if reason else ""
    console.print(f"[{style}]{escape(text)}[/]{more}", soft_wrap=True, highlight=False)
