"""Noticing that a website's active generation changed, without being asked for it.

A store that can tell does (`Watchable`); the others are asked every now and then, which costs one
small question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from kb_store.errors import StoreError
from kb_store.ports import DocumentStore

POLL_SECONDS = 0.5
"""Between two looks: a change is noticed within a second."""


@runtime_checkable
class Watchable(Protocol):
    """A document store that tells of changes by itself."""

    def changes(self) -> AsyncIterator[str]:
        """As `changes` below."""


async def changes(documents: DocumentStore, *, every: float = POLL_SECONDS) -> AsyncIterator[str]:
    """Website ids, each time their active generation changed, for as long as one iterates.

    The websites there are come first, so that nothing falls between two questions. A store that
    does not answer is asked again; what changed meanwhile is told afterwards.
    """
    if isinstance(documents, Watchable):
        async for website_id in documents.changes():
            yield website_id
        return
    seen: dict[str, int] = {}
    while True:
        try:
            found = {active.website_id: active.generation for active in await documents.websites()}
        except StoreError:
            found = seen
        for website_id in sorted(found.keys() | seen.keys()):
            if found.get(website_id) != seen.get(website_id):
                yield website_id
        seen = found
        await asyncio.sleep(every)
