"""Action calls with their templates filled, and how they bind to action documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from agent.errors import StepFailed
from kb_schema import vocabulary
from kb_schema.actions import Action
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition, Condition
from kb_schema.selectors import Selector
from kb_schema.templates import MissingVariable, fill_tree, strings, variables

_TARGET_PARAMETERS = ("target", "element", "element_id", "field_id")
_VALUE_PARAMETERS = ("text", "value", "option_value", "option", "keys", "file", "file_path")
_CONDITION: TypeAdapter[BaseCondition] = TypeAdapter(Condition)


def fill_call(call: ActionCall, values: Mapping[str, Any]) -> ActionCall:
    """The call with every `{x}` filled; selectors keep their `{{x}}`.

    Raises `StepFailed` for a variable without a value.
    """
    data = call.to_json()
    kept = {
        name: data.pop(name)
        for name in ("target", "fallback_actions", "narration", "condition")
        if name in data
    }
    try:
        filled = fill_tree(data, values)
        if isinstance(kept.get("target"), str):
            kept["target"] = fill_tree(kept["target"], values)
    except MissingVariable as exc:
        raise StepFailed(str(exc), error="missing_variable") from exc
    return type(call).model_validate({**filled, **kept})


def fill_condition(condition: BaseCondition, values: Mapping[str, Any]) -> BaseCondition:
    """The condition with every `{x}` filled; one whose variable has no value stays as it is and
    so cannot hold.
    """
    data = condition.to_json()
    if not any(variables(text) for _, text in strings(data)):
        return condition
    try:
        return _CONDITION.validate_python(fill_tree(data, values))
    except MissingVariable:
        return condition


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
