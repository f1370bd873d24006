"""A cache of parsed pages: agents often identify a page and then ask for its available actions.

A page is lent to one call at a time, because lookups are memoised on the page itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from kb_schema.page_snapshots import PageSnapshot
from web_pages.stored_pages import StoredPage

MOST_PAGES = 8
MOST_CHARACTERS = 1_000_000
"""Limit of all cached pages together, in bytes of HTML. Parsed they take about twenty times as much."""

_Key = tuple[object, ...]


class ParsedPageCache:
    """The last few pages of all callers. Only a caller that sends the identical page again gets it."""

    def __init__(self, *, most_pages: int = MOST_PAGES, most_characters: int = MOST_CHARACTERS) -> None:
        self._most_pages = most_pages
        self._most_characters = most_characters
        self._pages: OrderedDict[_Key, StoredPage] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    @contextmanager
    def lent(self, snapshot: PageSnapshot) -> Iterator[StoredPage]:
        """Yield the parsed page of a snapshot, exclusively while the context is open. Raises `PageRefused`."""
        key = (
            snapshot.url,
            snapshot.title,
            snapshot.html,
            snapshot.text,
            snapshot.annotated,
            snapshot.ready_state,
        )
        with self._lock:
            page = self._taken(key)
        page = page or StoredPage(snapshot)
        yield page
        # Not after an error: a page that was refused or only partly probed is not cached.
        with self._lock:
            self._put(key, page)

    def _taken(self, key: _Key) -> StoredPage | None:
        page = self._pages.pop(key, None)
        if page is not None:
            self._characters -= _size(page)
        return page

    def _put(self, key: _Key, page: StoredPage) -> None:
        self._taken(key)
        self._pages[key] = page
        self._characters += _size(page)
        while self._pages and (
            len(self._pages) > self._most_pages or self._characters > self._most_characters
        ):
            self._taken(next(iter(self._pages)))

    def __len__(self) -> int:
        return len(self._pages)


def _size(page: StoredPage) -> int:
    return len(page.snapshot.html) + len(page.snapshot.text or "")
