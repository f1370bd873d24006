"""Notes what a page is loading from its own website by `fetch` or XHR.

A list that was searched shows its former rows until the answer is there. It is watched all the time, for what waits for
the answer does not know which action asked; `PageIdleWait` of the exploration watches one action.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from playwright.async_api import Error as DriverError
from playwright.async_api import Page, Request

from agent.page.page_listeners import listen_once
from agent.page.page_writes import is_own_request

_KINDS = frozenset({"xhr", "fetch"})
_LONGEST_S = 3.0
"""Seconds after which a request is taken for one that is held open, such as a long poll."""
_LONGEST_PAUSE_S = 2.0
"""Seconds that a search may wait for more keys: mostly 0.2 to 0.5, in one application 1."""


def is_page_document(request: Request) -> bool:
    """Whether it requests the document of a page, not of a frame."""
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except DriverError:  # the page is still being opened
        return True


@dataclass
class PageRequests:
    """The open requests of one page, and what may be asked next. Created by `watch_requests`."""

    _began_at: dict[Request, float] = field(default_factory=dict)
    _typed_at: float = 0.0
    _asked_at: float = 0.0

    def note_typing(self) -> None:
        """Something was typed: the page may ask for what belongs to it."""
        self._typed_at = time.monotonic()

    @property
    def may_ask(self) -> bool:
        """Whether the page may still ask for what belongs to the last text: a search waits for more keys."""
        return self._asked_at <= self._typed_at and time.monotonic() - self._typed_at < _LONGEST_PAUSE_S

    @property
    def is_loading(self) -> bool:
        """Whether an answer is waited for."""
        since = time.monotonic() - _LONGEST_S
        return any(at > since for at in self._began_at.values())

    # -- listeners: called by the driver, which does not wait for them

    def on_request(self, request: Request) -> None:
        """Note a request."""
        if request.resource_type in _KINDS and is_own_request(request):
            self._asked_at = self._began_at[request] = time.monotonic()

    def on_end(self, request: Request) -> None:
        """Forget a request that is over."""
        self._began_at.pop(request, None)


def watch_requests(page: Page) -> PageRequests:
    """Return the open requests of a page; always the same ones for the same page."""
    return listen_once(
        page,
        PageRequests,
        lambda one: {
            "request": one.on_request,
            "requestfinished": one.on_end,
            "requestfailed": one.on_end,
        },
    )
