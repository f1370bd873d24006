"""Recognises navigations by the person: typed addresses, back and reload. All others are results of actions.

The browser's history shows how each entry was created.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as DriverError

_ADDRESSED = frozenset({"typed", "auto_bookmark", "generated", "keyword", "keyword_generated", "address_bar"})
ANSWER_MS = 1_500
"""A back or reload within this time after an action is an effect of the action."""
SWAP_S = 2.0
"""Maximum time for which a tab swaps documents."""
ASK_AGAIN_S = 0.02
_SWAPPING = "Not attached to an active page"

UserNavigation = Literal["navigate", "navigate_back", "refresh"]


@dataclass
class TabHistory:
    """The known history of one tab."""

    page: Page
    session: CDPSession | None = None
    _index: int = -1
    _entries: list[tuple[int, str]] = field(default_factory=list)
    """Id and transition type of each entry."""

    async def step(
        self, *, since_action_ms: float, loaded: bool, by_page: str = ""
    ) -> tuple[UserNavigation, str | None] | None:
        """Return the person's navigation and the address; None if the page caused it.

        `by_page`: the kind of navigation that a script of the page began (`reload`, `traverse`).
        `loaded`: a document was requested; else the page only changed its address (`history.replaceState`).
        Raises the driver's error if the page has closed.
        """
        told = await self._asked()
        index, entries = int(told["currentIndex"]), told["entries"]
        former_index, former = self._index, self._entries
        self._index = index
        self._entries = [(entry["id"], entry["transitionType"]) for entry in entries]
        return _classify_navigation(
            entries[index], index, former_index, former, since_action_ms, loaded=loaded, by_page=by_page
        )

    async def _asked(self) -> dict[str, Any]:
        """Return the browser's history; retries while the tab swaps documents, since the browser refuses then."""
        if self.session is None:
            self.session = await self.page.context.new_cdp_session(self.page)
        until = time.monotonic() + SWAP_S
        while True:
            try:
                return await self.session.send("Page.getNavigationHistory")
            except DriverError as error:
                if _SWAPPING not in str(error) or self.page.is_closed() or time.monotonic() > until:
                    raise
            await asyncio.sleep(ASK_AGAIN_S)


def _classify_navigation(
    entry: dict[str, Any],
    index: int,
    former_index: int,
    former: list[tuple[int, str]],
    since_action_ms: float,
    *,
    loaded: bool,
    by_page: str,
) -> tuple[UserNavigation, str | None] | None:
    known = next((at for at, (each, _) in enumerate(former) if each == entry["id"]), None)
    answered = since_action_ms < ANSWER_MS
    if known is None:
        return ("navigate", entry["url"]) if entry["transitionType"] in _ADDRESSED else None
    if answered or by_page == ("reload" if index == former_index else "traverse"):
        return None
    if index == former_index:
        return ("refresh", None) if loaded else None
    return ("navigate_back", None) if index == former_index - 1 else ("navigate", entry["url"])
