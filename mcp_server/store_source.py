"""Knowledge from the shelves: `kb_store` behind the desk's own port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from kb_schema import Problem
from kb_schema.knowledge import KnowledgeBase
from kb_schema.proposals import Change
from kb_store.changes import changes
from kb_store.changing import change_stored, changed
from kb_store.errors import NoSuchWebsite, StoreError
from kb_store.ports import DocumentStore, GraphStore
from kb_store.read import revision, salvage_knowledge
from mcp_server.errors import SourceDown

NAMED = 3
"""How many spoilt documents a note names before it only counts them."""


class StoreSource:
    """A `KnowledgeSource` over a pair of stores; their errors become `SourceDown`."""

    def __init__(self, documents: DocumentStore, graph: GraphStore) -> None:
        self._documents = documents
        self._graph = graph
        self._damage: dict[str, str] = {}

    async def websites(self) -> list[str]:
        """See `KnowledgeSource`."""
        try:
            return sorted(active.website_id for active in await self._documents.websites())
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc

    async def read(self, website_id: str) -> tuple[KnowledgeBase, str] | None:
        """See `KnowledgeSource`."""
        try:
            found = await salvage_knowledge(self._documents, self._graph, website_id)
        except NoSuchWebsite:
            return None
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        self._damage.pop(website_id, None)
        if found.problems:
            self._damage[website_id] = _told(found.problems)
        return found.knowledge, str(found.generation)

    def damage(self, website_id: str) -> str | None:
        """See `DamageTeller`."""
        return self._damage.get(website_id)

    def changes(self) -> AsyncIterator[str]:
        """See `ChangeTeller`."""
        return changes(self._documents)

    async def change(self, website_id: str, change: Change) -> str:
        """See `proposing.KnowledgeWriter`."""
        try:
            report = await change_stored(
                self._documents, self._graph, website_id, lambda knowledge: changed(knowledge, change)[0]
            )
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        return str(report.generation)

    async def revision(self, website_id: str) -> str | None:
        """See `KnowledgeSource`."""
        try:
            generation = await revision(self._documents, website_id)
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        return None if generation is None else str(generation)


def _told(problems: Sequence[Problem]) -> str:
    named = "; ".join(str(problem) for problem in problems[:NAMED])
    more = f"; and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
    return f"the stored knowledge is damaged, this answer does without what is invalid: {named}{more}"
