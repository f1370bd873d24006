"""Conditions, calls and selectors in a few words, for evidence and for text answers."""

from __future__ import annotations

from typing import Any

from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.selectors import Selector

_OMITTED_FIELDS = frozenset(BaseCondition.model_fields) | {"type"}
_LONG = 60


def describe_condition(condition: BaseCondition) -> str:
    """`dom_contains 'Create agent'`, `authenticated`, `any_of(url_matches '^/a$', ...)`."""
    name = str(getattr(condition, "type", type(condition).__name__))
    values = [
        (field, getattr(condition, field))
        for field, info in type(condition).model_fields.items()
        if field not in _OMITTED_FIELDS and getattr(condition, field) != info.default
    ]
    nested = [part for _, value in values if isinstance(value, tuple) for part in value]
    if nested and all(isinstance(part, BaseCondition) for part in nested):
        return f"{name}({', '.join(describe_condition(part) for part in nested)})"
    return " ".join([name, *(describe_value(value) for _, value in values)])


def describe_value(value: Any) -> str:
    """A short, quoted form of a field's value."""
    if isinstance(value, Selector):
        return describe_selector(value)
    if isinstance(value, BaseCondition):
        return describe_condition(value)
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


def describe_selector(selector: Selector) -> str:
    """The first strategy of a selector."""
    first = selector.ordered[0].model_dump(exclude_defaults=True)
    kind = first.pop("type")
    said = ", ".join(
        str(value) for key, value in first.items() if key not in ("fallback", "confidence", "meta")
    )
    return f"{kind}({said})"


def describe_call(call: ActionCall) -> str:
    """`fill agent_name`, `navigate dashboard`, `run_task login`."""
    target = describe_selector(call.target) if isinstance(call.target, Selector) else call.target
    what = target or call.target_screen or call.task_id or call.url
    return f"{call.canonical_type} {what}" if what else call.canonical_type
