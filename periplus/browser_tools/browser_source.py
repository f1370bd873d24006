"""Opens the browser of the browser tools: one of its own, or a running one over CDP, which is left as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    ProxySettings,
    ViewportSize,
    async_playwright,
)
from playwright.async_api import Error as PlaywrightError

from agent.browser.browser_profile import VIEWPORT
from agent.browser.launch import (
    ENV_SANDBOX,
    BrowserMissing,
    SandboxModeUnknown,
    find_chromium,
    has_display,
    uses_sandbox,
)
from agent.page.page_watchdog import watch_context
from mcp_server.identification.base_urls import LOOPBACK
from periplus.errors import UserError

CONNECT_MS = 10_000
"""How long a running browser may take to answer."""


@dataclass(frozen=True, slots=True)
class BrowserOptions:
    """Which browser the tools use; the names are Playwright's."""

    cdp_endpoint: str | None = None
    """The address of a running Chrome; None: start one."""
    allow_remote_cdp: bool = False
    user_data_dir: Path | None = None
    """The profile of the browser that is started; None: a new one without cookies."""
    channel: str | None = None
    """An installed browser, such as `chrome` or `msedge`."""
    storage_state: Path | None = None
    proxy_server: str | None = None
    headed: bool | None = None
    """None: with a window if there is a display."""

    def check(self) -> None:
        """Raise `UserError` for options that contradict each other, and for a browser on another machine."""
        if self.cdp_endpoint is None:
            if self.user_data_dir is not None and self.storage_state is not None:
                raise UserError(
                    "--storage-state and --user-data-dir do not go together",
                    fix="a profile has its own cookies",
                )
            return
        given = {
            "--user-data-dir": self.user_data_dir,
            "--channel": self.channel,
            "--storage-state": self.storage_state,
            "--proxy-server": self.proxy_server,
        }
        if wrong := [name for name, value in given.items() if value is not None]:
            raise UserError(
                f"{wrong[0]} is for a browser that is started",
                fix="leave it out, or leave --cdp-endpoint out",
            )
        parts = urlsplit(self.cdp_endpoint)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise UserError(
                f"--cdp-endpoint {self.cdp_endpoint!r} is no address",
                fix="write http://127.0.0.1:9222, for example",
            )
        if parts.hostname not in LOOPBACK and not self.allow_remote_cdp:
            raise UserError(
                f"--cdp-endpoint: {parts.hostname} is another machine; what goes there is not protected",
                fix="add --allow-remote-cdp if you trust the way to it",
            )


@dataclass(eq=False)
class BrowserSource:
    """The browser context in which the tools work, and which of its pages are theirs."""

    context: BrowserContext
    attached: bool
    """Whether the browser was running before."""
    own: set[Page] = field(default_factory=set)
    """Pages that the tools opened, and pages that those opened."""

    @property
    def pages(self) -> list[Page]:
        """All open pages, in the browser's order."""
        return [page for page in self.context.pages if not page.is_closed()]

    async def open_page(self) -> Page:
        """Open a page of our own."""
        page = await self.context.new_page()
        self.own.add(page)
        return page

    def note_popup(self, page: Page) -> None:
        """A page of ours opened this one."""
        self.own.add(page)

    async def close_own_pages(self) -> None:
        """Close the pages that are ours."""
        for page in [each for each in self.own if not each.is_closed()]:
            with suppress(PlaywrightError):
                await page.close()


@asynccontextmanager
async def open_browser_source(options: BrowserOptions) -> AsyncIterator[BrowserSource]:
    """Start a browser or attach to one. Raises `UserError` if that is not possible.

    A browser that was running keeps running, with the pages that it had; it gets no init scripts. Closing the
    connection is all that happens to it, also if this process is killed.
    """
    options.check()
    async with async_playwright() as playwright:
        if options.cdp_endpoint is not None:
            source = BrowserSource(await _attach(playwright, options.cdp_endpoint), attached=True)
            try:
                yield source
            finally:
                await source.close_own_pages()
            return
        context, browser = await _start(playwright, options)
        watch_context(context)
        try:
            yield BrowserSource(context, attached=False)
        finally:
            with suppress(PlaywrightError):
                await context.close()
            if browser is not None:
                with suppress(PlaywrightError):
                    await browser.close()


async def _attach(playwright: Playwright, endpoint: str) -> BrowserContext:
    try:
        browser = await playwright.chromium.connect_over_cdp(endpoint, timeout=CONNECT_MS)
    except PlaywrightError as exc:
        raise UserError(
            f"no browser answers at {endpoint}: {exc.message.splitlines()[0].rpartition(': ')[2]}",
            fix="start Chrome with --remote-debugging-port=9222 and a profile of its own (--user-data-dir)",
        ) from exc
    if not browser.contexts:
        raise UserError(f"the browser at {endpoint} has no window", fix="open one")
    return browser.contexts[0]


async def _start(playwright: Playwright, options: BrowserOptions) -> tuple[BrowserContext, Browser | None]:
    """Start a browser; None for one with a profile of its own, which ends with its context."""
    headless = not (has_display() if options.headed is None else options.headed)
    proxy: ProxySettings | None = {"server": options.proxy_server} if options.proxy_server else None
    size: ViewportSize = {"width": VIEWPORT[0], "height": VIEWPORT[1]}
    chromium, path = playwright.chromium, None if options.channel else find_chromium(headless=headless)
    if path is None and options.channel is None:
        raise UserError("no Chromium found", fix=str(BrowserMissing(None)))
    try:
        sandbox = uses_sandbox()
        if options.user_data_dir is not None:
            context = await chromium.launch_persistent_context(
                options.user_data_dir,
                executable_path=path,
                channel=options.channel,
                headless=headless,
                chromium_sandbox=sandbox,
                proxy=proxy,
                handle_sigint=False,
                viewport=size,
            )
            return context, None
        browser = await chromium.launch(
            executable_path=path,
            channel=options.channel,
            headless=headless,
            chromium_sandbox=sandbox,
            proxy=proxy,
            handle_sigint=False,
        )
        return await browser.new_context(viewport=size, storage_state=options.storage_state), browser
    except SandboxModeUnknown as exc:
        raise UserError(str(exc), fix=f"correct or unset {ENV_SANDBOX}") from exc
    except (PlaywrightError, OSError, ValueError) as exc:
        reason = next(iter(str(exc).splitlines()), type(exc).__name__)
        raise UserError(
            f"the browser does not start: {reason}",
            fix="check --channel, --user-data-dir, --storage-state and PERIPLUS_CHROMIUM",
        ) from exc
