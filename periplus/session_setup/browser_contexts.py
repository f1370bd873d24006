"""Opens browser contexts for one job: new ones, those of a profile, or the person's own of a given browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from playwright.async_api import Browser, BrowserContext, async_playwright

from agent.browser.browser_life import close_browser
from agent.browser.browser_profile import BrowserProfile
from agent.browser.program_priority import keep_priority
from agent.browser.storage_state import open_with_session
from agent.page import in_page_library
from agent.page.page_watchdog import close_context, watch_context
from agent.presentation.page_overlay import PageOverlay
from periplus.errors import UserError
from periplus.session_setup.browser_options import BrowserOptions
from periplus.session_setup.browser_start import start_browser, start_profile
from periplus.session_setup.lent_context import LentContext, leave_dialogs
from periplus.session_setup.storage_states import read_storage_state_file

if TYPE_CHECKING:
    from playwright.async_api import StorageState


@asynccontextmanager
async def open_browser_context(
    *, headed: bool | None = None, storage: StorageState | None = None
) -> AsyncIterator[BrowserContext]:
    """Open a context in a new browser; see `start_browser` and `open_fresh_context`."""
    async with start_browser(headed=headed) as browser, open_fresh_context(browser, storage) as context:
        yield context


@asynccontextmanager
async def open_working_context(
    options: BrowserOptions,
    storage: StorageState | None = None,
    *,
    bare: bool = False,
    for_person: bool = False,
) -> AsyncIterator[BrowserContext]:
    """Open a context for one job: in a given browser the person's own, lent; else a new one, or that of the profile.

    `storage` is for new contexts: a given browser and a profile have their own cookies. `bare`: without the in-page
    library and the overlay, for a context that installs what it needs. A given browser gets neither: they are put into
    our pages when they are called. `for_person`: a person works in it, so its pages fill the window, their dialogs are
    left to the person, and no page is ended that does not answer; it implies `bare`. Raises `UserError` if the browser cannot be started or does not answer.
    """
    options.check()
    options = replace(options, webmcp=not for_person)
    if options.storage_state is not None:
        storage = read_storage_state_file(options.storage_state)
    if options.given:
        async with start_browser(options=options) as browser:
            lent = LentContext(take_given_context(browser, options), answers_dialogs=not for_person)
            if not for_person:
                watch_context(lent.as_context())
            try:
                yield lent.as_context()
            finally:
                await lent.close()
        return
    if options.user_data_dir is None:
        async with (
            start_browser(options=options) as browser,
            _open_persons_context(browser, storage)
            if for_person
            else open_fresh_context(browser, storage, bare=bare) as context,
        ):
            yield context
        return
    keep_priority()
    async with async_playwright() as playwright:
        context = await start_profile(playwright, options, options.user_data_dir, fills_window=for_person)
        try:
            if for_person:
                leave_dialogs(context)
            else:
                await _install(context, bare=bare)
            yield context
        finally:
            await close_context(context)
            if context.browser is not None:
                await close_browser(context.browser)


@asynccontextmanager
async def _open_persons_context(
    browser: Browser, storage: StorageState | None
) -> AsyncIterator[BrowserContext]:
    context = await open_with_session(browser, storage, no_viewport=True)
    leave_dialogs(context)
    try:
        yield context
    finally:
        await close_context(context)


@asynccontextmanager
async def open_fresh_context(
    browser: Browser,
    storage: StorageState | None = None,
    profile: BrowserProfile | None = None,
    *,
    bare: bool = False,
) -> AsyncIterator[BrowserContext]:
    """Open a new context (1280 x 720, or as `profile` says) with the in-page libraries; `storage`: an optional
    storage state; `bare`: without the libraries.
    """
    options = (profile or BrowserProfile()).context_options()
    context = await open_with_session(browser, storage, **options)
    try:
        await _install(context, bare=bare)
        yield context
    finally:
        await close_context(context)


async def _install(context: BrowserContext, *, bare: bool) -> None:
    watch_context(context)
    if not bare:
        await in_page_library.install(context)
        await PageOverlay.install(context)


def take_given_context(browser: Browser, options: BrowserOptions) -> BrowserContext:
    """Return the person's context of a given browser; their dialogs are left to them. Raises `UserError`."""
    if not browser.contexts:
        raise UserError(f"the browser at {options.cdp_endpoint} has no window", fix="open one")
    leave_dialogs(browser.contexts[0])
    return browser.contexts[0]
