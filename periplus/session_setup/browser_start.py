"""Starts a browser, or attaches to the one that is given.

It imports nothing of what is done with a browser, so that one can be starting while the rest is imported (decision 0202).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from agent.browser.browser_life import close_browser
from agent.browser.browser_profile import Engine
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
from agent.browser.program_priority import keep_priority
from periplus.errors import UserError
from periplus.session_setup.browser_options import BrowserOptions

CONNECT_MS = 10_000
"""How long a running browser may take to answer."""


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
    keep_priority()
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
            await close_browser(browser)


async def _attach(playwright: Playwright, options: BrowserOptions) -> Browser:
    """Attach to a given browser, whose settings (focus, downloads, colours) stay as they are."""
    from periplus.session_setup.debugger_address import find_debugger_address  # noqa: PLC0415 - decision 0140

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


async def start_profile(
    playwright: Playwright, options: BrowserOptions, folder: Path, *, fills_window: bool
) -> BrowserContext:
    """Start a browser with a profile and return its context. Raises `UserError`."""
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
