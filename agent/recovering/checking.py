"""Values are checked against what the knowledge says of their fields before anything is typed.

Of a whole task before its first step, as far as the values are known by then; of each step again
when its turn comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.engine.calls import fill_call
from agent.errors import NotInKnowledge, StepFailed, ValueRefused
from agent.recovering.fixing import validations
from agent.session import ElementScope
from kb_schema import vocabulary
from kb_schema.conditions import BaseCondition, OnScreen
from kb_schema.probes import Facts
from kb_schema.screens import UIElement
from kb_schema.tasks import TaskStep
from kb_schema.templates import as_text, strings, variables
from kb_schema.validating import refusal

if TYPE_CHECKING:
    from agent.engine.running import Run
    from agent.session import Session

_NOWHERE = ElementScope({}, ())


async def check_task(session: Session, run: Run) -> None:
    """Every value of a task that is known already, before its first step. Raises `ValueRefused`."""
    screen: str | None = None
    for step in run.steps:
        screen = _named(step.preconditions) or screen
        if screen is not None and _puts_in(step) and not left_out_for_certain(step, run.values):
            try:
                elements = (await session.knowledge.screen(screen)).ui_elements
            except NotInKnowledge:
                elements = ()
            named = (each for each in elements if each.element_id == step.action.target)
            check_step(step, next(named, None), run.values)
        screen = step.action.target_screen or _named(step.postconditions) or screen


def check_step(step: TaskStep, element: UIElement | None, values: Mapping[str, Any]) -> None:
    """A step's value against its element. Raises `ValueRefused`, naming field, value, rule and fix."""
    if element is None or not _puts_in(step):
        return
    try:
        value = fill_call(step.action, values).value
    except StepFailed:
        return  # it comes from a step before
    for validation in validations(element, step.action.action_type):
        broken = refusal(validation, value)
        if broken is not None:
            named = sorted(frozenset[str]().union(*(variables(t) for _, t in strings(step.action.value))))
            raise ValueRefused(element.label, as_text(value), broken.rule, broken.fix, inputs=named)


def _puts_in(step: TaskStep) -> bool:
    kind = vocabulary.action_type(step.action.action_type)
    return isinstance(step.action.target, str) and step.action.value is not None and (
        kind is None or kind.takes_value
    )  # fmt: skip


def _named(conditions: tuple[BaseCondition, ...]) -> str | None:
    return next((each.screen_id for each in conditions if isinstance(each, OnScreen)), None)


def left_out_for_certain(step: TaskStep, values: Mapping[str, Any]) -> bool:
    """Whether one of the step's `skip_when` holds by the run's values alone: the page is not asked."""
    facts = Facts(context=values)
    return any(condition.judge(facts, _NOWHERE).held for condition in step.skip_when)
