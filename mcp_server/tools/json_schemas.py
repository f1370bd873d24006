"""JSON schemas as clients receive them: what a caller must know, and no more.

Every conversation of every client carries them, so they are short. The models validate arguments and answers in full,
whatever a schema leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

_DEFS = "#/$defs/"
_DESCRIBED_KEYS = ("type", "enum", "required", "description")
_BOUNDS = ("minimum", "maximum")


def input_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a caller fills in: names, types, choices, and a few words where the name is not enough.

    Optional arguments are left out rather than given as null, so null is not among their types.
    """
    return _inline_definitions(schema, schema.get("$defs", {}), _DESCRIBED_KEYS, (*_DESCRIBED_KEYS, *_BOUNDS))


def output_schema(schema: Mapping[str, Any], asked: Collection[str] = ()) -> dict[str, Any]:
    """The fields of an answer and their types. What is inside lists and objects is the reference's business.

    Fields that only repeat what was `asked` are not described again. Answers leave out what is at its
    default, so a field that need not be there is never null.
    """
    definitions, always = schema.get("$defs", {}), schema.get("required", ())
    fields = {
        name: _outline(part, definitions, nullable=name in always)
        for name, part in schema.get("properties", {}).items()
        if name not in asked
    }
    return {"type": "object", "properties": fields}


def _inline_definitions(
    part: Mapping[str, Any], definitions: Mapping[str, Any], said: Sequence[str], inside: Sequence[str]
) -> dict[str, Any]:
    """`said` are the keys kept here, `inside` those kept of the properties, whose own have `_DESCRIBED_KEYS`."""
    whole = _resolved(part, definitions)
    options = [each for each in whole.get("anyOf", ()) if each.get("type") != "null"]
    if len(options) == 1:
        whole = {**_resolved(options[0], definitions), **_keep_keys(whole, "description", "default")}
    elif options:
        filled = [
            _inline_definitions(each, definitions, _DESCRIBED_KEYS, _DESCRIBED_KEYS) for each in options
        ]
        return {"anyOf": filled, **_keep_keys(whole, "description")}
    found = _keep_keys(whole, *said)
    if whole.get("default") not in (None, [], {}, ""):
        found["default"] = whole["default"]
    if "const" in whole:
        found["enum"] = [whole["const"]]
    if "properties" in whole:
        found["properties"] = {
            name: _inline_definitions(each, definitions, inside, _DESCRIBED_KEYS)
            for name, each in whole["properties"].items()
        }
    if isinstance(whole.get("items"), Mapping):
        found["items"] = _inline_definitions(whole["items"], definitions, _DESCRIBED_KEYS, _DESCRIBED_KEYS)
    return found


def _outline(part: Mapping[str, Any], definitions: Mapping[str, Any], *, nullable: bool) -> dict[str, Any]:
    whole = _resolved(part, definitions)
    options = [_resolved(each, definitions) for each in whole.get("anyOf", ())]
    types = [each["type"] for each in options if "type" in each]
    if len(types) < len(options):
        return {}  # one of them may be anything
    if not nullable:
        types = [each for each in types if each != "null"]
    if not types:
        return _keep_keys(whole, "type")
    return {"type": types[0] if len(types) == 1 else types}


def _resolved(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """A definition in place of a reference to it, without its docstring, which is for readers of the code."""
    reference = part.get("$ref", "")
    if not reference.startswith(_DEFS):
        return part
    definition = definitions[reference.removeprefix(_DEFS)]
    beside = {key: value for key, value in part.items() if key != "$ref"}
    return {**{key: value for key, value in definition.items() if key != "description"}, **beside}


def _keep_keys(schema: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: schema[key] for key in keys if key in schema}
