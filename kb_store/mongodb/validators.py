"""`$jsonSchema` validators from the vocabulary's own JSON Schema.

MongoDB knows draft 4 without references, formats and `integer`, and says of a union only that none
of its members fits. So the schema is reduced: the top level is as strict as the vocabulary (known
fields, types, what is required), what lies inside is checked for its type, and unions by the types
they may have. Whatever the validator lets in is checked in full by whoever reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb_schema.export import schemas_with_shared_definitions

Schema = dict[str, Any]

_DEPTH = 3
"""Levels of objects and arrays that are looked into."""

_BSON_TYPES = {
    "string": ["string"],
    "boolean": ["bool"],
    "null": ["null"],
    "object": ["object"],
    "array": ["array"],
    "integer": ["int", "long"],
    "number": ["int", "long", "double", "decimal"],
}
_KEPT = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "required")
"""Keywords that mean the same in both. Patterns do not: the dialects of regular expressions differ."""

_ID = {
    "bsonType": "object",
    "required": ["website_id", "generation", "local_id"],
    "additionalProperties": False,
    "properties": {
        "website_id": {"bsonType": "string"},
        "generation": {"bsonType": ["int", "long"]},
        "local_id": {"bsonType": "string"},
    },
}
_NODE = {
    "bsonType": "object",
    "required": ["kind", "local_id"],
    "additionalProperties": False,
    "properties": {"kind": {"bsonType": "string"}, "local_id": {"bsonType": "string"}},
}


def document_validator(kind: str) -> Schema:
    """For a collection of documents of one kind."""
    return _wrapped(_of(kind))


def edge_validator(kind: str) -> Schema:
    """For a collection of edges of one kind."""
    return _wrapped(_of(kind), source=_NODE, target=_NODE)


def node_validator() -> Schema:
    """For vertices that stand in for a document kept elsewhere."""
    name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return _wrapped(reduced({**name, "additionalProperties": False}))


def reduced(schema: Mapping[str, Any]) -> Schema:
    """A JSON Schema in MongoDB's dialect: never stricter, looser where it must be."""
    return _reduced(schema, schema.get("$defs", {}), _DEPTH)


def _of(kind: str) -> Schema:
    schemas, definitions = schemas_with_shared_definitions()
    return _reduced(schemas[kind], definitions, _DEPTH)


def _wrapped(body: Schema, **more: Schema) -> Schema:
    """A stored document: its identity, and its body either native or as text (see `bodies`)."""
    return {
        "$jsonSchema": {
            "bsonType": "object",
            "required": ["_id", *more],
            "additionalProperties": False,
            "properties": {"_id": _ID, "body": body, "text": {"bsonType": "string"}, **more},
            "oneOf": [{"required": ["body"]}, {"required": ["text"]}],
        }
    }


def _reduced(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> Schema:
    types = _types(schema, defs, frozenset())
    found: Schema = {} if types is None else {"bsonType": sorted(types)}
    schema = _resolved(schema, defs)
    if "const" in schema:
        return {**found, "enum": [schema["const"]]}
    if "enum" in schema:
        return {**found, "enum": list(schema["enum"])}
    found |= {key: schema[key] for key in _KEPT if schema.get(key)} | {
        key: schema[key] for key in ("minimum", "maximum") if schema.get(key) == 0
    }
    if depth == 0:
        return {key: found[key] for key in ("bsonType",) if key in found}
    properties = schema.get("properties")
    if properties:
        found["properties"] = {k: _reduced(v, defs, depth - 1) for k, v in properties.items()}
    if schema.get("additionalProperties") is False:
        found["additionalProperties"] = False
    if isinstance(schema.get("items"), Mapping):
        found["items"] = _reduced(schema["items"], defs, depth - 1)
    return found


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without references; a union of something and null is that something, its types say the rest."""
    while "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    return schema


def _types(schema: Mapping[str, Any], defs: Mapping[str, Any], seen: frozenset[str]) -> frozenset[str] | None:
    """Every BSON type a value may have; None where it may have any."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return None if name in seen else _types(defs[name], defs, seen | {name})
    union = schema.get("anyOf") or schema.get("oneOf")
    if union:
        each = [_types(member, defs, seen) for member in union]
        return None if None in each else frozenset().union(*(e for e in each if e is not None))
    named = schema.get("type")
    if named is None:
        values = [schema["const"]] if "const" in schema else schema.get("enum", ())
        return None if not values else frozenset(t for v in values for t in _BSON_TYPES[_json_type(v)])
    return frozenset(t for name in ([named] if isinstance(named, str) else named) for t in _BSON_TYPES[name])


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case None:
            return "null"
    return "object" if isinstance(value, Mapping) else "array"
