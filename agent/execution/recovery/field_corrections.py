"""Corrects a form after validation errors, from the field's message and the affordance's validation.

A lost value is entered again, or written in the notation the field expects (`value_notations`). Values are
never invented: if only another value helps, a person is asked.
"""

from __future__ import annotations

from typing import Any

import re2

from agent.errors import StepFailed, ValueRefused
from agent.execution.call_templates import fill_call
from agent.execution.recovery.recovery_registry import RecoveryCase, RecoveryOutcome, register_recovery
from agent.execution.values.value_notations import list_notations
from agent.execution.values.value_validation import list_affordances
from agent.page.errors import PageError
from agent.page.page_problems import RefusedField, read_page_problems
from kb_schema.action_calls import ActionCall
from kb_schema.field_validation import find_violation
from kb_schema.screens import FieldValidation, UIElement
from kb_schema.tasks import TaskStep
from kb_schema.templates import as_text, strings, variables

TRIED = "values tried"
"""Key of a case's memory: values that a field refused already."""


@register_recovery("fix_validation_errors", "identify_and_fix_errors", "fix_errors")
async def fix_validation_errors(case: RecoveryCase) -> RecoveryOutcome:
    """Enter the value of every refused field again, in the notation the field expects.

    Raises `ValueRefused` with field, value and the page's message if that does not help.
    """
    session, run = case.engine.session, case.run
    if run is None:
        return RecoveryOutcome.NO_HELP
    elements = await session.elements()
    found = await read_page_problems(session.page, {name: each.selector for name, each in elements.items()})
    if not found.fields:
        return RecoveryOutcome.NO_HELP
    for field in found.fields:
        step = _find_filling_step(case, field)
        if step is None:
            if not field.marked:
                continue  # a field of another form
            raise _build_value_refused(field, field.value or "", ())
        call = fill_call(step.action, run.values)
        written = await _choose_value(case, field, step, call, elements.get(field.element or ""))
        try:
            await case.engine.actions.perform(call.model_copy(update={"value": written}), run.values)
        except (PageError, StepFailed):
            return RecoveryOutcome.NO_HELP
    return RecoveryOutcome.AGAIN


def _find_filling_step(case: RecoveryCase, field: RefusedField) -> TaskStep | None:
    """The last step up to the failing one that put a value into the field."""
    if case.run is None or field.element is None:
        return None
    for step in reversed(case.run.steps[: case.index + 1]):
        if step.action.target == field.element and step.action.value is not None:
            return step
    return None


async def _choose_value(
    case: RecoveryCase, field: RefusedField, step: TaskStep, call: ActionCall, element: UIElement | None
) -> Any:
    """Return the next value to enter. Raises `ValueRefused` if none is left."""
    meant = as_text(call.value)
    tried: set[str] = case.memory.setdefault(f"{TRIED} {field.element}", set())
    if field.value is not None and field.value != meant and meant not in tried:
        tried.add(meant)
        if field.value == "":
            return call.value  # the page was redrawn or cleared the field
    tried |= {meant, field.value or ""}
    for candidate in list_notations(meant, field):
        if candidate not in tried and _would_be_taken(candidate, field, element):
            tried.add(candidate)
            return candidate
    given = tuple(sorted(frozenset[str]().union(*(variables(t) for _, t in strings(step.action.value)))))
    asker = case.engine.session.context.asker
    if asker is not None and field.kind != "password":
        answer = await asker.ask(given[0] if given else field.label, _describe_refusal(field), secret=False)
        if answer is not None and answer not in tried:
            tried.add(answer)
            return answer
    raise _build_value_refused(field, meant, given)


def _would_be_taken(value: str, field: RefusedField, element: UIElement | None) -> bool:
    """Whether the value satisfies the page's constraints and those of the knowledge base, as far as they are
    known.
    """
    page = FieldValidation(min_length=field.min_length, max_length=field.max_length)
    if find_violation(page, value) is not None or not _fits(field.pattern, value):
        return False
    if field.options and value not in {each.value for each in field.options}:
        return False
    rules = (each.validation for each in list_affordances(element, "fill"))
    return all(rule is None or find_violation(rule, value) is None for rule in rules)


def _fits(pattern: str | None, value: str) -> bool:
    """HTML's pattern applies to the whole value; a pattern that RE2 does not support is ignored."""
    if pattern is None:
        return True
    try:
        return re2.fullmatch(pattern, value) is not None
    except re2.error:
        return True


def _describe_refusal(field: RefusedField) -> str:
    return f"{field.label}: {field.message or 'the page does not accept this value'}"


def _build_value_refused(field: RefusedField, value: str, inputs: tuple[str, ...]) -> ValueRefused:
    shown = "•••" if field.kind == "password" else value
    return ValueRefused(
        field.label,
        shown,
        f"the page says: {field.message or 'invalid'}",
        "give another value",
        inputs=inputs,
    )
