"""What a page is told, by number: whoever lost the connection goes on after the last number they had."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

KEPT = 1_000
"""Items that can be told again."""
MOST_WAITING = 500
"""Of a follower who takes nothing: then it is let go, and comes back by its last number."""
QUIET_S = 15.0
"""After so long without an item a sign of life is sent, so that nobody on the way hangs up."""
RESYNC = "resync"
"""Tells a follower that what it missed is not kept: it asks for the state anew."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that the page is told."""

    number: int
    kind: str
    data: Mapping[str, JsonValue] = field(default_factory=dict)


class Feed:
    """Tells everybody who follows, in order."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept: deque[Item] = deque(maxlen=kept)
        self._followers: set[asyncio.Queue[Item | None]] = set()
        self._closed = False
        self.number = 0
        """Of the last item."""

    def tell(self, kind: str, data: Mapping[str, JsonValue] | None = None, *, passing: bool = False) -> None:
        """One item more; `passing`: only for who follows now (sound), not told again."""
        self.number += 1
        item = Item(self.number, kind, data or {})
        if not passing:
            self._kept.append(item)
        for queue in list(self._followers):
            if queue.qsize() >= MOST_WAITING:
                self._followers.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(item)

    def close(self) -> None:
        """Nothing will be told any more: who follows hears what is left, and is let go."""
        self._closed = True
        for queue in self._followers:
            queue.put_nowait(None)

    @property
    def followers(self) -> int:
        """How many follow."""
        return len(self._followers)

    async def follow(self, after: int, *, quiet_s: float = QUIET_S) -> AsyncGenerator[Item | None]:
        """Every item above `after`, then what comes; None where it was quiet for `quiet_s` seconds."""
        queue: asyncio.Queue[Item | None] = asyncio.Queue()
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

    def _missed(self, after: int) -> list[Item]:
        first = self._kept[0].number if self._kept else self.number + 1
        lost = after > self.number or (after + 1 < first and len(self._kept) == self._kept.maxlen)
        if lost:
            return [Item(self.number, RESYNC)]
        return [item for item in self._kept if item.number > after]
