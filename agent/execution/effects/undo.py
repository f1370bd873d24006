"""Undo: which task reverses another, noted in the journal when the effect is known, and read to plan an
undo.

A note is a journal entry under the task's path: the reversing task and its inputs. It is concluded when the
reversal is done, so that a second undo does nothing. `periplus.runs.run_undo` runs the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.errors import JournalWriteRefused, StepFailed
from agent.execution.call_templates import fill_task_inputs
from agent.execution.persistence.checkpoint_state import remove_secret_values
from agent.execution.values.value_sources import MISSING
from kb_schema.run_records import StepStatus
from kb_schema.run_storage import JournalEntry
from kb_schema.templates import strings, variables

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun
    from kb_schema.tasks import TaskReversal, TaskStep

UNDO = "undo"
"""The action of a note."""
_MARK = "!undo"


@dataclass(frozen=True, slots=True)
class UndoableEffect:
    """An effect of a run that can be undone."""

    key: str
    """Key of the note."""
    did: str
    """The task that had the effect."""
    task_id: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LastingEffect:
    """An effect that cannot be undone, and why."""

    did: str
    reason: str


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What undoing a run will do."""

    to_do: tuple[UndoableEffect, ...]
    """In the order to execute: the latest effect first."""
    stays: tuple[LastingEffect, ...]
    undone: tuple[UndoableEffect, ...]
    """Undone earlier."""


async def read_former_value(engine: TaskExecution, run: TaskRun, step: TaskStep) -> None:
    """Read values that the step is about to change, if undoing it needs them. Unreadable values stay
    unknown.
    """
    reversal = run.task.reversal
    for former in () if reversal is None or run.path is None else reversal.former:
        if former.before_step == step.step_id and former.name not in run.values:
            value = await engine.read(former.extraction, run.values)
            if value is not MISSING:
                run.values[former.name] = value


async def note_reversal(engine: TaskExecution, run: TaskRun, *, succeeded: bool) -> None:
    """Write a note how the task's effect is undone, if it is complete and the knowledge base says how.

    The journal tells whether the task had an effect. Repeatable steps have no journal entry; restoring a
    known former value is right if the task succeeded.
    """
    reversal = run.task.reversal
    if reversal is None or run.path is None:
        return
    if not (engine.checkpoints.happened(f"{run.path}/") or (succeeded and reversal.former)):
        return
    left = [step for step in run.steps if step.step_id not in run.frame.done]
    if not all([await engine.steps.repeatable(step) for step in left]):
        return  # it stopped before its effect
    details: dict[str, Any] = {"task": run.task.task_id, "by": reversal.task_id}
    values = {**run.values, **run.outputs}
    left_alone = _left_alone(run, reversal)
    wanted = {
        name: value
        for name, value in reversal.inputs.items()
        if not any(variables(text) & left_alone for _, text in strings(value))
    }
    try:
        inputs = fill_task_inputs(wanted, {name: v for name, v in values.items() if v is not None})
    except StepFailed as exc:
        details["unknown"] = str(exc)
    else:
        open_ = remove_secret_values(inputs, engine.session.context.redact(inputs))
        if len(open_) < len(inputs):
            details["unknown"] = f"{', '.join(sorted(inputs.keys() - open_.keys()))} is secret"
        else:
            details["inputs"] = inputs
    with suppress(JournalWriteRefused):  # the task is done; it just cannot be undone automatically
        await engine.checkpoints.begin(f"{run.path}{_MARK}", UNDO, details)
        await engine.checkpoints.keep_for_undoing(engine.session.page)


def _left_alone(run: TaskRun, reversal: TaskReversal) -> frozenset[str]:
    """Former values of what the run did not change because it skipped every step that would."""
    skipped = {name for name, done in run.frame.done.items() if done.record.status is StepStatus.SKIPPED}
    changed = {former.name for former in reversal.former if former.before_step not in skipped}
    return frozenset(former.name for former in reversal.former) - changed - run.values.keys()


def build_undo_plan(entries: Sequence[JournalEntry]) -> UndoPlan:
    """Return what can be undone of a run and what cannot, from its journal.

    For a task inside a task, the outer task's note counts.
    """
    notes = [entry for entry in entries if entry.action == UNDO]
    paths = {_path(note) for note in notes}
    outermost = [note for note in notes if not any(_within(_path(note), path) for path in paths)]
    stays = {
        _owner(entry): _explain_lasting(entry)
        for entry in entries
        if entry.action != UNDO
        and entry.outcome != "did_not_happen"
        and not any(_within(entry.key, path) for path in paths)
    }
    to_do: list[UndoableEffect] = []
    undone: list[UndoableEffect] = []
    for note in sorted(outermost, key=lambda each: (each.begun_at, each.key), reverse=True):
        if "inputs" not in note.details:
            reason = str(note.details.get("unknown", "the journal has no reversal for it"))
            stays[str(note.details.get("task"))] = reason
            continue
        found = UndoableEffect(
            note.key, str(note.details["task"]), str(note.details["by"]), _mapping(note.details["inputs"])
        )
        (undone if note.outcome == "happened" else to_do).append(found)
    return UndoPlan(
        tuple(to_do), tuple(LastingEffect(did, reason) for did, reason in stays.items()), tuple(undone)
    )


def _explain_lasting(entry: JournalEntry) -> str:
    if entry.outcome is None:
        return "unknown whether it happened: resume the run first, `periplus run --resume RUN`"
    return "the knowledge base has no reversal for it (`reversible_by`)"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _path(note: JournalEntry) -> str:
    return note.key.partition(_MARK)[0]


def _within(key: str, path: str) -> bool:
    """Whether a step or task belongs to the task at that path."""
    return key.startswith(f"{path}/")


def _owner(entry: JournalEntry) -> str:
    """The task of an entry's step: `all/each[2]>create/submit` is of `create`."""
    return entry.key.rpartition("/")[0].rpartition(">")[2].partition("/")[0]
