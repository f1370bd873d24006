"""Which navigations are the person's own: an address typed, back, reload. All others follow from a click.

Asked of the browser's history, which tells how each entry came about.
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
"""A page that goes back or reloads so soon after something was done on it does it because of that."""
SWAP_S = 2.0
"""The longest that documents change places in a tab."""
ASK_AGAIN_S = 0.02
_SWAPPING = "Not attached to an active page"

Own = Literal["navigate", "navigate_back", "refresh"]


@dataclass
class History:
    """The history of one tab, as far as it was looked at."""

    page: Page
    session: CDPSession | None = None
    _index: int = -1
    _entries: list[tuple[int, str]] = field(default_factory=list)
    """Id and kind of each entry."""

    async def step(self, *, since_action_ms: float) -> tuple[Own, str | None] | None:
        """What the person did that led here, with the address; None where a page did it.

        Raises the driver's error where the page is gone.
        """
        told = await self._asked()
        index, entries = int(told["currentIndex"]), told["entries"]
        former_index, former = self._index, self._entries
        self._index = index
        self._entries = [(entry["id"], entry["transitionType"]) for entry in entries]
        return _own(entries[index], index, former_index, former, since_action_ms)

    async def _asked(self) -> dict[str, Any]:
        """The history as the browser tells it, which for a moment it refuses while documents change places."""
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


def _own(
    entry: dict[str, Any],
    index: int,
    former_index: int,
    former: list[tuple[int, str]],
    since_action_ms: float,
) -> tuple[Own, str | None] | None:
    known = next((at for at, (each, _) in enumerate(former) if each == entry["id"]), None)
    answered = since_action_ms < ANSWER_MS
    if known is None:
        return ("navigate", entry["url"]) if entry["transitionType"] in _ADDRESSED else None
    if answered:
        return None
    if index == former_index:
        return ("refresh", None)
    return ("navigate_back", None) if index == former_index - 1 else ("navigate", entry["url"])
