"""Opens a browser context for an exploration, in which a guard judges every request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, BrowserContext, StorageState, ViewportSize

from agent.browser.browser_life import is_alive
from agent.browser.storage_state import open_with_session, save_session
from agent.exploration.requests.load_requests import LoadRequests
from agent.exploration.requests.read_requests import ReadRequests
from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.requests.robots_permissions import RobotsPermissions
from agent.exploration.tab.exploration_tab import empty_page
from agent.page import in_page_library
from agent.page.page_watchdog import close_context, watch_context
from kb_schema.explorations import Exploration

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


@asynccontextmanager
async def open_session_copy(
    browser: Browser,
    session: BrowserContext,
    wanted: Exploration,
    permission: RobotsPermissions,
    loads: LoadRequests,
) -> AsyncIterator[tuple[BrowserContext, RequestGuard]]:
    """Open a context with a copy of the session of another one, and a guard of its own in which no control is allowed."""
    reads = ReadRequests(wanted.reads, wanted.origins)
    guard = RequestGuard(wanted.origins, permission.may_open, reads=reads, loads=loads)
    async with open_context(browser, await save_session(session), guard) as context:
        yield context, guard
