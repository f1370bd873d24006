"""Opens the browser of the browser tools: one of its own, or a running one over CDP, which is left as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from playwright.async_api import Page

from periplus.session_setup import BrowserOptions, open_working_context
from periplus.session_setup.lent_context import LentContext, find_lent, show_as_focused


@dataclass(eq=False)
class BrowserSource:
    """The browser context in which the tools work, and which of its pages are theirs."""

    lent: LentContext
    attached: bool
    """Whether the browser was running before."""

    @property
    def own(self) -> set[Page]:
        """Pages that the tools opened, and pages that those opened."""
        return self.lent.own

    @property
    def pages(self) -> list[Page]:
        """All open pages, in the browser's order."""
        return self.lent.all_pages

    async def open_page(self) -> Page:
        """Open a page of our own."""
        return await self.lent.new_page()

    def lend(self) -> LentContext:
        """Return a context for one run; its `close` closes the pages of that run."""
        return LentContext(self.lent.as_context(), self.own, foreign=self.attached)

    async def prepare(self, page: Page) -> None:
        """Make a person's page usable while another one is in front."""
        if self.attached and page not in self.own:
            await show_as_focused(page)


@asynccontextmanager
async def open_browser_source(options: BrowserOptions) -> AsyncIterator[BrowserSource]:
    """Start a browser or attach to one. Raises `UserError` if that is not possible.

    A browser that was running keeps running, with the pages that it had; it gets no init scripts. Closing the
    connection is all that happens to it, also if this process is killed.
    """
    async with open_working_context(options, bare=True) as context:
        lent = find_lent(context) or LentContext(context, foreign=False)
        yield BrowserSource(lent, attached=options.given)
