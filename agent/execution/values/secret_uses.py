"""Where a run's secrets may stand in an action: only in a value that is typed into a field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.errors import StepFailed
from kb_schema.action_calls import ActionCall
from kb_schema.action_types import action_type
from kb_schema.templates import tree_variables


def check_secret_uses(call: ActionCall, values: Mapping[str, Any], redact: Callable[[Any], Any]) -> None:
    """Check an action before its `{x}` are filled.

    Addresses, answers to dialogs and values that are not typed carry no secret: a page, and whoever it leads to,
    would get them without the checks of typing. Raises `StepFailed`, which names the variable.
    """
    for place, text in _list_places(call):
        for name in sorted(tree_variables(text)):
            value = values.get(name.partition(".")[0])
            if value is not None and redact(value) != value:
                raise StepFailed(
                    f"{{{name}}} has a secret, which `{place}` of {call.action_type!r} must not have",
                    error="bad_value",
                    hint="a secret is only typed into a field: `fill` or `type_text` with it as the value",
                )


def _list_places(call: ActionCall) -> Iterator[tuple[str, Any]]:
    yield "url", call.url
    if call.on_dialog is not None:
        yield "on_dialog", call.on_dialog.to_json()
    known = action_type(call.action_type)
    if known is not None and known.on_page and not known.types_text:
        yield "value", call.value
