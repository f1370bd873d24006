"""Tasks of the harbour (`tests/data/harbour`) that several tests tell the desk of."""

from __future__ import annotations

from typing import Any


def moors_a_boat(task_id: str) -> dict[str, Any]:
    """A task that asks for a name and moors a boat of that name, once: its read-back counts boats."""
    return {
        "type": "task", "task_id": task_id, "website_id": "harbour",
        "io_spec": {
            "inputs": [{"name": "boat_name", "description": "What she is called", "source": "user_input"}]
        },
        "steps": [
            {"step_id": "open", "action": {"action_type": "navigate", "target_screen": "boat_new"}},
            {"step_id": "name", "action": {"action_type": "fill", "target": "name_field", "value": "{boat_name}"}},
            {"step_id": "moor", "action": {"action_type": "click", "target": "moor"},
             "postconditions": [{"type": "navigates_to", "screen_id": "quay"}]},
        ],
        "read_back": {
            "screen_id": "quay", "expect": "one_more",
            "extraction": {"method": "table_extraction", "selector": "tr.boat", "columns": {"name": "td.name"}},
            "where": {"name": "{boat_name}"},
        },
    }  # fmt: skip
