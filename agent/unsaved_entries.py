"""What was entered on a page and sent nowhere: loading the page again would lose it without a trace.

An entry is any action that may change the page's state: a text, a tick, a click. It is no longer there, or no longer
only there, once the page is at another address or document, or a write to the page's website that began with the entry
was accepted. The last entry stands for those before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from playwright.async_api import Frame, Page

from agent.errors import StepFailed
from agent.page.page_writes import watch_writes

_SAVED_S = 1.0
"""Seconds after an entry in which a write begins that saves it."""


class _PageMoves:
    """How often a page came to another address or document."""

    def __init__(self, page: Page) -> None:
        self.count = 0
        page.on("framenavigated", self._note)

    def _note(self, frame: Frame) -> None:
        if frame.parent_frame is None:
            self.count += 1


_MOVES: WeakKeyDictionary[Page, _PageMoves] = WeakKeyDictionary()


def _count_moves(page: Page) -> int:
    if page not in _MOVES:
        _MOVES[page] = _PageMoves(page)
    return _MOVES[page].count


@dataclass(frozen=True, slots=True)
class _Entry:
    page: Page
    moves: int
    """The page's moves when it began."""
    at: float

    def is_unsaved(self) -> bool:
        saved = self.at <= watch_writes(self.page).accepted_at <= self.at + _SAVED_S
        return _count_moves(self.page) == self.moves and not saved


class UnsavedEntries:
    """The entries of one run. Entries of earlier tasks are kept: a task that fails cannot make them again."""

    def __init__(self) -> None:
        self._last: _Entry | None = None
        self._kept: _Entry | None = None
        self._ended: _Entry | None = None
        self._recovering = 0

    @property
    def are_kept(self) -> bool:
        """Whether the page holds entries that were made before the present task began."""
        return self._kept is not None and self._kept.is_unsaved()

    @property
    def are_of_ended_tasks(self) -> bool:
        """Whether the page holds entries of a task that has ended: nothing makes them again."""
        return self._ended is not None and self._ended.is_unsaved()

    def note(self, page: Page) -> None:
        """Note that an entry begins."""
        self._last = _Entry(page, _count_moves(page), time.monotonic())

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Run a task in the body: what is on the page now is kept meanwhile.

        A task that an exception ends, as the loss of the browser does, makes its entries again when the run is resumed.
        """
        kept = self._kept
        if self._last is not None and self._last.is_unsaved():
            self._kept = self._last
        try:
            yield
            self._ended = self._last
        finally:
            self._kept = kept

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Recover in the body: what is kept must not be lost by it."""
        self._recovering += 1
        try:
            yield
        finally:
            self._recovering -= 1

    def check_may_leave(self) -> None:
        """Raises `StepFailed` if a recovery is about to load or leave a page on which earlier tasks entered something."""
        if self._recovering and self.are_kept:
            raise StepFailed(
                "the page is not opened again: what was entered on it before would be lost",
                error="entries_would_be_lost",
            )
