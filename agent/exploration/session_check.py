"""Finds whether a user is still signed in: pages that were seen signed in are opened again with the session, and must be as they were."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.async_api import Browser, BrowserContext

from agent.exploration.exploration_record import ExplorationRecord
from agent.exploration.requests.load_requests import LoadRequests
from agent.exploration.requests.request_rate import RequestRate
from agent.exploration.requests.robots_permissions import RobotsPermissions
from agent.exploration.return_paths import is_same_page
from agent.exploration.tab.exploration_context import open_session_copy
from agent.exploration.tab.exploration_tab import ExplorationTab
from kb_schema.explorations import ExplorationPage

MOST_PAGES = 2
"""So many of the pages that were seen last are opened, beside the first."""


class SessionCheck:
    """Tells pages that ask for a password of a user who is signed in, to confirm something or for something new, from those that ask to
    sign in.
    """

    def __init__(
        self, ledger: ExplorationRecord, permission: RobotsPermissions, pace: RequestRate, loads: LoadRequests
    ) -> None:
        self._ledger, self._permission, self._pace, self._loads = ledger, permission, pace, loads
        self._known: set[str] = set()

    async def is_signed_in(self, browser: Browser, session: BrowserContext, asking: str) -> bool:
        """Return whether the user is signed in, though the page with the state `asking` asks for a password."""
        if asking in self._known:
            return True
        pages = self._list_pages(asking)
        if not pages:
            return False
        wanted = self._ledger.wanted
        copied = open_session_copy(browser, session, wanted, self._permission, self._loads)
        async with copied as (context, guard):
            tab = ExplorationTab(context, guard, wanted.limits.page_s)
            for page in pages:
                await self._pace.turn()
                look = (await tab.open(page.url)).look
                if look is None or not is_same_page(look, page):
                    return False
        self._known.add(asking)
        return True

    def _list_pages(self, asking: str) -> Sequence[ExplorationPage]:
        known = [
            page
            for page in self._ledger.book.pages.values()
            if page.signed_in and page.openable is not False and not page.layer and page.state != asking
        ]
        return [*{page.url: page for page in (*known[:1], *known[-MOST_PAGES:])}.values()]
