"""Action calls with their templates filled, and how they bind to action documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from agent.errors import StepFailed
from kb_schema import vocabulary
from kb_schema.actions import Action
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition, Condition
from kb_schema.selectors import Selector
from kb_schema.tasks import Task
from kb_schema.templates import (
    MissingVariable,
    as_text,
    fill_css,
    fill_pattern,
    fill_value,
    is_one_variable,
    strings,
    variables,
)

_TARGET_PARAMETERS = ("target", "element", "element_id", "field_id")
_VALUE_PARAMETERS = ("text", "value", "option_value", "option", "keys", "file", "file_path")
CallT = TypeVar("CallT", bound=ActionCall)
_CONDITION: TypeAdapter[BaseCondition] = TypeAdapter(Condition)


_SELECTORS = frozenset({"target", "element", "selector", "collection_selector"})
"""Fields that hold CSS: what is filled in is quoted, so that no value can change what is meant."""
_PATTERNS = frozenset({"pattern"})


def filled(node: Any, values: Mapping[str, Any], field: str = "") -> Any:
    """JSON data with every `{x}` filled, escaped where the field is a selector or a pattern.

    Raises `StepFailed` for a variable without a value, or a value that cannot stand there.
    """
    if isinstance(node, dict):
        return {name: filled(item, values, name) for name, item in node.items()}
    if isinstance(node, list | tuple):
        return [filled(item, values, field) for item in node]
    if not isinstance(node, str):
        return node
    try:
        if field in _PATTERNS:
            return fill_pattern(node, values)
        if field in _SELECTORS and variables(node) and not is_one_variable(node):
            return fill_css(node, values)
        return fill_value(node, values)
    except MissingVariable as exc:
        raise StepFailed(str(exc), error="missing_variable") from exc
    except ValueError as exc:
        raise StepFailed(str(exc), error="bad_value") from exc


def names_used(call: ActionCall, task: Task) -> frozenset[str]:
    """The variables that a step's action is filled with; those of the task's iterator where it runs it."""
    told: list[Any] = [call.to_json()]
    if call.canonical_type == "execute_iterator":
        told.append(task.iterator_spec.to_json())
    return frozenset[str]().union(*(variables(text) for node in told for _, text in strings(node)))


def fill_call(call: CallT, values: Mapping[str, Any]) -> CallT:
    """The call with every `{x}` filled; whole selectors keep their `{{x}}`. Raises `StepFailed`."""
    data = call.to_json()
    kept: dict[str, Any] = {
        name: data.pop(name) for name in ("fallback_actions", "narration", "condition") if name in data
    }
    if isinstance(data.get("target"), dict):
        kept["target"] = data.pop("target")
    return type(call).model_validate({**filled(data, values), **kept})


def fill_condition(condition: BaseCondition, values: Mapping[str, Any]) -> BaseCondition:
    """The condition with every `{x}` filled. Raises `StepFailed`."""
    data = condition.to_json()
    if not any(variables(text) for _, text in strings(data)):
        return condition
    told = filled(data, values)
    try:
        return _CONDITION.validate_python(told)
    except ValidationError:
        pass  # a number where text is compared: as the page would show it
    try:
        return _CONDITION.validate_python(_texts(told))
    except ValidationError as exc:
        raise StepFailed(
            f"condition {condition.type} cannot be stated with these values: {exc.errors()[0]['msg']}",
            error="bad_value",
        ) from exc


def _texts(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _texts(item) for name, item in node.items()}
    if isinstance(node, list):
        return [_texts(item) for item in node]
    return as_text(node) if isinstance(node, int | float) and not isinstance(node, bool) else node


def fill_conditions(
    conditions: tuple[BaseCondition, ...], values: Mapping[str, Any]
) -> tuple[BaseCondition, ...]:
    """All of them."""
    return tuple(fill_condition(condition, values) for condition in conditions)


def bind(document: Action, call: ActionCall) -> dict[str, Any]:
    """The values an action document's steps are filled with, from the call.

    Parameters are bound by name; those named like a target or a value take the call's. Raises
    `StepFailed` where a required one is missing.
    """
    used = {name for step in document.execution_steps for _, text in strings(step.to_json())
            for name in variables(text)}  # fmt: skip
    values: dict[str, Any] = {}
    for name in sorted({*document.parameters, *used}):
        value = _bound(name, call)
        parameter = document.parameters.get(name)
        if value is None and parameter is not None:
            value = parameter.default
        if value is None and parameter is not None and parameter.required:
            raise StepFailed(f"action {document.action_id!r} needs {name!r}", error="missing_parameter")
        if value is not None:
            values[name] = value
        elif parameter is not None:
            values[name] = ""
    return values


def _bound(name: str, call: ActionCall) -> Any:
    if name in call.parameters:
        return call.parameters[name]
    if name.endswith("selector") or name in _TARGET_PARAMETERS:
        return call.target.to_json() if isinstance(call.target, Selector) else call.target
    if name in _VALUE_PARAMETERS:
        return call.value
    if name in ("typing_speed", "speed"):
        return call.speed
    if name == "clear_first":
        return call.clear_first
    return None


def is_idempotent(call: ActionCall, document: Action | None) -> bool:
    """Whether the call may be repeated without asking the page first."""
    if document is not None:
        return document.idempotent
    kind = vocabulary.action_type(call.action_type)
    return kind is not None and kind.idempotent
