"""What undoes a run: noted in its journal when a task's effect is known, read from there to undo it.

A note is an entry of its own, under the task's path: which task undoes this one, with which inputs.
It is concluded once that was done, so that undoing twice undoes once. Carrying it out is
`periplus.undoing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.engine.calls import filled_inputs
from agent.engine.state import without_secrets
from agent.errors import NotKept, StepFailed
from agent.inputs.sources import MISSING
from kb_schema.runs import StepStatus
from kb_schema.storage import JournalEntry
from kb_schema.templates import strings, variables

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run
    from kb_schema.tasks import TaskReversal, TaskStep

UNDO = "undo"
"""The action of a note."""
_MARK = "!undo"


@dataclass(frozen=True, slots=True)
class Reversal:
    """One thing that a run did and that can be undone."""

    key: str
    """Of the note."""
    did: str
    """The task that did it."""
    task_id: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing that stays as it is, and why."""

    did: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undoing:
    """What undoing a run comes to."""

    to_do: tuple[Reversal, ...]
    """In the order in which to do it: the last thing first."""
    stays: tuple[Kept, ...]
    undone: tuple[Reversal, ...]
    """Before, by another undoing."""


async def read_former(engine: Engine, run: Run, step: TaskStep) -> None:
    """Read what the step is about to change, where undoing it needs that. What cannot be read is not known."""
    reversal = run.task.reversal
    for former in () if reversal is None or run.path is None else reversal.former:
        if former.before_step == step.step_id and former.name not in run.values:
            value = await engine.read(former.extraction, run.values)
            if value is not MISSING:
                run.values[former.name] = value


async def note_reversal(engine: Engine, run: Run, *, succeeded: bool) -> None:
    """Write down how what the task did is undone, where it did all of it and the knowledge says how.

    The journal says whether it did; of what may be repeated there is nothing in it, but where what was
    there before is known, putting that back is right if the task succeeded.
    """
    reversal = run.task.reversal
    if reversal is None or run.path is None:
        return
    if not (engine.keeper.happened(f"{run.path}/") or (succeeded and reversal.former)):
        return
    left = [step for step in run.steps if step.step_id not in run.frame.done]
    if not all([await engine.steps.repeatable(step) for step in left]):
        return  # it stopped before what it is for
    details: dict[str, Any] = {"task": run.task.task_id, "by": reversal.task_id}
    values = {**run.values, **run.outputs}
    left_alone = _left_alone(run, reversal)
    wanted = {
        name: value for name, value in reversal.inputs.items()
        if not any(variables(text) & left_alone for _, text in strings(value))
    }  # fmt: skip
    try:
        inputs = filled_inputs(wanted, {name: v for name, v in values.items() if v is not None})
    except StepFailed as exc:
        details["unknown"] = str(exc)
    else:
        open_ = without_secrets(inputs, engine.session.context.redact(inputs))
        if len(open_) < len(inputs):
            details["unknown"] = f"{', '.join(sorted(inputs.keys() - open_.keys()))} is secret"
        else:
            details["inputs"] = inputs
    with suppress(NotKept):  # the work is done; it cannot be undone by itself then
        await engine.keeper.begin(f"{run.path}{_MARK}", UNDO, details)
        await engine.keeper.keep_for_undoing(engine.session.page)


def _left_alone(run: Run, reversal: TaskReversal) -> frozenset[str]:
    """Former values of what the run did not change, since it left out every step that would have."""
    skipped = {name for name, done in run.frame.done.items() if done.record.status is StepStatus.SKIPPED}
    changed = {former.name for former in reversal.former if former.before_step not in skipped}
    return frozenset(former.name for former in reversal.former) - changed - run.values.keys()


def undoing_of(entries: Sequence[JournalEntry]) -> Undoing:
    """What a run's journal says can be undone, and what cannot.

    Of a task within a task the outer one's note counts, which knows all of it.
    """
    notes = [entry for entry in entries if entry.action == UNDO]
    paths = {_path(note) for note in notes}
    outermost = [note for note in notes if not any(_within(_path(note), path) for path in paths)]
    stays = {
        _owner(entry): _why_it_stays(entry)
        for entry in entries
        if entry.action != UNDO and entry.outcome != "did_not_happen"
        and not any(_within(entry.key, path) for path in paths)
    }  # fmt: skip
    to_do: list[Reversal] = []
    undone: list[Reversal] = []
    for note in sorted(outermost, key=lambda each: (each.begun_at, each.key), reverse=True):
        if "inputs" not in note.details:
            reason = str(note.details.get("unknown", "what undoes it was not written down"))
            stays[str(note.details.get("task"))] = reason
            continue
        found = Reversal(
            note.key, str(note.details["task"]), str(note.details["by"]), _mapping(note.details["inputs"])
        )
        (undone if note.outcome == "happened" else to_do).append(found)
    return Undoing(tuple(to_do), tuple(Kept(did, reason) for did, reason in stays.items()), tuple(undone))


def _why_it_stays(entry: JournalEntry) -> str:
    if entry.outcome is None:
        return "whether it happened is not known yet: carry the run on first, `periplus run --resume RUN`"
    return "the knowledge names nothing that undoes it (`reversible_by`)"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _path(note: JournalEntry) -> str:
    return note.key.partition(_MARK)[0]


def _within(key: str, path: str) -> bool:
    """Whether a step or a task is part of the task at that path."""
    return key.startswith(f"{path}/")


def _owner(entry: JournalEntry) -> str:
    """The task whose step an entry is: `all/each[2]>create/submit` is of `create`."""
    return entry.key.rpartition("/")[0].rpartition(">")[2].partition("/")[0]
