"""What a run's result says of its goal and of everything that went wrong (WR 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from kb_schema.run_records import StepRecord
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow


def describe_goal(work: Task | Workflow) -> str:
    """Return what a task or workflow is for: its description, else its name, else its id in words."""
    return work.description or work.name or work.local_id.replace("_", " ")


def list_errors(records: Sequence[StepRecord], final: str | None) -> tuple[str, ...]:
    """Return the first error of each step in order, each with its step, and the run's own error.

    The run's own error is told once: at the place of its step, else at the end. A run that continued without a step has later ones.
    """
    first: dict[tuple[str, str], str] = {}
    for each in records:
        if each.error is not None:
            first.setdefault((each.task_id, each.step_id), each.error)
    found = [
        final if final is not None and error in final else f"step {task_id}.{step_id}: {error}"
        for (task_id, step_id), error in first.items()
    ]
    return tuple(dict.fromkeys([*found, *([] if final is None else [final])]))
