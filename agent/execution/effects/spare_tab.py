"""A second tab for reading pages without leaving the page under work.

Opening a tab takes about as long as reading a page in it, so during a run one tab is opened in advance,
emptied after use and used again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as PlaywrightError

_EMPTY = "about:blank"


class SpareTab:
    """The spare tab of one task runner. Outside `kept`, a tab is opened for each use and closed after it."""

    def __init__(self, context: Callable[[], BrowserContext]) -> None:
        self._context = context
        self._kept = False
        self._opening: asyncio.Task[Page] | None = None
        self._used: tuple[Page, asyncio.Task[bool]] | None = None
        """The tab used last, and the task that empties it."""

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep the tab between uses while the context is open."""
        if self._kept:
            yield
            return
        self._kept = True
        try:
            yield
        finally:
            self._kept = False
            with suppress(PlaywrightError):
                await self._close()

    def ahead(self) -> None:
        """Open the tab in advance."""
        if self._kept and self._opening is None and self._used is None:
            self._opening = asyncio.create_task(self._context().new_page(), name="spare tab")

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Page]:
        """An empty tab. Raises Playwright's error if none can be opened."""
        tab = await self._empty_tab()
        try:
            yield tab
        finally:
            if self._kept and self._used is None:
                self._used = tab, asyncio.create_task(_emptied(tab), name="spare tab")
            else:
                await tab.close()

    async def _empty_tab(self) -> Page:
        opening, self._opening = self._opening, None
        if opening is not None:
            return await opening
        used, self._used = self._used, None
        if used is not None:
            tab, emptied = used
            if await emptied:
                return tab
            with suppress(PlaywrightError):
                await tab.close()
        return await self._context().new_page()

    async def _close(self) -> None:
        opening, self._opening = self._opening, None
        used, self._used = self._used, None
        if used is not None:
            tab, emptied = used
            # Closing a tab while it is being emptied can make the browser driver hang.
            await emptied
            await tab.close()
        if opening is not None:
            await (await opening).close()


async def _emptied(tab: Page) -> bool:
    """Return whether the tab could be emptied."""
    try:
        await tab.goto(_EMPTY)
    except PlaywrightError:
        return False
    return True
