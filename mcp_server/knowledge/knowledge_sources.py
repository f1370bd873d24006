"""The port through which the server gets knowledge, and an in-memory source.

Not here: stores. `store_source` adapts `kb_store` to this port.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.proposals import KnowledgeChange
from kb_store.proposals.accepted_changes import apply_change


class KnowledgeSource(Protocol):
    """Whole knowledge bases by website, each at a revision.

    A revision is an opaque text that changes whenever anything that is compiled has changed.
    Implementations raise `errors.SourceUnavailable` if the store cannot be reached, nothing else.
    Implementations: `StoreSource` (`store_source`), and the in-memory source below.
    """

    async def websites(self) -> list[str]:
        """Ids of every website there is knowledge of."""
        ...

    async def read(self, website_id: str) -> tuple[KnowledgeBase, str] | None:
        """Return the knowledge and its revision; None if there is no such website."""
        ...

    async def revision(self, website_id: str) -> str | None:
        """Return the current revision; None if there is no such website. Called before every answer, so it must be cheap."""
        ...


class MemorySource:
    """Knowledge bases held in memory: for tests and for a server without a store."""

    def __init__(self, *knowledge: KnowledgeBase) -> None:
        self._held: dict[str, tuple[KnowledgeBase, str]] = {}
        self._count = 0
        self.put(knowledge)

    def put(self, knowledge: Iterable[KnowledgeBase]) -> None:
        """Add or replace websites, each at a new revision."""
        for each in knowledge:
            self._count += 1
            self._held[each.website.website_id] = (each, str(self._count))

    async def websites(self) -> list[str]:
        """See `KnowledgeSource`."""
        return sorted(self._held)

    async def read(self, website_id: str) -> tuple[KnowledgeBase, str] | None:
        """See `KnowledgeSource`."""
        return self._held.get(website_id)

    async def revision(self, website_id: str) -> str | None:
        """See `KnowledgeSource`."""
        held = self._held.get(website_id)
        return None if held is None else held[1]

    async def change(self, website_id: str, change: KnowledgeChange) -> str:
        """See `proposal_service.KnowledgeWriter`."""
        held = self._held[website_id]
        self.put([apply_change(held[0], change)[0]])
        return self._held[website_id][1]
