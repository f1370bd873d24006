"""Links of the OpenAPI document: which operations take the id that another one answers with."""

from __future__ import annotations

from typing import Any


def document_links(field: str, *operations: str) -> dict[str, Any]:
    """Return `links` of a response whose `field` is the parameter of that name of these operations, by their ids."""
    taken = {field: f"$response.body#/{field}"}
    return {"links": {name: {"operationId": name, "parameters": taken} for name in operations}}
