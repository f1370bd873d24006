"""What a visitor may have shown that no flow shows: a task that only looks is carried out, of any other its screen
is shown. Nobody but a flow's author puts on stage what changes something.
"""

from __future__ import annotations

from agent.engine.calls import is_idempotent
from kb_schema.conditions import OnScreen
from kb_schema.tasks import Task
from kb_schema.vocabulary import action_type


def only_looks(task: Task) -> bool:
    """Whether a task changes nothing, and needs no value that nobody gave."""
    needed = any(
        each.required and each.default is None and not each.from_task for each in task.io_spec.inputs
    )
    looks = all(
        step.repeatable is not False
        and is_idempotent(step.action, None)
        and not _changes(step.action.action_type)
        for step in task.steps
    )
    return looks and not needed


def _changes(name: str) -> bool:
    """Whether an action gives the page something; one that nobody knows does."""
    kind = action_type(name)
    return kind is None or kind.takes_value or kind.name in ("check", "uncheck", "clear")


def where_done(task: Task) -> str | None:
    """The screen a task is done on: the last one its own steps name before it leaves for another."""
    for step in task.ordered_steps:
        if step.action.target_screen is not None:
            return step.action.target_screen
        for condition in step.preconditions:
            if isinstance(condition, OnScreen):
                return condition.screen_id
    return None
