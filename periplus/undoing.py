"""`periplus run --undo`: what a run's journal says was done, undone by the tasks the knowledge names.

Each is an errand of its own, with its own journal and read-back, under an id that follows from what it
undoes: cut off and asked for again, it is carried on and not begun anew.
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

from agent.engine.keeping import FOR_UNDOING, LATEST
from agent.engine.undoing import UNDO, Reversal, undoing_of
from kb_schema.base import Model
from kb_schema.runs import EvidenceLevel, RunResult, RunStatus, StoredRun
from kb_store.run_leases import holding_run
from kb_store.runs import RunStore
from periplus.errands import Errand, Gear, carry_out
from periplus.errors import UserError
from periplus.outputs import output_folder

MOST_TRIES = 20
"""Undoings of one thing that failed for good, before it is left alone."""


class Undone(Model):
    """One thing that a run did, and what became of it."""

    did: str
    """The task that did it."""
    by: str
    """The task that undoes it."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    run_id: str | None = None
    """Of the undoing."""
    evidence: EvidenceLevel | None = None
    error: str | None = None
    """Why it is not undone."""


class Stays(Model):
    """One thing that cannot be undone, and why."""

    did: str
    reason: str


class UndoReport(Model):
    """What undoing a run came to."""

    run_id: str
    undone: tuple[Undone, ...] = ()
    before: tuple[Undone, ...] = ()
    """Undone already, by an earlier undoing."""
    failed: tuple[Undone, ...] = ()
    stays: tuple[Stays, ...] = ()

    @property
    def complete(self) -> bool:
        """Nothing that the run did is left."""
        return not self.failed and not self.stays


async def undo_run(
    run: StoredRun, gear: Gear, *, base_url: str | None = None, values: Mapping[str, object] | None = None
) -> UndoReport:
    """Undo what can be undone, the last thing first; stops at the first that fails, since what was done
    before it may be what it stands on.

    Raises `UserError` where there is nothing, `RunHeld` where the run goes on or another one undoes it.
    """
    runs = gear.runs
    async with holding_run(runs.leases, run.run_id, on_lost=lambda: gear.stop.ask("the run was taken over")):
        plan = undoing_of(await runs.journal(run.run_id))
        if not (plan.to_do or plan.stays or plan.undone):
            raise UserError(
                f"run {run.run_id} ({run.subject}) did nothing that would have to be undone",
                fix=f"`periplus runs show {run.run_id}` shows what it did",
            )
        undone: list[Undone] = []
        failed: list[Undone] = []
        for reversal in plan.to_do:
            errand = await _errand(run, reversal, runs, base_url or run.url, values or {})
            folder = output_folder(gear.folder / f"undo-{len(undone) + 1}")
            result = await _carried_out(errand, gear, folder, runs)
            told = _told(reversal, result)
            if not result.succeeded:
                failed.append(told)
                break
            await runs.conclude_action(run.run_id, reversal.key, "happened")
            undone.append(told)
        if not failed:
            for name in (LATEST, FOR_UNDOING):  # what was undone is neither carried on nor undone again
                await runs.drop_checkpoint(run.run_id, name)
        return UndoReport(
            run_id=run.run_id,
            undone=tuple(undone),
            before=tuple(_named(each) for each in plan.undone),
            failed=tuple(failed),
            stays=tuple(Stays(did=each.did, reason=each.reason) for each in plan.stays),
        )


async def _errand(
    run: StoredRun, reversal: Reversal, runs: RunStore, base_url: str, values: Mapping[str, object]
) -> Errand:
    """The undoing of one thing: begun, or carried on where it was cut off. Raises `UserError`."""
    kept = await runs.checkpoint(run.run_id, FOR_UNDOING)
    known = kept.state if kept is not None and isinstance(kept.state, dict) else {}
    errand = Errand(
        run.website_id, reversal.task_id, base_url=base_url, values={**values, **reversal.inputs},
        undoes=True, storage=known.get("storage"),
    )  # fmt: skip
    for number in range(MOST_TRIES):
        run_id = _id_of(run, reversal, number)
        earlier = await runs.run(run_id)
        if earlier is None or earlier.status is RunStatus.SUCCESS:
            return replace(errand, run_id=run_id)
        if await runs.checkpoint(run_id) is not None:
            return replace(errand, run_id=run_id, carries_on=True)
        doubts = [e for e in await runs.journal(run_id) if e.outcome is None and e.action != UNDO]
        if doubts:
            raise UserError(
                f"an earlier undoing of {reversal.did} was cut off, and what it did is not known any more",
                fix=f"`periplus runs show {run_id}` shows how far it came; look on the site",
            )
    raise UserError(
        f"undoing {reversal.did} failed {MOST_TRIES} times", fix="look on the site, and undo it by hand"
    )


async def _carried_out(errand: Errand, gear: Gear, folder: Path, runs: RunStore) -> RunResult:
    """The errand's result; of one that came to its end before its end was noted, that one."""
    earlier = await runs.run(errand.run_id)
    if earlier is not None and earlier.status is RunStatus.SUCCESS and earlier.finished_at is not None:
        return RunResult(
            run_id=earlier.run_id, website_id=earlier.website_id, task_id=earlier.subject,
            status=earlier.status, evidence=earlier.evidence or EvidenceLevel.UNVERIFIED,
            started_at=earlier.started_at, duration_ms=earlier.duration_ms or 0.0, outputs=earlier.outputs,
        )  # fmt: skip
    return await carry_out(errand, replace(gear, folder=folder))


def _id_of(run: StoredRun, reversal: Reversal, number: int) -> str:
    """Always the same for the same thing."""
    told = json.dumps([run.run_id, reversal.key, number])
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _named(reversal: Reversal) -> Undone:
    return Undone(did=reversal.did, by=reversal.task_id, inputs=dict(reversal.inputs))


def _told(reversal: Reversal, result: RunResult) -> Undone:
    error = None if result.succeeded else result.error or str(result.status)
    return _named(reversal).model_copy(
        update={"run_id": result.run_id, "evidence": result.evidence, "error": error}
    )


def tell_undone(report: UndoReport, console: Console, *, as_json: bool) -> None:
    """The report for people, or as JSON on standard output."""
    if as_json:
        print(report.model_dump_json(indent=2))  # noqa: T201 - the one thing that is asked for
        return
    for each in report.undone:
        _line(console, "green", f"undone: {_what(each)}", str(each.evidence))
    for each in report.before:
        _line(console, "dim", f"undone before: {_what(each)}", None)
    for each in report.failed:
        _line(console, "red", f"not undone: {_what(each)}", each.error)
    for left in report.stays:
        _line(console, "yellow", f"cannot be undone: {left.did}", left.reason)
    if report.failed:
        _line(console, "green", f"-> put it right, then again: periplus run --undo {report.run_id}", None)


def _what(undone: Undone) -> str:
    given = ", ".join(f"{name}={value}" for name, value in undone.inputs.items())
    return f"{undone.did}, by {undone.by}" + (f" ({given})" if given else "")


def _line(console: Console, style: str, text: str, reason: str | None) -> None:
    more = f": {escape(reason)}" if reason else ""
    console.print(f"[{style}]{escape(text)}[/]{more}", soft_wrap=True, highlight=False)
