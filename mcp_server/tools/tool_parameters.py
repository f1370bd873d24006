"""Parameters that several tools share, with their descriptions and look-ups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, JsonValue

from kb_schema.base import Document
from kb_schema.former_ids import list_former_ids
from kb_schema.tool_answers import Detail
from mcp_server.errors import UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView

DocumentT = TypeVar("DocumentT")

Id = Annotated[str, Field(min_length=1, max_length=200)]
ScreenId = Annotated[Id, AfterValidator(lambda given: given.removeprefix("screen/") or given)]
"""A screen id. The reference form `screen/x` is accepted as `x`."""
WebsiteId = Id
"""Has no description in the schema: `list_websites` explains it once for all tools."""
DetailLevel = Detail
"""Has no description in the schema: the server's instructions explain the levels."""
FactsArgument = Annotated[
    dict[str, JsonValue] | None,
    Field(description='Known, e.g. {"authenticated": true}'),
]


def require_screen(view: KnowledgeView, screen_id: str) -> str:
    """Return the id if there is such a screen. Raises `UnknownName`."""
    if screen_id not in view.knowledge.screens:
        now = view.knowledge.current_id("screen", screen_id)
        hint = "call identify_current_screen or search_knowledge"
        hint = hint if now == screen_id else f"it is called {now!r} now"
        raise UnknownName("screen", screen_id, view.knowledge.screens, hint=hint)
    return screen_id


def require_document(kind: str, local_id: str, documents: Mapping[str, DocumentT], hint: str) -> DocumentT:
    """Return the document of that id. Raises `UnknownName`."""
    try:
        return documents[local_id]
    except KeyError:
        now = next((key for key, each in documents.items() if local_id in _former_ids(each)), None)
        hint = hint if now is None else f"it is called {now!r} now"
        raise UnknownName(kind, local_id, documents, hint=hint) from None


def _former_ids(document: object) -> tuple[str, ...]:
    return list_former_ids(document.metadata) if isinstance(document, Document) else ()
