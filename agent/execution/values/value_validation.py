"""Checks values against the rules of their fields before anything is typed.

A task's values are checked before its first step, as far as they are known; each step's value again when the
step runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent.errors import StepFailed, UnknownToKnowledge, ValueRefused
from agent.execution.call_templates import fill_call
from agent.session import ElementScope
from kb_schema import action_types
from kb_schema.conditions import BaseCondition, OnScreen
from kb_schema.field_validation import find_option_violation, find_violation
from kb_schema.probes import ProbeFacts
from kb_schema.screens import Affordance, UIElement
from kb_schema.tasks import TaskStep
from kb_schema.templates import as_text, tree_variables

if TYPE_CHECKING:
    from agent.execution.task_run import TaskRun
    from agent.session import Session

_NOWHERE = ElementScope({}, ())


async def check_task_values(session: Session, run: TaskRun) -> None:
    """Check every value of a task that is known before its first step. Raises `ValueRefused`."""
    screen: str | None = None
    for step in run.steps:
        screen = _named(step.preconditions) or screen
        if screen is not None and _puts_in(step) and not is_certainly_skipped(step, run.values):
            try:
                elements = (await session.knowledge.screen(screen)).ui_elements
            except UnknownToKnowledge:
                elements = ()
            named = (each for each in elements if each.element_id == step.action.target)
            check_step_value(step, next(named, None), run.values)
        screen = step.action.target_screen or _named(step.postconditions) or screen


def check_step_value(step: TaskStep, element: UIElement | None, values: Mapping[str, Any]) -> None:
    """Check a step's value against its element. Raises `ValueRefused` with field, value, rule and
    correction.
    """
    if element is None or not _puts_in(step):
        return
    try:
        value = fill_call(step.action, values).value
    except StepFailed:
        return  # an earlier step provides it
    for affordance in list_affordances(element, step.action.action_type):
        broken = None if affordance.validation is None else find_violation(affordance.validation, value)
        if broken is None and not affordance.options_as_seen:
            broken = find_option_violation(affordance.options, value)
        if broken is not None:
            named = sorted(tree_variables(step.action.value))
            raise ValueRefused(element.label, as_text(value), broken.rule, broken.fix, inputs=named)


def list_affordances(element: UIElement | None, action_type: str) -> Iterator[Affordance]:
    """Yield an element's affordances for an action (for any action, if it is a website's own recipe)."""
    canonical = action_types.canonical(action_type)
    for affordance in () if element is None else element.affordances:
        if canonical in (None, action_types.canonical(affordance.action_type)):
            yield affordance


def _puts_in(step: TaskStep) -> bool:
    kind = action_types.action_type(step.action.action_type)
    return (
        isinstance(step.action.target, str)
        and step.action.value is not None
        and (kind is None or kind.takes_value)
    )


def _named(conditions: tuple[BaseCondition, ...]) -> str | None:
    return next((each.screen_id for each in conditions if isinstance(each, OnScreen)), None)


def is_certainly_skipped(step: TaskStep, values: Mapping[str, Any]) -> bool:
    """Return whether one of the step's `skip_when` holds by the run's values alone, without the page."""
    facts = ProbeFacts(context=values)
    return any(condition.judge(facts, _NOWHERE).held for condition in step.skip_when)
