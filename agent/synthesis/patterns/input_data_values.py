"""Values of a trace's input data: scalars by path, lists, and fields of their items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.synthesis.alignment.aligned_traces import RowKey


def flatten_values(data: Mapping[str, Any] | None, prefix: str = "") -> dict[str, Any]:
    """Return the scalar values of nested data by path (`a.b`), without lists."""
    found: dict[str, Any] = {}
    for key, value in (data or {}).items():
        if isinstance(value, Mapping):
            found.update(flatten_values(value, f"{prefix}{key}."))
        elif isinstance(value, str | int | float | bool):
            found[f"{prefix}{key}"] = value
    return found


def find_list_inputs(inputs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the inputs that are lists in every run."""
    told = [{key for key, value in data.items() if isinstance(value, list)} for data in inputs]
    return sorted(set.intersection(*told)) if told else []


def find_item_fields(inputs: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """Return the fields that every item of a list has."""
    items = [item for data in inputs for item in data.get(key, ())]
    if not items or not all(isinstance(item, Mapping) for item in items):
        return []
    return sorted(set.intersection(*(set(item) for item in items)))


def read_list_item(data: Mapping[str, Any] | None, key: str, row: RowKey, field: str) -> Any:
    """Return the item of a round; None if there is none."""
    items = (data or {}).get(key)
    if not row[1] or not isinstance(items, list) or row[1][-1] >= len(items):
        return None
    item = items[row[1][-1]]
    if field:
        return item.get(field) if isinstance(item, Mapping) else None
    return item if isinstance(item, str | int | float | bool) else None
