"""Where the desk gets knowledge from: the port, and the one that lives in memory.

Not here: stores. `periplus/` adapts a store to this port.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kb_schema.knowledge import KnowledgeBase
from kb_schema.proposals import Change
from kb_store.changing import changed


class KnowledgeSource(Protocol):
    """Whole knowledge bases by website, each at a revision.

    A revision is an opaque text that changes whenever anything the desk compiles has changed.
    Implementations raise `errors.SourceDown` when the store cannot be reached, nothing else.
    Implemented over a store in `periplus/`, and below in memory.
    """

    async def websites(self) -> list[str]:
        """Ids of every website there is knowledge of."""
        ...

    async def read(self, website_id: str) -> tuple[KnowledgeBase, str] | None:
        """The knowledge and its revision, as `revision` would tell it; None: no such website."""
        ...

    async def revision(self, website_id: str) -> str | None:
        """The revision in force, asked before every answer, so cheap; None: no such website."""
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

    async def change(self, website_id: str, change: Change) -> str:
        """See `proposing.KnowledgeWriter`."""
        held = self._held[website_id]
        self.put([changed(held[0], change)[0]])
        return self._held[website_id][1]
