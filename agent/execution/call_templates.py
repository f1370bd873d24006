"""Fills templates in action calls and conditions, and binds calls to action documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from agent.errors import StepFailed
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.action_documents import Action, Parameter
from kb_schema.conditions import BaseCondition, Condition
from kb_schema.declared_types import convert_parameter
from kb_schema.selectors import Selector, looks_like_css
from kb_schema.tasks import Task
from kb_schema.templates import (
    MissingVariable,
    as_text,
    fill,
    fill_css,
    fill_pattern,
    fill_tree,
    fill_url,
    fill_value,
    fill_xpath,
    is_one_variable,
    is_xpath,
    strings,
    tree_variables,
    url_spellings,
    variables,
)

_TARGET_PARAMETERS = ("target", "element", "element_id", "field_id")
_VALUE_PARAMETERS = ("text", "value", "option_value", "option", "keys", "file", "file_path")
COMPOSITE_ACTIONS = frozenset({"run_task", "execute_iterator"})
"""Actions made of other steps: each of those is checkpointed by itself."""
CallT = TypeVar("CallT", bound=ActionCall)
_CONDITION: TypeAdapter[BaseCondition] = TypeAdapter(Condition)


class AuthoredTarget(str):
    """A target from the knowledge base: it may be any CSS. Values from people and pages never are."""

    __slots__ = ()


def can_start_anywhere(call: ActionCall) -> bool:
    """Return whether the call works on any page because it names its own destination."""
    return call.canonical_type == "navigate" and (call.target_screen or call.url) is not None


def _fill_target(template: str, values: Mapping[str, Any]) -> Any:
    """Fill CSS, XPath or an element id. Values are quoted, so that none can change the meaning of the CSS; a value
    that is the whole target can only be an element id.
    """
    if not variables(template):
        return template
    if is_xpath(template):
        return fill_xpath(template, values)
    if not is_one_variable(template):
        return fill_css(template, values)
    value = fill_value(template, values)
    if isinstance(value, AuthoredTarget | Mapping):
        return value
    if not isinstance(value, str) or looks_like_css(value):
        raise ValueError(f"{template}: expected an element id, found {as_text(value)!r}")
    return value


_FILLERS: dict[str, Callable[[str, Mapping[str, Any]], Any]] = {
    "target": _fill_target,
    "element": _fill_target,
    "element_id": _fill_target,
    "field_id": _fill_target,
    "fields": _fill_target,
    "pattern": fill_pattern,
    "url": fill_url,
}
"""Field -> its filler, for fields in which a value needs escaping."""


def _filler(field: str) -> Callable[[str, Mapping[str, Any]], Any]:
    return _fill_target if field.endswith("selector") else _FILLERS.get(field, fill_value)


def fill_templates(node: Any, values: Mapping[str, Any], field: str = "") -> Any:
    """Return JSON data with every `{x}` filled once, escaped in selectors, patterns and addresses.

    Raises `StepFailed` for a variable without a value, or a value that is not allowed there.
    """
    if isinstance(node, dict):
        filled = {
            name: fill_task_inputs(item, values) if name == "inputs" else fill_templates(item, values, name)
            for name, item in node.items()
        }
        return _fill_url_condition(node, filled, values) if node.get("type") == "url_contains" else filled
    if isinstance(node, list | tuple):
        return [fill_templates(item, values, field) for item in node]
    if not isinstance(node, str):
        return node
    try:
        return _filler(field)(node, values)
    except MissingVariable as exc:
        raise StepFailed(str(exc), error="missing_variable") from exc
    except ValueError as exc:
        raise StepFailed(str(exc), error="bad_value") from exc


def fill_task_inputs(inputs: Any, values: Mapping[str, Any]) -> Any:
    """Return a task's inputs with every `{x}` filled; values are data, whatever their names. Raises
    `StepFailed`.
    """
    try:
        return fill_tree(inputs, values)
    except MissingVariable as exc:
        raise StepFailed(str(exc), error="missing_variable") from exc


def _fill_url_condition(
    node: dict[str, Any], filled: dict[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Fill the text of a `url_contains` in each way that URLs encode it."""
    template, names = node.get("value"), variables(str(node.get("value")))
    spellings = {name: url_spellings(as_text(values[name])) for name in names}
    if not isinstance(template, str) or all(len(each) == 1 for each in spellings.values()):
        return filled
    most = max(map(len, spellings.values()))
    ways = [
        fill(template, {name: each[min(way, len(each) - 1)] for name, each in spellings.items()})
        for way in range(most)
    ]
    rest = {name: value for name, value in filled.items() if name not in ("type", "value")}
    conditions = [{"type": "url_contains", "value": value} for value in dict.fromkeys(ways)]
    return {**rest, "type": "any_of", "conditions": conditions}


