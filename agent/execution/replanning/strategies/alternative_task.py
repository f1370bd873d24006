"""Another task that promises what the step should bring about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from agent.errors import UnknownToKnowledge
from agent.execution.replanning.replanner import UnresolvedStepFailure
from agent.execution.replanning.strategies.alternative_path import find_reached_screen
from agent.execution.task_run import StepReplan
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.tasks import Task

NAME = "other_task"
MOST_LOOKED_AT = 10
"""Tasks whose definitions are read."""


class AlternativeTask:
    """Tasks with the same postconditions whose inputs are known, and that change nothing the step would not
    change.
    """

    name = NAME

    async def plans(self, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
        """Return plans ordered by task id."""
        session = failure.engine.session
        wanted = await _list_wanted_conditions(failure)
        goal = find_reached_screen(wanted)
        if goal is None:
            return ()
        found = []
        running = failure.run.running
        for summary in (await session.knowledge.tasks_for_screen(goal))[:MOST_LOOKED_AT]:
            known = set(summary.required_inputs) <= failure.run.values.keys()
            if summary.task_id in running or not known:
                continue
            task = await session.knowledge.task(summary.task_id)
            if _condition_keys(wanted) <= _condition_keys(
                _list_promised_conditions(task)
            ) and await _does_no_more(failure, task):
                inputs: dict[str, JsonValue] = {
                    spec.name: f"{{{spec.name}}}"
                    for spec in task.io_spec.inputs
                    if spec.name in failure.run.values
                }
                call = ActionCall(action_type="run_task", task_id=task.task_id, inputs=inputs)
                step = failure.step.model_copy(update={"action": call, "preconditions": ()})
                found.append(StepReplan(NAME, task.task_id, step))
        return found


async def _list_wanted_conditions(failure: UnresolvedStepFailure) -> tuple[BaseCondition, ...]:
    """The step's postconditions, else those of the task that it calls."""
    step = failure.step
    if step.postconditions or step.action.task_id is None:
        return step.postconditions
    try:
        task = await failure.engine.session.knowledge.task(step.action.task_id)
    except UnknownToKnowledge:
        return ()
    return task.success_criteria or task.ordered_steps[-1].postconditions


def _list_promised_conditions(task: Task) -> tuple[BaseCondition, ...]:
    return (*task.success_criteria, *task.ordered_steps[-1].postconditions)


def _condition_keys(conditions: Sequence[BaseCondition]) -> frozenset[str]:
    """Return what each condition asks for, whatever type it uses for a screen and however long it waits."""
    return frozenset(_condition_key(condition) for condition in conditions)


def _condition_key(condition: BaseCondition) -> str:
    screen = find_reached_screen((condition,))
    if screen is not None:
        return f"screen {screen}"
    data: dict[str, Any] = condition.to_json()
    for name in ("timeout", "reason", "success", "weight"):
        data.pop(name, None)
    return f"{condition.type} {sorted(data.items(), key=lambda item: item[0])}"


async def _does_no_more(failure: UnresolvedStepFailure, task: Task) -> bool:
    """Whether the task may be repeated if the step may."""
    if not failure.repeatable:
        return True
    return all([await failure.engine.steps.repeatable(step) for step in task.steps])
