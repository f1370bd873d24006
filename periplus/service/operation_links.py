"""Links of the OpenAPI document: which operations take the id that another one answers with."""

from __future__ import annotations

from typing import Any


def document_links(fields: str | tuple[str, ...], *operations: str, **places: str) -> dict[str, Any]:
    """Return `links` of a response whose `fields` are the parameters of these names of these operations, by their ids.

    `places`: further parameters, with the place of each in the body: `name="artifacts/0/name"`.
    """
    named = (fields,) if isinstance(fields, str) else fields
    taken = {
        name: f"$response.body#/{place}"
        for name, place in ({field: field for field in named} | places).items()
    }
    return {"links": {name: {"operationId": name, "parameters": taken} for name in operations}}
