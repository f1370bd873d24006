"""The task that stands for a workflow's node with an iterator, so that the task runner executes all loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb_schema.action_calls import ActionCall
from kb_schema.io_specs import InputSpec, IoSpec, ValueType
from kb_schema.tasks import Task, TaskStep
from kb_schema.workflows import GroupNode, TaskNode

ITEM_NAMES = ("item", "item_index", "item_position")


def build_node_loop_task(task_id: str, node: TaskNode | GroupNode, values: Mapping[str, Any]) -> Task:
    """Build the task for a node with an iterator."""
    known = {name: value for name, value in values.items() if name.isidentifier() and name not in ITEM_NAMES}
    inputs = tuple(
        InputSpec(name=name, type=_type_of(value), required=False, source=("task_context",))
        for name, value in known.items()
    )
    step = TaskStep(
        step_id="loop", order=1, type="iterator", action=ActionCall(action_type="execute_iterator")
    )
    io_spec = IoSpec(inputs=inputs, context_persistence="task")
    made = Task(task_id=task_id, name=task_id, steps=(step,), io_spec=io_spec)
    # Only the task runner sees this task: validation refuses a group's iterator in authored tasks.
    return made.model_copy(update={"iterator_spec": node.iterator_spec})


def _type_of(value: Any) -> ValueType:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else "string"
