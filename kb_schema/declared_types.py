"""The types that inputs, outputs and parameters of actions declare, and how a text is read as one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any


def _json_of(kind: type) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        value = json.loads(text)
        if not isinstance(value, kind):
            raise ValueError(text)  # noqa: TRY004 - the caller tells it from a bug
        return value

    return parse


def _list(text: str) -> list[Any]:
    """Parse a JSON list, or names separated by commas."""
    if text.startswith("["):
        return list(_json_of(list)(text))
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> int | float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(number) if number == int(number) else number


_TRUTH = {
    "true": True,
    "yes": True,
    "1": True,
    "on": True,
    "false": False,
    "no": False,
    "0": False,
    "off": False,
}
FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "number": _number,
    "integer": int,
    "boolean": lambda text: _TRUTH[text.lower()],
    "array": _list,
    "object": _json_of(dict),
}
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": (list, tuple),
    "object": dict,
}
"""Type -> what a value that is no text must be."""
EXAMPLES = {
    "number": "give a number, e.g. 12.5",
    "integer": "give a whole number, e.g. 12",
    "boolean": "give true or false",
    "array": "give values separated by commas, or a JSON list",
    "object": 'give a JSON object, e.g. {"key": "value"}',
}


def convert_parameter(type_name: str, value: Any) -> Any:
    """Return a value as the type that a parameter of an action declares. Raises `ValueError` with type and value."""
    expected = _PYTHON_TYPES.get(type_name)
    if isinstance(value, str) and type_name in FROM_TEXT:
        try:
            return FROM_TEXT[type_name](value.strip())
        except (ValueError, KeyError) as exc:
            raise ValueError(f"expected {type_name}, found {value!r}; {EXAMPLES[type_name]}") from exc
    truth = isinstance(value, bool) and type_name in ("number", "integer")
    if expected is not None and (truth or not isinstance(value, expected)):
        raise ValueError(f"expected {type_name}, found {value!r}; {EXAMPLES[type_name]}")
    return value
