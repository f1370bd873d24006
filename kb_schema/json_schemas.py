"""The document models as JSON Schema, for editors and for the stores' validators."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic.json_schema import models_json_schema

from kb_schema.documents import MODELS


@cache
def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one kind. Do not modify it. Raises `KeyError` for an unknown kind."""
    schema = MODELS[kind].model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"periplus:{kind}", **schema}


def all_schemas() -> dict[str, dict[str, Any]]:
    """Return every kind's schema, by kind."""
    return {kind: json_schema(kind) for kind in MODELS}


@cache
def schemas_with_shared_definitions() -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return every kind's schema, and the definitions that they share. Do not modify them.

    Takes a quarter of the time of `all_schemas`.
    """
    found, rest = models_json_schema([(model, "validation") for model in MODELS.values()], by_alias=True)
    return {kind: found[model, "validation"] for kind, model in MODELS.items()}, rest["$defs"]
