"""Starts a browser or attaches to the one that is given, and opens contexts in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from agent.browser.browser_profile import BrowserProfile, Engine
from agent.browser.launch import (
    ENGINE_NAMES,
    ENV_SANDBOX,
    BrowserMissing,
    LaunchSettings,
    SandboxModeUnknown,
    has_display,
    launch,
    launch_profile,
)
from agent.browser.memory_watch import MemoryLimitInvalid
from agent.page import in_page_library
from agent.page.page_watchdog import close_context, watch_context
from agent.presentation.page_overlay import PageOverlay
from periplus.errors import UserError
from periplus.session_setup.browser_options import BrowserOptions
from periplus.session_setup.debugger_address import find_debugger_address
from periplus.session_setup.lent_context import LentContext, leave_dialogs
from periplus.session_setup.storage_states import read_storage_state_file

if TYPE_CHECKING:
    from playwright.async_api import StorageState

CONNECT_MS = 10_000
"""How long a running browser may take to answer."""


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
    async with async_playwright() as playwright:
        context = await _start_profile(playwright, options, options.user_data_dir, fills_window=for_person)
        try:
            if for_person:
                leave_dialogs(context)
            else:
                await _install(context, bare=bare)
            yield context
        finally:
            await close_context(context)


@asynccontextmanager
async def _open_persons_context(
    browser: Browser, storage: StorageState | None
) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(no_viewport=True, storage_state=storage)
    leave_dialogs(context)
    try:
        yield context
    finally:
        await close_context(context)


@asynccontextmanager
async def start_browser(
    *,
    headed: bool | None = None,
    debugging_port: int | None = None,
    engine: Engine = "chromium",
    options: BrowserOptions | None = None,
) -> AsyncIterator[Browser]:
    """Start a browser. `headed` None: show it if there is a display. Raises `UserError` if it cannot start.

    `debugging_port`: a port of this machine at which other clients reach the browser; None: there is none.
    `options`: a browser to attach to, or how to start one, without a profile; `headed` is then the options' own. A
    browser that was running keeps running with the pages that it had, also if this process is killed.
    """
    options = options or BrowserOptions(headed=headed)
    if options.given:
        async with async_playwright() as playwright:
            yield await _attach(playwright, options)
        return
    async with async_playwright() as playwright:
        args = () if debugging_port is None else (f"--remote-debugging-port={debugging_port}",)
        settings = LaunchSettings(engine=engine, extra_args=(*args, *_choose_flags(options)))
        browser = await _start(playwright, options, settings)
        try:
            yield browser
        finally:
            with suppress(PlaywrightError):  # it may be gone
                await browser.close()


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
    context = await browser.new_context(**options, storage_state=storage)
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


async def _attach(playwright: Playwright, options: BrowserOptions) -> Browser:
    """Attach to a given browser, whose settings (focus, downloads, colours) stay as they are."""
    endpoint = options.cdp_endpoint or ""
    address = await find_debugger_address(endpoint, allow_remote=options.allow_remote_cdp)
    try:
        return await playwright.chromium.connect_over_cdp(address, timeout=CONNECT_MS, no_defaults=True)
    except PlaywrightError as exc:
        raise UserError(
            f"no browser answers at {endpoint}: {exc.message.splitlines()[0].rpartition(': ')[2]}",
            fix="start Chrome with --remote-debugging-port=9222 and a profile of its own (--user-data-dir)",
        ) from exc


async def _start(playwright: Playwright, options: BrowserOptions, settings: LaunchSettings) -> Browser:
    headless = _choose_headless(options)
    settings = replace(settings, channel=options.channel, proxy_server=options.proxy_server)
    try:
        return await launch(playwright, headless=headless, settings=settings)
    except (BrowserMissing, SandboxModeUnknown, PlaywrightError, OSError, ValueError) as exc:
        raise _to_user_error(exc, settings) from exc


async def _start_profile(
    playwright: Playwright, options: BrowserOptions, folder: Path, *, fills_window: bool
) -> BrowserContext:
    headless = _choose_headless(options)
    settings = LaunchSettings(
        channel=options.channel, proxy_server=options.proxy_server, extra_args=_choose_flags(options)
    )
    try:
        return await launch_profile(
            playwright, folder, headless=headless, settings=settings, fills_window=fills_window
        )
    except (BrowserMissing, SandboxModeUnknown, PlaywrightError, OSError, ValueError) as exc:
        raise _to_user_error(exc, settings) from exc


def _choose_flags(options: BrowserOptions) -> tuple[str, ...]:
    return ("--enable-features=WebMCP",) if options.webmcp else ()


def _choose_headless(options: BrowserOptions) -> bool:
    if options.headed and not has_display():
        raise UserError(
            "no display to show the browser on", fix="use --headless, xvfb-run, or a machine with a display"
        )
    return not (has_display() if options.headed is None else options.headed)


def _to_user_error(exc: Exception, settings: LaunchSettings) -> UserError:
    name = settings.channel or ENGINE_NAMES[settings.engine]
    if isinstance(exc, BrowserMissing):
        return UserError(f"no {name} found", fix=str(exc))
    if isinstance(exc, SandboxModeUnknown):
        return UserError(str(exc), fix=f"correct or unset {ENV_SANDBOX}")
    if isinstance(exc, MemoryLimitInvalid):
        return UserError(str(exc), fix=f"correct or unset {exc.name}")
    reason = next(iter(str(exc).splitlines()), type(exc).__name__)
    fix = "set PERIPLUS_CHROMIUM=/path/to/chromium, use --headless, or set PERIPLUS_BROWSER_SANDBOX=off"
    if settings.engine != "chromium":
        fix = f"playwright install --with-deps {settings.engine}, or use --headless"
    elif settings.channel is not None or settings.proxy_server is not None:
        fix = "check --channel, --user-data-dir and --proxy-server"
    return UserError(f"{name} does not start: {reason}", fix=fix)
