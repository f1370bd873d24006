"""Another task of the knowledge that promises what the step does not bring about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from agent.errors import NotInKnowledge
from agent.resilience.replanner import Failure, Plan
from agent.resilience.strategies.other_path import reached_screen
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.tasks import Task

NAME = "other_task"
MOST_LOOKED_AT = 10
"""Tasks whose definitions are read."""


class OtherTask:
    """Tasks with the same postconditions, whose inputs are there, and that change nothing the step would
    not change.
    """

    name = NAME

    async def plans(self, failure: Failure) -> Sequence[Plan]:
        """By id."""
        session = failure.engine.session
        wanted = await _wanted(failure)
        goal = reached_screen(wanted)
        if goal is None:
            return ()
        found = []
        running = failure.run.running
        for summary in (await session.knowledge.tasks_for_screen(goal))[:MOST_LOOKED_AT]:
            known = set(summary.required_inputs) <= failure.run.values.keys()
            if summary.task_id in running or not known:
                continue
            task = await session.knowledge.task(summary.task_id)
            if _said(wanted) <= _said(_promised(task)) and await _does_no_more(failure, task):
                inputs: dict[str, JsonValue] = {spec.name: f"{{{spec.name}}}" for spec in task.io_spec.inputs
                          if spec.name in failure.run.values}  # fmt: skip
                call = ActionCall(action_type="run_task", task_id=task.task_id, inputs=inputs)
                step = failure.step.model_copy(update={"action": call, "preconditions": ()})
                found.append(Plan(NAME, task.task_id, step))
        return found


async def _wanted(failure: Failure) -> tuple[BaseCondition, ...]:
    """What the step promises; what the task promises that it runs."""
    step = failure.step
    if step.postconditions or step.action.task_id is None:
        return step.postconditions
    try:
        task = await failure.engine.session.knowledge.task(step.action.task_id)
    except NotInKnowledge:
        return ()
    return task.success_criteria or task.ordered_steps[-1].postconditions


def _promised(task: Task) -> tuple[BaseCondition, ...]:
    return (*task.success_criteria, *task.ordered_steps[-1].postconditions)


def _said(conditions: Sequence[BaseCondition]) -> frozenset[str]:
    """What each asks for, whatever word it uses for a screen and however long it waits."""
    return frozenset(_one(condition) for condition in conditions)


def _one(condition: BaseCondition) -> str:
    screen = reached_screen((condition,))
    if screen is not None:
        return f"screen {screen}"
    data: dict[str, Any] = condition.to_json()
    for name in ("timeout", "reason", "success", "weight"):
        data.pop(name, None)
    return f"{condition.type} {sorted(data.items(), key=lambda item: item[0])}"


async def _does_no_more(failure: Failure, task: Task) -> bool:
    """A step that may be repeated is not replaced by a task that may not be."""
    if not failure.repeatable:
        return True
    return all([await failure.engine.steps.repeatable(step) for step in task.steps])
