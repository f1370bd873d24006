"""A browser context that belongs to a person, as far as it is lent to us: only pages of our own are listed, listened to and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as PlaywrightError

from agent.page.page_side_effects import watch_page

_OF_PAGES = frozenset({"console", "dialog", "request", "requestfailed", "requestfinished", "response"})
"""Events of a context that are the same events of its pages."""


class LentContext:
    """Stands for a `BrowserContext` whose other pages are somebody else's.

    What is installed (`add_init_script`) and listened to (`on`) concerns pages that were opened
    here, and pages that those opened. `close` closes them and nothing else. Other attributes are the context's.
    """

    def __init__(
        self,
        context: BrowserContext,
        own: set[Page] | None = None,
        *,
        foreign: bool = True,
        answers_dialogs: bool = True,
    ) -> None:
        """`own`: a set that also gets the pages. `foreign`: whether the context is a person's.
        `answers_dialogs`: whether dialogs of our pages are answered as in a task; else the person answers them.
        """
        self.foreign, self._answers_dialogs = foreign, answers_dialogs
        self._context = context
        self.own: set[Page] = set() if own is None else own
        self._pages: list[Page] = []
        self._scripts: list[tuple[str, str]] = []
        """Each with the one that runs in its place in a document that has begun."""
        self._listeners: list[tuple[str, Callable[..., Any]]] = []
        self._preparing: set[asyncio.Task[None]] = set()

    @property
    def pages(self) -> list[Page]:
        """The open pages of our own, in the order of their opening."""
        return [page for page in self._pages if not page.is_closed()]

    @property
    def all_pages(self) -> list[Page]:
        """The open pages of the whole context, in the browser's order."""
        return [page for page in self._context.pages if not page.is_closed()]

    def as_context(self) -> BrowserContext:
        """Return this as what it stands for."""
        return cast("BrowserContext", self)

    async def new_page(self) -> Page:
        """Open a page. Raises Playwright's error."""
        page = await self._context.new_page()
        self.take(page)
        await self._prepare(page, again=False)
        return page

    async def add_init_script(self, script: str) -> None:
        """Run a script in every document of our pages. In a page that one of ours opened, it also runs at once."""
        await self.add_late_script(script, script)

    async def add_late_script(self, script: str, late: str) -> None:
        """Run a script in every document of our pages; in a page that one of ours opened, run `late` at once, after the page's own."""
        self._scripts.append((script, late))
        for page in self.pages:
            await page.add_init_script(script)

    def on(self, event: str, f: Callable[..., Any]) -> None:
        """Listen to an event of our pages; `page`: each page of ours that opens. Service workers are the person's: not heard."""
        if event == "serviceworker":
            return
        if event in _OF_PAGES:
            for page in self.pages:
                page.on(event, f)  # type: ignore[call-overload]  # the events of both are the same
        elif event != "page":
            self._context.on(event, f)  # type: ignore[call-overload]  # passed on as it is
            return
        self._listeners.append((event, f))

    async def close(self) -> None:
        """Close our pages."""
        for task in list(self._preparing):
            task.cancel()
        for page in self.pages:
            with suppress(PlaywrightError):  # the browser may be gone
                await page.close()

    def take(self, page: Page) -> None:
        """Count a page, and those that it opens, as our own."""
        if page in self._pages:
            return
        self.own.add(page)
        self._pages.append(page)
        page.on("popup", self._take_popup)
        if self._answers_dialogs:
            watch_page(page)  # in a given browser nothing else answers them
        for event, listener in self._listeners:
            if event == "page":
                listener(page)
            else:
                page.on(event, listener)  # type: ignore[call-overload]  # as above

    def _take_popup(self, page: Page) -> None:
        if page in self._pages:
            return
        self.take(page)
        task = asyncio.ensure_future(self._prepare(page, again=True))
        self._preparing.add(task)
        task.add_done_callback(self._preparing.discard)

    async def _prepare(self, page: Page, *, again: bool) -> None:
        """Install what the context has; `again`: the page may have its document already."""
        with suppress(PlaywrightError):  # it may be closed already
            await show_as_focused(page)
            for script, late in self._scripts:
                await page.add_init_script(script)
                if again:
                    await page.evaluate(late)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def find_lent(context: object) -> LentContext | None:
    """Return a context that is lent; None for one that is our own."""
    return context if isinstance(context, LentContext) else None


async def show_as_focused(page: Page) -> None:
    """Let a page behind others run as one in front; for as long as we are connected.

    In a browser that we start, Playwright does this for every page.
    """
    with suppress(PlaywrightError):
        session = await page.context.new_cdp_session(page)
        await session.send("Emulation.setFocusEmulationEnabled", {"enabled": True})


def leave_dialogs(context: BrowserContext) -> None:
    """Leave the dialogs of a person's pages to the person: without any listener, Playwright answers them."""
    context.on("dialog", lambda _dialog: None)
