"""Knowledge from the shelves: `kb_store` behind the desk's own port."""

from __future__ import annotations

from kb_schema.knowledge import KnowledgeBase
from kb_store.errors import NoSuchWebsite, StoreError
from kb_store.ports import DocumentStore, GraphStore
from kb_store.read import read_knowledge, revision
from mcp_server.errors import SourceDown


class StoreSource:
    """A `KnowledgeSource` over a pair of stores; their errors become `SourceDown`."""

    def __init__(self, documents: DocumentStore, graph: GraphStore) -> None:
        self._documents = documents
        self._graph = graph

    async def websites(self) -> list[str]:
        """See `KnowledgeSource`."""
        try:
            return sorted(active.website_id for active in await self._documents.websites())
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc

    async def read(self, website_id: str) -> tuple[KnowledgeBase, str] | None:
        """See `KnowledgeSource`."""
        try:
            knowledge, generation = await read_knowledge(self._documents, self._graph, website_id)
        except NoSuchWebsite:
            return None
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        return knowledge, str(generation)

    async def revision(self, website_id: str) -> str | None:
        """See `KnowledgeSource`."""
        try:
            generation = await revision(self._documents, website_id)
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        return None if generation is None else str(generation)
