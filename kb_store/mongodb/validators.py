"""`$jsonSchema` validators, derived from the JSON Schemas of the document models.

MongoDB supports draft 4 without references, formats and `integer`, and reports no reason for a failed union.
So the schema is reduced: the top level is as strict as the models (known fields, types, required fields),
nested values are checked for their type, and unions for the possible types. Readers check everything in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb_schema.json_schemas import schemas_with_shared_definitions

Schema = dict[str, Any]

_DEPTH = 3
"""The levels of objects and arrays that are checked."""

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
"""Keywords with the same meaning in both. Patterns differ: the dialects of regular expressions differ."""

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
    """Return the validator of a collection of documents of one kind."""
    return _wrapped(_of(kind))


def edge_validator(kind: str) -> Schema:
    """Return the validator of a collection of edges of one kind."""
    return _wrapped(_of(kind), source=_NODE, target=_NODE)


def node_validator() -> Schema:
    """Return the validator of vertices that stand for a document kept elsewhere."""
    name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return _wrapped(reduced({**name, "additionalProperties": False}))


def reduced(schema: Mapping[str, Any]) -> Schema:
    """Return a JSON Schema in MongoDB's dialect: never stricter, looser if necessary."""
    return _reduced(schema, schema.get("$defs", {}), _DEPTH)


def _of(kind: str) -> Schema:
    schemas, definitions = schemas_with_shared_definitions()
    return _reduced(schemas[kind], definitions, _DEPTH)


def _wrapped(body: Schema, **more: Schema) -> Schema:
    """Return the schema of a stored document: its identity, and its body native or as text (see
    `record_codec`).
    """
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
    """Resolve references; a union with null becomes the other member, whose types include null."""
    while "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    return schema


def _types(schema: Mapping[str, Any], defs: Mapping[str, Any], seen: frozenset[str]) -> frozenset[str] | None:
    """Return every BSON type a value may have; None if it may have any."""
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
