"""Migrates version 0, the form of KS, to version 1, in which documents state their type and id.

KS documents state no version, leave the type to be inferred from `_id` or from an edge's ends, use several
names for one collection (`groups/x`, `screen_group/x`), and some have no id besides `_id`. The parser still
accepts all of that and reads the same from the result.
"""

from __future__ import annotations

from typing import Any

from kb_schema.base import split_reference
from kb_schema.documents import EDGE_KINDS, MODELS, kind_of
from kb_schema.migrations.migration_registry import migration

_ID_FIELD = {
    "website": "website_id",
    "screen": "screen_id",
    "state_signature": "screen_id",
    "action": "action_id",
    "task": "task_id",
    "presentation_flow": "flow_id",
    "error_recovery": "recovery_id",
    "workflow": "workflow_id",
    "screen_group": "group_id",
}


@migration(0)
def state_type_and_id(document: dict[str, Any]) -> dict[str, Any]:
    """Put type and id into fields of their own, use one name per collection, and drop database keys."""
    kind = kind_of(document)
    if kind is None:
        return document
    typed = {"type": _type_of(kind, document), **{k: v for k, v in document.items() if k != "type"}}
    body = {key: value for key, value in typed.items() if value is not None or key != "type"}
    for end in ("_from", "_to"):
        if isinstance(body.get(end), str):
            body[end] = _one_name(body[end])
    return _without_keys(kind, body)


def _type_of(kind: str, document: dict[str, Any]) -> Any:
    if kind == "presentation_flow":
        return kind
    default = MODELS[kind].model_fields["type"].default
    return document.get("type", default if isinstance(default, str) else None)


def _one_name(reference: str) -> str:
    kind, local_id = split_reference(reference)
    return reference if kind is None else f"{kind}/{local_id}"


def _without_keys(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """Remove `_id` if an id field says the same. If they differ, the parser has to report it."""
    key, field = body.get("_id"), _ID_FIELD.get(kind)
    if kind == "screen_group" and isinstance(key, str):
        body.setdefault("group_id", split_reference(key)[1])
    same = field is not None and isinstance(key, str) and split_reference(key)[1] == body.get(field)
    dropped = {"_key", "_rev"}
    if same or kind in EDGE_KINDS:
        dropped.add("_id")
    return {name: value for name, value in body.items() if name not in dropped}
