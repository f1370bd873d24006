"""What each input of a task is: in words, with an example, and with what its field accepts.

The knowledge base says it in two places: the input's own `io_spec`, and the element whose step takes its value
(options, validation, label, placeholder). An example is only given where one of them has it, or where the type
has one form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kb_schema import action_types
from kb_schema.io_specs import InputSpec
from kb_schema.screens import Affordance, FieldValidation, UIElement
from kb_schema.selectors import NameStrategy, SemanticStrategy, TemplateStrategy
from kb_schema.tasks import Task, TaskStep
from kb_schema.templates import as_text, is_one_variable, tree_variables
from kb_schema.tool_answers import TaskInput
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.knowledge.task_screens import find_step_screen

MOST_ALLOWED = 20
"""Allowed values that are listed; a longer list is in the screen."""
_EXAMPLES = {"date": "2026-01-31", "number": "1.5", "integer": "1", "boolean": "true"}


def describe_inputs(view: KnowledgeView, task: Task) -> tuple[TaskInput, ...]:
    """Return the inputs of a task, in its own order. Secrets have neither example nor default."""
    fields = _fields_of_inputs(view, task)
    return tuple(_describe_input(spec, fields.get(spec.name)) for spec in task.io_spec.inputs)


def _describe_input(spec: InputSpec, field: tuple[UIElement, Affordance] | None) -> TaskInput:
    element, affordance = field or (None, None)
    options = affordance.options if affordance is not None else ()
    allowed = tuple(
        option.value + (f" ({option.label})" if option.label and option.label != option.value else "")
        for option in options[:MOST_ALLOWED]
    )
    label = element.label if element is not None else ""
    rules = [
        *(_describe_rules(affordance.validation) if affordance and affordance.validation else ()),
        *([f"{len(options) - MOST_ALLOWED} more values"] if len(options) > MOST_ALLOWED else []),
    ]
    known = [spec.default, spec.value, *(option.value for option in options[:1]), _EXAMPLES.get(spec.type)]
    example = next((as_text(each) for each in known if each is not None), None)
    placeholder = _placeholder(element) if element is not None else ""
    return TaskInput(
        name=spec.name,
        needed=spec.required and spec.default is None and not spec.secret,
        what=spec.description or spec.prompt or label or spec.name.replace("_", " "),
        example=None if spec.secret else example,
        allowed=allowed,
        rules=(*rules, *([f"the field shows {placeholder!r}"] if placeholder else [])),
        secret=spec.secret,
    )


def _fields_of_inputs(view: KnowledgeView, task: Task) -> dict[str, tuple[UIElement, Affordance]]:
    """Return, by input, the first element that takes its value unchanged, with the affordance that is used."""
    found: dict[str, tuple[UIElement, Affordance]] = {}
    screen: str | None = None
    for step in task.ordered_steps:
        screen = find_step_screen(step, view.places.owners) or screen
        target = step.action.target
        element = view.elements.get(screen or "", {}).get(target) if isinstance(target, str) else None
        if element is None:
            continue
        for affordance in _used_affordances(element, step):
            for name in _inputs_of(step, element):
                found.setdefault(name, (element, affordance))
    return found


def _used_affordances(element: UIElement, step: TaskStep) -> Iterator[Affordance]:
    """Yield the affordances of the step's action; of any action if it is a recipe of the website."""
    wanted = action_types.canonical(step.action.action_type)
    for affordance in element.affordances:
        if wanted in (None, action_types.canonical(affordance.action_type)):
            yield affordance


def _inputs_of(step: TaskStep, element: UIElement) -> Iterator[str]:
    """Yield the variables that the step gives to the element unchanged, or by which it is chosen."""
    value: Any = step.action.value
    if isinstance(value, str) and is_one_variable(value):
        yield from tree_variables(value)
    for strategy in element.selector.strategies:
        if isinstance(strategy, TemplateStrategy):
            yield from strategy.parameters


def _describe_rules(rules: FieldValidation) -> Iterator[str]:
    if rules.min_length is not None or rules.max_length is not None:
        yield f"{rules.min_length or 0} to {rules.max_length or 'any number of'} characters"
    if rules.min is not None or rules.max is not None:
        bounds = (("at least", rules.min), ("at most", rules.max))
        yield " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)
    if rules.pattern is not None:
        yield f"pattern {rules.pattern}"


def _placeholder(element: UIElement) -> str:
    for strategy in element.selector.strategies:
        if isinstance(strategy, NameStrategy) and strategy.type == "placeholder":
            return strategy.name
        if isinstance(strategy, SemanticStrategy) and strategy.placeholder_contains:
            return strategy.placeholder_contains
    return ""
