"""Knowledge from the stores: `kb_store` behind the port `KnowledgeSource`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from kb_schema import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.proposals import KnowledgeChange
from kb_store.errors import NoSuchWebsite, StoreError
from kb_store.generation_watch import watch_changes
from kb_store.knowledge_reader import revision, salvage_knowledge
from kb_store.ports import DocumentStore, GraphStore
from kb_store.proposals.accepted_changes import apply_change, store_change
from kb_store.stored_contents import StoredContents, read_contents
from mcp_server.errors import SourceUnavailable
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.knowledge.kept_views import LEAST_DOCUMENTS, KeptViews

NAMED = 3
"""Most damaged documents that a note names; it only counts the others."""


class StoreSource:
    """A `KnowledgeSource` over a pair of stores; their errors become `SourceUnavailable`."""

    def __init__(self, documents: DocumentStore, graph: GraphStore, views_folder: Path | None = None) -> None:
        """`views_folder`: where compiled views are kept; None: each process compiles its own."""
        self._documents = documents
        self._graph = graph
        self._damage: dict[str, str] = {}
        self._kept = None if views_folder is None else KeptViews(views_folder)

    async def kept_view(self, website_id: str) -> KnowledgeView | None:
        """See `ViewKeeper`. A damaged website is never kept."""
        contents = await self._contents(website_id)
        if contents is None or self._kept is None:
            return None
        view = await asyncio.to_thread(self._kept.find, contents)
        if view is not None:
            self._damage.pop(website_id, None)
        return view

    async def keep_view(self, view: KnowledgeView) -> None:
        """See `ViewKeeper`. The content is read again: what changed meanwhile is not kept under its digest."""
        if self._kept is None or view.website_id in self._damage or view.roads is None:
            return
        contents = await self._contents(view.website_id)
        if contents is not None and str(contents.generation) == view.generation:
            await asyncio.to_thread(self._kept.keep, view, contents)

    async def _contents(self, website_id: str) -> StoredContents | None:
        """Return the stored content of a website that is large enough to be kept."""
        if self._kept is None:
            return None
        try:
            active = await self._documents.active(website_id)
            if (
                active is None
                or sum(active.documents.values()) + sum(active.edges.values()) < LEAST_DOCUMENTS
            ):
                return None
            return await read_contents(self._documents, self._graph, website_id)
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc

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
