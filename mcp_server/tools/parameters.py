"""The parameters tools share, as clients see them described, and the lookups they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, JsonValue

from kb_schema.answers import Detail
from mcp_server.compiled import View
from mcp_server.errors import UnknownName

DocumentT = TypeVar("DocumentT")

Id = Annotated[str, Field(min_length=1, max_length=200)]
ScreenId = Annotated[Id, AfterValidator(lambda given: given.removeprefix("screen/") or given)]
"""A screen may be written as knowledge refers to it, too: `screen/x` is `x` (DESIGN 3)."""
WebsiteId = Id
"""`list_websites` says what it is; said once, not with every tool."""
DetailLevel = Detail
"""The server's instructions say what the levels are."""
FactsKnown = Annotated[
    dict[str, JsonValue] | None,
    Field(description='Known to be so, e.g. {"authenticated": true}'),
]


def screen_of(view: View, screen_id: str) -> str:
    """The id, if there is such a screen."""
    if screen_id not in view.knowledge.screens:
        hint = "call identify_current_screen or search_knowledge"
        raise UnknownName("screen", screen_id, view.knowledge.screens, hint=hint)
    return screen_id


def named(kind: str, local_id: str, documents: Mapping[str, DocumentT], hint: str) -> DocumentT:
    """The document of that id. Raises `UnknownName`."""
    try:
        return documents[local_id]
    except KeyError:
        raise UnknownName(kind, local_id, documents, hint=hint) from None
