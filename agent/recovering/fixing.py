"""Correcting what a form complains about: from the field's own message and the affordance's validation.

A value is put in again where it got lost, or in the notation the field wants (`spelling`). Nothing
is invented: what only another value would mend is asked of a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2

from agent.engine.calls import fill_call
from agent.errors import StepFailed, ValueRefused
from agent.page.complaints import RefusedField, complaints
from agent.page.errors import PageError
from agent.recovering.cases import Case, Outcome, recovery
from agent.recovering.spelling import notations
from kb_schema import vocabulary
from kb_schema.calls import ActionCall
from kb_schema.screens import FieldValidation, UIElement
from kb_schema.tasks import TaskStep
from kb_schema.templates import as_text, strings, variables
from kb_schema.validating import refusal

TRIED = "values tried"
"""Under this a case remembers what a field refused already."""


@recovery("fix_validation_errors", "identify_and_fix_errors", "fix_errors")
async def fix_validation_errors(case: Case) -> Outcome:
    """Every field that is refused gets its value again, in the notation it wants.

    Raises `ValueRefused`, naming field, value and what the page said, where that does not help.
    """
    session, run = case.engine.session, case.run
    if run is None:
        return Outcome.NO_HELP
    elements = await session.elements()
    found = await complaints(session.page, {name: each.selector for name, each in elements.items()})
    if not found.fields:
        return Outcome.NO_HELP
    for field in found.fields:
        step = _filled_by(case, field)
        if step is None:
            if not field.marked:
                continue  # some other form of the page
            raise _refused(field, field.value or "", ())
        call = fill_call(step.action, run.values)
        written = await _rewritten(case, field, step, call, elements.get(field.element or ""))
        try:
            await case.engine.actions.perform(call.model_copy(update={"value": written}), run.values)
        except (PageError, StepFailed):
            return Outcome.NO_HELP
    return Outcome.AGAIN


def _filled_by(case: Case, field: RefusedField) -> TaskStep | None:
    """The last step before the failing one that put something into the field."""
    if case.run is None or field.element is None:
        return None
    for step in reversed(case.run.steps[: case.index + 1]):
        if step.action.target == field.element and step.action.value is not None:
            return step
    return None


async def _rewritten(
    case: Case, field: RefusedField, step: TaskStep, call: ActionCall, element: UIElement | None
) -> Any:
    """What is put in next. Raises `ValueRefused` where nothing is left to try."""
    meant = as_text(call.value)
    tried: set[str] = case.memory.setdefault(f"{TRIED} {field.element}", set())
    if field.value is not None and field.value != meant and meant not in tried:
        tried.add(meant)
        if field.value == "":
            return call.value  # it got lost: the page was drawn anew, or took it away
    tried |= {meant, field.value or ""}
    for candidate in notations(meant, field):
        if candidate not in tried and _would_be_taken(candidate, field, element):
            tried.add(candidate)
            return candidate
    given = tuple(sorted(frozenset[str]().union(*(variables(t) for _, t in strings(step.action.value)))))
    asker = case.engine.session.context.asker
    if asker is not None and field.kind != "password":
        answer = await asker.ask(given[0] if given else field.label, _said(field), secret=False)
        if answer is not None and answer not in tried:
            tried.add(answer)
            return answer
    raise _refused(field, meant, given)


def _would_be_taken(value: str, field: RefusedField, element: UIElement | None) -> bool:
    """Judged by the page's own constraints and by the knowledge's, as far as either says."""
    page = FieldValidation(min_length=field.min_length, max_length=field.max_length)
    if refusal(page, value) is not None or not _fits(field.pattern, value):
        return False
    if field.options and value not in {each.value for each in field.options}:
        return False
    return all(refusal(each, value) is None for each in validations(element, "fill"))


def _fits(pattern: str | None, value: str) -> bool:
    """HTML's pattern is of the whole value; one that RE2 does not have says nothing."""
    if pattern is None:
        return True
    try:
        return re2.fullmatch(pattern, value) is not None
    except re2.error:
        return True


def validations(element: UIElement | None, action_type: str) -> Iterator[FieldValidation]:
    """What the knowledge says a field takes, for that action (or any, for a site's own recipe)."""
    canonical = vocabulary.canonical(action_type)
    for affordance in () if element is None else element.affordances:
        if affordance.validation is not None and canonical in (
            None, vocabulary.canonical(affordance.action_type)
        ):  # fmt: skip
            yield affordance.validation


def _said(field: RefusedField) -> str:
    return f"{field.label}: {field.message or 'the page does not accept this value'}"


def _refused(field: RefusedField, value: str, inputs: tuple[str, ...]) -> ValueRefused:
    told = "•••" if field.kind == "password" else value
    return ValueRefused(
        field.label, told, f"the page says: {field.message or 'invalid'}", "give another value", inputs=inputs
    )
