"""Finds paths back to a recorded page: by its address, or by the transitions with which it was found."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from agent.exploration.exploration_state import ExplorationState
from agent.exploration.pages.page_addresses import normalize_address
from agent.exploration.pages.page_digests import PageDigests
from agent.exploration.pages.page_observation import PageObservation
from kb_schema.explorations import AttemptedTransition, ExplorationPage

LONGEST_PATH = 6
"""Maximum number of transitions that are repeated to reach a page."""
MOST_PATHS = 2
MOST_LOOKED_AT = 2_000


def is_same_page(look: PageObservation, page: ExplorationPage) -> bool:
    """Whether an observation shows a recorded page: equal address and structure."""
    if look.address != normalize_address(page.url):
        return False
    seen = PageDigests.of(page.state)
    return look.digests.like(seen) or look.digests.bones == seen.bones


def find_return_paths(book: ExplorationState, page: ExplorationPage) -> Iterator[list[AttemptedTransition]]:
    """Yield paths to a page, shortest first; an empty path means to open its address."""
    if page.openable is not False:
        yield []
    found = 0
    queue: deque[tuple[str, list[AttemptedTransition]]] = deque([(page.page_id, [])])
    passed = {page.page_id}
    for _ in range(MOST_LOOKED_AT):
        if not queue or found >= MOST_PATHS:
            return
        at, way = queue.popleft()
        for passage in book.from_[at]:
            if passage.from_page in passed or len(way) >= LONGEST_PATH or passage.filled:
                continue
            passed.add(passage.from_page)
            longer = [passage, *way]
            if book.pages[passage.from_page].openable:
                found += 1
                yield longer
            queue.append((passage.from_page, longer))
