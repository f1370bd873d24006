"""Makes the recovery of steps that are blocked by what came by itself: the press that answered it in the demonstrations.

The recovery is a task of its own, skipped where its element is missing. Each other task names it for the errors that
something in the way causes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb_schema.conditions import Combined, Condition
from kb_schema.error_handling import FailureRecovery, TaskStrategy
from kb_schema.tasks import Task

BLOCKED = ("element_covered", "element_not_editable")
"""The errors (`kb_schema.error_handling.ERRORS`) of a step whose element something else keeps from being used."""


def make_recovery(task: Task, task_id: str, condition: Condition) -> Task:
    """Return a task of one press as a recovery: skipped unless `condition` holds."""
    missing = Combined(type="none_of", conditions=(condition,))
    steps = tuple(step.model_copy(update={"skip_when": (missing,)}) for step in task.steps)
    return task.model_copy(update={"task_id": task_id, "steps": steps})


def add_recoveries(tasks: Iterable[Task], recoveries: Sequence[Task]) -> tuple[Task, ...]:
    """Return the tasks, which use the recoveries in turn where a step is blocked, and the recoveries."""
    strategies = tuple(
        TaskStrategy(
            condition=error,
            recovery=each.task_id,
            reason="in the demonstrations it came at some other step, and was answered so",
        )
        for each in recoveries
        for error in BLOCKED
    )
    handled = FailureRecovery(strategies=strategies)
    return (*(task.model_copy(update={"failure_recovery": handled}) for task in tasks), *recoveries)
