"""Opens a browser context for an exploration, in which a guard judges every request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, BrowserContext, StorageState, ViewportSize

from agent.browser.browser_life import is_alive
from agent.browser.storage_state import open_with_session
from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.tab.exploration_tab import empty_page
from agent.page import in_page_library
from agent.page.page_watchdog import close_context, watch_context

VIEWPORT: ViewportSize = {"width": 1280, "height": 720}


@asynccontextmanager
async def open_context(
    browser: Browser, storage: StorageState | None, guard: RequestGuard
) -> AsyncIterator[BrowserContext]:
    """Open a browser context with a session, the in-page library and the guard; close it without a further request."""
    context = await open_with_session(
        browser,
        storage,
        viewport=VIEWPORT,
        service_workers="block",  # the guard cannot see their requests
    )
    try:
        watch_context(context)
        await in_page_library.install(context)
        await guard.install(context)
        yield context
    finally:
        if is_alive(browser):
            for page in context.pages:
                await empty_page(page)
            await close_context(context)
