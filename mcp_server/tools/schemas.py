"""JSON schemas as clients are sent them: what a caller must know, and no more.

Every conversation of every client carries them, so they are short. Arguments and answers are
checked by the models themselves, whatever a schema leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEFS = "#/$defs/"
_SAID = ("type", "enum", "minimum", "maximum", "required")
"""What is kept as it is."""


def input_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a caller fills in: names, types, choices, and a few words where the name is not enough.

    Optional arguments are left out rather than given as null, so null is not among their types.
    """
    definitions = schema.get("$defs", {})
    return _filled_in(schema, definitions)


def output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an answer and their types. What is inside lists and objects is the reference's business."""
    definitions = schema.get("$defs", {})
    fields = {name: _outline(part, definitions) for name, part in schema.get("properties", {}).items()}
    return {"type": "object", "properties": fields, **_kept(schema, "required")}


def _filled_in(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    whole = _resolved(part, definitions)
    options = [each for each in whole.get("anyOf", ()) if each.get("type") != "null"]
    if len(options) == 1:
        whole = {**_resolved(options[0], definitions), **_kept(whole, "description", "default")}
    elif options:
        return {"anyOf": [_filled_in(each, definitions) for each in options], **_kept(whole, "description")}
    found = _kept(whole, *_SAID, "description")
    if whole.get("default") not in (None, [], {}, ""):
        found["default"] = whole["default"]
    if "const" in whole:
        found["enum"] = [whole["const"]]
    if "properties" in whole:
        found["properties"] = {
            name: _filled_in(each, definitions) for name, each in whole["properties"].items()
        }
    if isinstance(whole.get("items"), Mapping):
        found["items"] = _filled_in(whole["items"], definitions)
    return found


def _outline(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    whole = _resolved(part, definitions)
    options = [_resolved(each, definitions) for each in whole.get("anyOf", ())]
    types = [each["type"] for each in options if "type" in each]
    if len(types) < len(options):
        return {}  # one of them may be anything
    return {"type": types} if types else _kept(whole, "type")


def _resolved(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = part.get("$ref", "")
    if not reference.startswith(_DEFS):
        return part
    beside = {key: value for key, value in part.items() if key != "$ref"}
    return {**definitions[reference.removeprefix(_DEFS)], **beside}


def _kept(schema: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: schema[key] for key in keys if key in schema}
