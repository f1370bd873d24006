"""How to get back to a page that was seen: by its address, or as it was found. Pure decisions over the `Book`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from agent.mapping.book import Book
from agent.mapping.digesting import Digests
from agent.mapping.looking import Look
from agent.mapping.places import address_of
from kb_schema.mapping import Passage, SeenPage

LONGEST_WAY = 6
"""Passages that are done again to get to a page."""
MOST_WAYS = 2
MOST_LOOKED_AT = 2_000


def same_page(look: Look, page: SeenPage) -> bool:
    """Whether a look is at a page that was seen: its address, and what it is built like."""
    if look.address != address_of(page.url):
        return False
    seen = Digests.of(page.state)
    return look.digests.like(seen) or look.digests.bones == seen.bones


def way_to(book: Book, page: SeenPage) -> Iterator[list[Passage]]:
    """Ways to a page, the shortest first: an empty one is to open its address."""
    if page.openable is not False:
        yield []
    found = 0
    queue: deque[tuple[str, list[Passage]]] = deque([(page.page_id, [])])
    passed = {page.page_id}
    for _ in range(MOST_LOOKED_AT):
        if not queue or found >= MOST_WAYS:
            return
        at, way = queue.popleft()
        for passage in book.from_[at]:
            if passage.from_page in passed or len(way) >= LONGEST_WAY or passage.filled:
                continue
            passed.add(passage.from_page)
            longer = [passage, *way]
            if book.pages[passage.from_page].openable:
                found += 1
                yield longer
            queue.append((passage.from_page, longer))
