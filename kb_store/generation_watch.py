"""Notices when a website's active generation changes.

A store that can notify does (`WatchableDocumentStore`); the others are polled with one small query.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from kb_store.errors import StoreError
from kb_store.ports import DocumentStore

POLL_SECONDS = 0.5
"""The polling interval in seconds: a change is noticed within a second."""


@runtime_checkable
class WatchableDocumentStore(Protocol):
    """A document store that notifies of changes itself."""

    def changes(self) -> AsyncIterator[str]:
        """See `watch_changes`."""


async def watch_changes(documents: DocumentStore, *, every: float = POLL_SECONDS) -> AsyncIterator[str]:
    """Yield website ids, each time their active generation changes.

    All existing websites come first, so that no change is missed. A store that does not answer is queried
    again, and changes are reported afterwards.
    """
    if isinstance(documents, WatchableDocumentStore):
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
