"""The vocabulary as JSON Schema, for editors and for the stores' validators."""

from __future__ import annotations

from typing import Any

from kb_schema.documents import MODELS


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of one kind. Raises `KeyError` for an unknown kind."""
    schema = MODELS[kind].model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"periplus:{kind}", **schema}


def all_schemas() -> dict[str, dict[str, Any]]:
    """Every kind's schema, by kind."""
    return {kind: json_schema(kind) for kind in MODELS}
