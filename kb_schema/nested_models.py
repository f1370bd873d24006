"""Visits every model inside a document, with its JSON path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any

from pydantic import BaseModel

_LEAVES = frozenset({str, int, float, bool, NoneType})
"""Types of values that contain no model."""


def walk(node: Any, path: str = "$") -> Sequence[tuple[str, BaseModel]]:
    """Return every model inside a document with its JSON path, outer models before inner ones."""
    found: list[tuple[str, BaseModel]] = []
    _collect(node, path, found)
    return found


def list_models(document: BaseModel) -> list[BaseModel]:
    """Return the document and every model inside it, without paths: three times as fast as `walk`."""
    found = [document]
    for node in found:  # grows meanwhile
        for value in node.__dict__.values():
            if value and type(value) not in _LEAVES:
                _list(value, found)
    return found


def _list(value: Any, found: list[BaseModel]) -> None:
    if isinstance(value, BaseModel):
        found.append(value)
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) not in _LEAVES:
                _list(item, found)


def _collect(node: Any, path: str, found: list[tuple[str, BaseModel]]) -> None:
    """Append the models to `found`: one list, because this runs for every value of every document."""
    if isinstance(node, BaseModel):
        found.append((path, node))
        values = node.__dict__
        for name, json_name in json_names(type(node)):
            value = values[name]
            if value and type(value) not in _LEAVES:
                _collect(value, f"{path}.{json_name}", found)
    elif isinstance(node, Mapping):
        for key, item in node.items():
            if type(item) not in _LEAVES:
                _collect(item, f"{path}.{key}", found)
    elif isinstance(node, list | tuple):
        for index, item in enumerate(node):
            if type(item) not in _LEAVES:
                _collect(item, f"{path}[{index}]", found)


@cache
def json_names(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Return a model's fields, each with its name in JSON."""
    return tuple((name, field.alias or name) for name, field in model.model_fields.items())
