"""Links of the OpenAPI document: which operations take the id that another one answers with."""

from __future__ import annotations

from typing import Any


def document_links(fields: str | tuple[str, ...], *operations: str) -> dict[str, Any]:
    """Return `links` of a response whose `fields` are the parameters of these names of these operations, by their ids."""
    named = (fields,) if isinstance(fields, str) else fields
    taken = {field: f"$response.body#/{field}" for field in named}
    return {"links": {name: {"operationId": name, "parameters": taken} for name in operations}}