def list_used_variables(call: ActionCall, task: Task) -> frozenset[str]:
    """Return the variables of a step's action; for an iterator step also those of the task's iterator."""
    parts: list[Any] = [call.to_json()]
    if call.canonical_type == "execute_iterator":
        parts.append(task.iterator_spec.to_json())
    return tree_variables(parts)


def fill_call(call: CallT, values: Mapping[str, Any]) -> CallT:
    """Return the call with every `{x}` filled; whole selectors keep their `{{x}}`. Raises `StepFailed`."""
    data = call.to_json()
    kept: dict[str, Any] = {
        name: data.pop(name)
        for name in ("fallback_actions", "fingerprint", "narration", "condition")
        if name in data
    }
    if isinstance(data.get("target"), dict):
        kept["target"] = data.pop("target")
    return type(call).model_validate({**fill_templates(data, values), **kept})


def fill_condition(condition: BaseCondition, values: Mapping[str, Any]) -> BaseCondition:
    """Return the condition with every `{x}` filled. Raises `StepFailed`."""
    data = condition.to_json()
    if not tree_variables(data):
        return condition
    filled = fill_templates(data, values)
    try:
        return _CONDITION.validate_python(filled)
    except ValidationError:
        pass  # a number in a text comparison: use the text a page shows
    try:
        return _CONDITION.validate_python(_texts(filled))
    except ValidationError as exc:
        raise StepFailed(
            f"condition {condition.type} is invalid with these values: {exc.errors()[0]['msg']}",
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
    """Fill several conditions."""
    return tuple(fill_condition(condition, values) for condition in conditions)


def bind_call(document: Action, call: ActionCall, authored: ActionCall) -> dict[str, Any]:
    """Return the values for an action document's steps, from the call.

    `authored` is the call before its templates were filled: what has no `{x}` there comes from the knowledge
    base and is no data. Parameters are bound by name; those named like a target or a value get the call's.
    Raises `StepFailed` if a required one is missing, or a value is not of the declared type.
    """
    stated = {
        name for name, value in authored.parameters.items() if isinstance(value, str) and not variables(value)
    }
    used = {
        name
        for step in document.execution_steps
        for _, text in strings(step.to_json())
        for name in variables(text)
    }
    values: dict[str, Any] = {}
    for name in sorted({*document.parameters, *used}):
        value = _bind_parameter(name, call)
        parameter = document.parameters.get(name)
        if value == "" and parameter is not None and parameter.type != "string":
            value = None  # an optional input of the task that was not given
        if value is None and parameter is not None:
            value, stated = parameter.default, stated | {name}
        if isinstance(value, str) and name in stated:
            value = AuthoredTarget(value)
        if value is None and parameter is not None and parameter.required:
            raise StepFailed(
                f"action {document.action_id!r} requires the parameter {name!r}", error="missing_parameter"
            )
        if value is not None:
            values[name] = value if parameter is None else _convert(document, name, parameter, value)
        elif parameter is not None:
            values[name] = ""
    return values


def _convert(document: Action, name: str, parameter: Parameter, value: Any) -> Any:
    try:
        return convert_parameter(parameter.type, value)
    except ValueError as exc:
        problem = f"expected {parameter.type}, found another value" if parameter.secret else str(exc)
        raise StepFailed(
            f"action {document.action_id!r}, parameter {name!r}: {problem}", error="bad_value"
        ) from exc


def _bind_parameter(name: str, call: ActionCall) -> Any:
    if name in call.parameters:
        value = call.parameters[name]
        return _mark_authored(value) if name.endswith("selector") and isinstance(value, str) else value
    if name.endswith("selector") or name in _TARGET_PARAMETERS:
        return call.target.to_json() if isinstance(call.target, Selector) else _mark_authored(call.target)
    if name in _VALUE_PARAMETERS:
        return call.value
    if name in ("typing_speed", "speed"):
        return call.speed
    if name == "clear_first":
        return call.clear_first
    return None


def _mark_authored(target: str | None) -> AuthoredTarget | None:
    return None if target is None else AuthoredTarget(target)


def is_idempotent(call: ActionCall, document: Action | None) -> bool:
    """Return whether the call may be repeated without checking the page first."""
    if document is not None:
        return document.idempotent
    kind = action_types.action_type(call.action_type)
    return kind is not None and kind.idempotent
