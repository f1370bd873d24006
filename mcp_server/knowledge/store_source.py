"""Knowledge from the stores: `kb_store` behind the port `KnowledgeSource`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from kb_schema import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.proposals import KnowledgeChange
from kb_store.errors import NoSuchWebsite, StoreError
from kb_store.generation_watch import watch_changes
from kb_store.knowledge_reader import revision, salvage_knowledge
from kb_store.ports import DocumentStore, GraphStore
from kb_store.proposals.accepted_changes import apply_change, store_change
from mcp_server.errors import SourceUnavailable

NAMED = 3
"""Most damaged documents that a note names; it only counts the others."""


class StoreSource:
    """A `KnowledgeSource` over a pair of stores; their errors become `SourceUnavailable`."""

    def __init__(self, documents: DocumentStore, graph: GraphStore) -> None:
        self._documents = documents
        self._graph = graph
        self._damage: dict[str, str] = {}

    async def websites(self) -> list[str]:
        """See `KnowledgeSource`."""
        try:
            return sorted(active.website_id for active in await self._documents.websites())
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc

    async def read(self, website_id: str) -> tuple[KnowledgeBase, str] | None:
        """See `KnowledgeSource`."""
        try:
            found = await salvage_knowledge(self._documents, self._graph, website_id)
        except NoSuchWebsite:
            return None
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        self._damage.pop(website_id, None)
        if found.problems:
            self._damage[website_id] = _describe_damage(found.problems)
        return found.knowledge, str(found.generation)

    def damage(self, website_id: str) -> str | None:
        """See `DamageTeller`."""
        return self._damage.get(website_id)

    def changes(self) -> AsyncIterator[str]:
        """See `ChangeTeller`."""
        return watch_changes(self._documents)

    async def change(self, website_id: str, change: KnowledgeChange) -> str:
        """See `proposal_service.KnowledgeWriter`."""
        try:
            report = await store_change(
                self._documents, self._graph, website_id, lambda knowledge: apply_change(knowledge, change)[0]
            )
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        return str(report.generation)

    async def revision(self, website_id: str) -> str | None:
        """See `KnowledgeSource`."""
        try:
            generation = await revision(self._documents, website_id)
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        return None if generation is None else str(generation)


def _describe_damage(problems: Sequence[Problem]) -> str:
    named = "; ".join(str(problem) for problem in problems[:NAMED])
    more = f"; and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
    return f"the stored knowledge is damaged, this answer does without what is invalid: {named}{more}"
