"""Action calls with their templates filled, and how they bind to action documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from agent.errors import StepFailed
from kb_schema import vocabulary
from kb_schema.actions import Action
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition, Condition
from kb_schema.rules.references import looks_like_css
from kb_schema.selectors import Selector
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
    is_one_variable,
    strings,
    url_spellings,
    variables,
)

_TARGET_PARAMETERS = ("target", "element", "element_id", "field_id")
_VALUE_PARAMETERS = ("text", "value", "option_value", "option", "keys", "file", "file_path")
CallT = TypeVar("CallT", bound=ActionCall)
_CONDITION: TypeAdapter[BaseCondition] = TypeAdapter(Condition)


class Known(str):
    """A target that knowledge names: it may be any CSS. What people type and pages say is none."""

    __slots__ = ()


def finds_its_own_way(call: ActionCall) -> bool:
    """Whether it does not matter where it begins: it says itself where to go."""
    return call.canonical_type == "navigate" and (call.target_screen or call.url) is not None


def _fill_target(template: str, values: Mapping[str, Any]) -> Any:
    """CSS or an element's id: what is filled in is quoted, so that no value can change what is meant,
    and a value that is the whole of it can only name an element.
    """
    if not variables(template):
        return template
    if not is_one_variable(template):
        return fill_css(template, values)
    value = fill_value(template, values)
    if isinstance(value, Known | Mapping):
        return value
    if not isinstance(value, str) or looks_like_css(value):
        raise ValueError(f"{as_text(value)!r} is no element's id, and only those may stand for {template}")
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
"""Field -> how it is filled, where a value would have a meaning of its own in it."""


def _filler(field: str) -> Callable[[str, Mapping[str, Any]], Any]:
    return _fill_target if field.endswith("selector") else _FILLERS.get(field, fill_value)


def filled(node: Any, values: Mapping[str, Any], field: str = "") -> Any:
    """JSON data with every `{x}` filled once, escaped where the field is a selector, a pattern or an
    address.

    Raises `StepFailed` for a variable without a value, or a value that cannot stand there.
    """
    if isinstance(node, dict):
        told = {
            name: filled_inputs(item, values) if name == "inputs" else filled(item, values, name)
            for name, item in node.items()
        }
        return _as_addresses_say(node, told, values) if node.get("type") == "url_contains" else told
    if isinstance(node, list | tuple):
        return [filled(item, values, field) for item in node]
    if not isinstance(node, str):
        return node
    try:
        return _filler(field)(node, values)
    except MissingVariable as exc:
        raise StepFailed(str(exc), error="missing_variable") from exc
    except ValueError as exc:
        raise StepFailed(str(exc), error="bad_value") from exc


def filled_inputs(inputs: Any, values: Mapping[str, Any]) -> Any:
    """What a task is called with, every `{x}` filled: the names are the task's own, and the values data,
    whatever they are called. Raises `StepFailed`.
    """
    try:
        return fill_tree(inputs, values)
    except MissingVariable as exc:
        raise StepFailed(str(exc), error="missing_variable") from exc


def _as_addresses_say(
    node: dict[str, Any], told: dict[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """What an address is to contain, spelt as addresses spell it."""
    template, names = node.get("value"), variables(str(node.get("value")))
    spellings = {name: url_spellings(as_text(values[name])) for name in names}
    if not isinstance(template, str) or all(len(each) == 1 for each in spellings.values()):
        return told
    most = max(map(len, spellings.values()))
    ways = [
        fill(template, {name: each[min(way, len(each) - 1)] for name, each in spellings.items()})
        for way in range(most)
    ]
    rest = {name: value for name, value in told.items() if name not in ("type", "value")}
    conditions = [{"type": "url_contains", "value": value} for value in dict.fromkeys(ways)]
    return {**rest, "type": "any_of", "conditions": conditions}


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


def bind(document: Action, call: ActionCall, authored: ActionCall) -> dict[str, Any]:
    """The values an action document's steps are filled with, from the call; `authored` is the call as
    knowledge states it, before it was filled: what has no `{x}` there is knowledge and no data.

    Parameters are bound by name; those named like a target or a value take the call's. Raises
    `StepFailed` where a required one is missing.
    """
    stated = {name for name, value in authored.parameters.items()
              if isinstance(value, str) and not variables(value)}  # fmt: skip
    used = {name for step in document.execution_steps for _, text in strings(step.to_json())
            for name in variables(text)}  # fmt: skip
    values: dict[str, Any] = {}
    for name in sorted({*document.parameters, *used}):
        value = _bound(name, call)
        parameter = document.parameters.get(name)
        if value is None and parameter is not None:
            value, stated = parameter.default, stated | {name}
        if isinstance(value, str) and name in stated:
            value = Known(value)
        if value is None and parameter is not None and parameter.required:
            raise StepFailed(f"action {document.action_id!r} needs {name!r}", error="missing_parameter")
        if value is not None:
            values[name] = value
        elif parameter is not None:
            values[name] = ""
    return values


def _bound(name: str, call: ActionCall) -> Any:
    if name in call.parameters:
        value = call.parameters[name]
        return _known(value) if name.endswith("selector") and isinstance(value, str) else value
    if name.endswith("selector") or name in _TARGET_PARAMETERS:
        return call.target.to_json() if isinstance(call.target, Selector) else _known(call.target)
    if name in _VALUE_PARAMETERS:
        return call.value
    if name in ("typing_speed", "speed"):
        return call.speed
    if name == "clear_first":
        return call.clear_first
    return None


def _known(target: str | None) -> Known | None:
    return None if target is None else Known(target)


def is_idempotent(call: ActionCall, document: Action | None) -> bool:
    """Whether the call may be repeated without asking the page first."""
    if document is not None:
        return document.idempotent
    kind = vocabulary.action_type(call.action_type)
    return kind is not None and kind.idempotent
