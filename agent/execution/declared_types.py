"""Converts text to the types that inputs and outputs declare: typed values and page content are always text."""

from __future__ import annotations

from typing import Any

from agent.errors import PersonNeeded
from kb_schema.declared_types import EXAMPLES, FROM_TEXT
from kb_schema.io_specs import InputSpec, OutputSpec


def parse_typed_value(spec: InputSpec, value: Any) -> Any:
    """Return a text as the type its input declares. Raises `PersonNeeded` if the text is not such a value."""
    if not isinstance(value, str) or spec.type not in FROM_TEXT:
        return value
    try:
        return FROM_TEXT[spec.type](value.strip())
    except (ValueError, KeyError) as exc:
        raise PersonNeeded(
            f"input {spec.name!r}: expected type {spec.type}, found {value!r}", hint=EXAMPLES[spec.type]
        ) from exc


def convert_to_declared_type(spec: OutputSpec, value: Any) -> Any:
    """Return a text read from a page as the type its output declares, or unchanged if it is not such a
    value.

    Data that was found is never dropped.
    """
    if not isinstance(value, str) or spec.type not in FROM_TEXT:
        return value
    try:
        return FROM_TEXT[spec.type](value.strip())
    except (ValueError, KeyError):
        return value
