"""The numbered feed of a page: after a lost connection, a page continues after the last number it received."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

KEPT = 1_000
"""Number of items kept for reconnecting pages."""
MOST_WAITING = 500
"""Most unsent items of a follower; beyond it the follower is disconnected, and reconnects with its last
number.
"""
QUIET_S = 15.0
"""Seconds without an item until a keep-alive is sent, so that proxies keep the connection open."""
RESYNC = "resync"
"""Tells a follower that missed items are no longer kept: it must fetch the state again."""


@dataclass(frozen=True, slots=True)
class FeedItem:
    """One item of the feed."""

    number: int
    kind: str
    data: Mapping[str, JsonValue] = field(default_factory=dict)


class VisitFeed:
    """Sends items to all followers, in order."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept: deque[FeedItem] = deque(maxlen=kept)
        self._followers: set[asyncio.Queue[FeedItem | None]] = set()
        self._closed = False
        self.number = 0
        """Number of the last item."""

    def add(self, kind: str, data: Mapping[str, JsonValue] | None = None, *, passing: bool = False) -> None:
        """Add an item. `passing`: only for current followers (sound), not kept."""
        self.number += 1
        item = FeedItem(self.number, kind, data or {})
        if not passing:
            self._kept.append(item)
        for queue in list(self._followers):
            if queue.qsize() >= MOST_WAITING:
                self._followers.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(item)

    def close(self) -> None:
        """Close the feed: followers receive the remaining items and are disconnected."""
        self._closed = True
        for queue in self._followers:
            queue.put_nowait(None)

    @property
    def followers(self) -> int:
        """Number of followers."""
        return len(self._followers)

    async def follow(self, after: int, *, quiet_s: float = QUIET_S) -> AsyncGenerator[FeedItem | None]:
        """Yield every item after `after`, then new ones; None after `quiet_s` seconds without an item."""
        queue: asyncio.Queue[FeedItem | None] = asyncio.Queue()
        self._followers.add(queue)
        try:
            for item in self._missed(after):
                yield item
            while not (self._closed and queue.empty()):
                try:
                    coming = await asyncio.wait_for(queue.get(), quiet_s)
                except TimeoutError:
                    yield None
                    continue
                if coming is None:
                    return
                yield coming
        finally:
            self._followers.discard(queue)

    def _missed(self, after: int) -> list[FeedItem]:
        first = self._kept[0].number if self._kept else self.number + 1
        lost = after > self.number or (after + 1 < first and len(self._kept) == self._kept.maxlen)
        if lost:
            return [FeedItem(self.number, RESYNC)]
        return [item for item in self._kept if item.number > after]
