"""Finds a Chromium executable and starts it, or Firefox or WebKit as Playwright installed them.

This module chooses the executable and its flags, and reports a missing browser. Contexts and pages are
handled elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as DriverError

from agent.browser.browser_life import end_browser, watch_answers
from agent.browser.browser_processes import find_processes
from agent.browser.browser_profile import VIEWPORT, Engine, SandboxMode
from agent.browser.memory_watch import MemoryLimits, watch_memory
from kb_schema.operating_system import is_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Browser, BrowserContext, Playwright, ProxySettings

ENV_CHROMIUM = "PERIPLUS_CHROMIUM"
ENV_SANDBOX = "PERIPLUS_BROWSER_SANDBOX"
SYSTEM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SYSTEM_SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
"""Chromium without window support: the same engine, and a new context takes a third of the time."""
INSTALL_HINT = (
    "Install Chromium (Debian, Ubuntu: apt-get install chromium; elsewhere: playwright install chromium), "
    f"or set {ENV_CHROMIUM}=/path/to/chromium"
)

ENGINE_NAMES: dict[Engine, str] = {"chromium": "Chromium", "firefox": "Firefox", "webkit": "WebKit"}

# No background network traffic, no first-run dialogs, no graphics card: runs must not differ by machine.
QUIET_FLAGS = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--log-level=2",  # else every line on a page's console is a line of the browser's log as well, which the driver reads
)

UNJUDGED_FLAG = "--disable-blink-features=WebSocketStream,FencedFrames,FedCm"
"""Ways to send that no session of a page sees, also in workers; other browsers do not have them."""

UNWANTED_FLAGS = ("--disable-ipc-flooding-protection",)
"""Of the driver: without Chromium's own limit (200 within 10 s) a page changes its address without end, and the driver has no time
for other pages."""


class BrowserMissing(RuntimeError):
    """No usable browser of this engine on this machine. The message says what to install; a retry does not help.

    `named` is the configured executable; None if no executable was configured and the search found none.
    """

    def __init__(self, named: str | None = None, engine: Engine = "chromium") -> None:
        self.named, self.engine = named, engine
        what = f"{named} is not an executable file" if named else f"No {ENGINE_NAMES[engine]} found"
        hint = INSTALL_HINT if engine == "chromium" else f"Install it with: playwright install {engine}"
        super().__init__(f"{what}. {hint}")


class SandboxModeUnknown(ValueError):
    """`PERIPLUS_BROWSER_SANDBOX` has a value that is none of the modes."""

    def __init__(self, named: str) -> None:
        self.named = named
        super().__init__(f"{ENV_SANDBOX}: expected auto, on or off, found {named!r}")


@dataclass(frozen=True)
class LaunchSettings:
    """Settings for starting a browser. Flags and sandbox are Chromium's."""

    engine: Engine = "chromium"
    executable: str | None = None  # None: use `find_chromium`, or what Playwright installed of another engine
    sandbox: SandboxMode | None = None  # None: as PERIPLUS_BROWSER_SANDBOX says, else auto
    extra_args: tuple[str, ...] = ()  # additional command line flags
    channel: str | None = None  # an installed browser, such as chrome or msedge, instead of an executable
    proxy_server: str | None = None  # the proxy of all pages
    memory: MemoryLimits | None = None  # None: as PERIPLUS_PAGE_MEMORY and PERIPLUS_BROWSER_MEMORY say
    slow_mo_ms: float = 0  # Playwright's pause after each operation, so that a person can watch
    timeout_s: float = 30  # limit for the start


def find_chromium(*, headless: bool = True) -> str | None:
    """Return the path of the Chromium to use; None if there is none.

    The order: PERIPLUS_CHROMIUM, Playwright's own browser, a system browser. A headless run prefers a
    headless shell to a full browser. Raises `BrowserMissing` if PERIPLUS_CHROMIUM does not name an
    executable file, because a wrong setting must not silently select another browser.
    """
    named = os.environ.get(ENV_CHROMIUM)
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserMissing(named)
        return found
    shells = (*_playwright_executables("chromium_headless_shell"), *SYSTEM_SHELLS) if headless else ()
    candidates = (*shells, *_playwright_executables("chromium"), *SYSTEM_NAMES)
    return next((path for name in candidates if (path := shutil.which(name))), None)


def has_display() -> bool:
    """Return whether a window can be shown: always on macOS and Windows, elsewhere with X or Wayland."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


async def launch(
    playwright: Playwright, *, headless: bool = True, settings: LaunchSettings | None = None
) -> Browser:
    """Start the browser and return it; the caller closes it.

    The browser ends with this process, even after a crash: pipes connect the browser to Playwright's
    driver and the driver to this process. The caller handles SIGINT, so that Ctrl-C can end a run cleanly.
    Raises `BrowserMissing` if no browser is found, `SandboxModeUnknown` and `MemoryLimitInvalid`.
    """
    settings = settings or LaunchSettings()
    if settings.engine != "chromium":
        return await _launch_other(playwright, headless=headless, settings=settings)
    limits = settings.memory or MemoryLimits.from_environment()
    browser = await playwright.chromium.launch(
        **_chromium_options(settings, headless=headless), slow_mo=settings.slow_mo_ms
    )
    await _watch(browser, limits, settings)
    return browser


async def launch_profile(
    playwright: Playwright,
    folder: Path,
    *,
    headless: bool = True,
    settings: LaunchSettings | None = None,
    fills_window: bool = False,
) -> BrowserContext:
    """Start Chromium with the profile in a folder; the browser ends with the returned context.

    Pages have 1280 x 720 pixels; `fills_window`: as many as the window.

    Raises `BrowserMissing`, `SandboxModeUnknown` and `MemoryLimitInvalid`, as `launch` does.
    """
    settings = settings or LaunchSettings()
    options = _chromium_options(settings, headless=headless)
    limits = settings.memory or MemoryLimits.from_environment()
    width, height = VIEWPORT
    context = await playwright.chromium.launch_persistent_context(
        folder,
        **options,
        no_viewport=fills_window or None,
        viewport=None if fills_window else {"width": width, "height": height},
    )
    if context.browser is not None:
        await _watch(context.browser, limits, settings)
    return context


async def _watch(browser: Browser, limits: MemoryLimits, settings: LaunchSettings) -> None:
    """End what takes too much memory, and the browser when it does not answer; nothing where its processes cannot be read."""
    with suppress(DriverError):  # it is gone already; what uses it finds that out
        async with asyncio.timeout(settings.timeout_s):
            session = await browser.new_browser_cdp_session()
            processes = await find_processes(session)
        if processes is not None:
            watch_memory(browser, processes, limits, partial(end_browser, browser))
            watch_answers(browser, session, processes)


def _chromium_options(settings: LaunchSettings, *, headless: bool) -> dict[str, Any]:
    """Return what both ways of starting Chromium take. Raises `BrowserMissing`."""
    sandboxed, executable = uses_sandbox(settings.sandbox), settings.executable
    if settings.channel is None:
        executable = executable or find_chromium(headless=headless)
        if executable is None or shutil.which(executable) is None:
            raise BrowserMissing(executable)
    return {
        "executable_path": executable,
        "channel": settings.channel,
        "headless": headless,
        "args": [*QUIET_FLAGS, UNJUDGED_FLAG, *settings.extra_args],
        "ignore_default_args": list(UNWANTED_FLAGS),
        "chromium_sandbox": sandboxed,
        "handle_sigint": False,
        "proxy": None if settings.proxy_server is None else {"server": settings.proxy_server},
        "timeout": settings.timeout_s * 1000,
    }


async def _launch_other(playwright: Playwright, *, headless: bool, settings: LaunchSettings) -> Browser:
    """Start Firefox or WebKit. PERIPLUS_CHROMIUM and Chromium's flags do not concern them."""
    kind = playwright.firefox if settings.engine == "firefox" else playwright.webkit
    proxy: ProxySettings | None = {"server": settings.proxy_server} if settings.proxy_server else None
    executable = settings.executable or kind.executable_path
    if shutil.which(executable) is None:
        raise BrowserMissing(settings.executable, settings.engine)
    return await kind.launch(
        executable_path=executable,
        headless=headless,
        args=list(settings.extra_args),
        proxy=proxy,
        handle_sigint=False,
        slow_mo=settings.slow_mo_ms,
        timeout=settings.timeout_s * 1000,
    )


def uses_sandbox(mode: SandboxMode | None = None) -> bool:
    """Return whether Chromium's sandbox is on; None: as `PERIPLUS_BROWSER_SANDBOX` says.

    Where there is a log, it says once for each reason that the sandbox is off. Raises `SandboxModeUnknown`.
    """
    mode = mode or _sandbox_mode()
    if mode is SandboxMode.ON:
        return True
    reason = f"{ENV_SANDBOX} is off" if mode is SandboxMode.OFF else find_sandbox_obstacle()
    if reason is not None and _is_logging():  # commands without a log keep their output clean
        _log_sandbox_off(reason)
    return reason is None


def find_sandbox_obstacle() -> str | None:
    """Return why Chromium's sandbox cannot be used here; None if it can."""
    if sys.platform != "linux":
        return None
    if is_root():
        return "Chromium has no sandbox for root"
    return None if _may_make_namespaces() else "this user may not make user namespaces"


def _sandbox_mode() -> SandboxMode:
    named = os.environ.get(ENV_SANDBOX) or SandboxMode.AUTO
    try:
        return SandboxMode(named)
    except ValueError as exc:
        raise SandboxModeUnknown(named) from exc


@cache
def _may_make_namespaces() -> bool:
    """Try it as Chromium does: a new user namespace, and in it namespaces of processes and of the network."""
    return (
        subprocess.run([sys.executable, "-S", "-c", _NAMESPACES], capture_output=True, check=False).returncode
        == 0
    )


_NAMESPACES = """
import ctypes
user, processes, network = 0x10000000, 0x20000000, 0x40000000
libc = ctypes.CDLL(None)
raise SystemExit(libc.unshare(user) or libc.unshare(processes | network))
"""


def _is_logging() -> bool:
    """Return whether this process has a log; structlog is not imported for this question (decision 0140)."""
    is_configured = getattr(
        sys.modules.get("structlog"), "is_configured", None
    )  # none while another thread imports it
    return is_configured is not None and bool(is_configured())


@cache
def _log_sandbox_off(reason: str) -> None:
    import structlog  # noqa: PLC0415 - decision 0140

    structlog.get_logger(__name__).warning("Chromium runs without its sandbox", reason=reason)


_INSIDE = {
    "chromium": {
        "darwin": "chrome-mac*/**/MacOS/*",
        "win32": "chrome-win*/chrome.exe",
        "linux": "chrome-linux*/chrome",
    },
    "chromium_headless_shell": {
        "darwin": "chrome-*mac*/*headless?shell",
        "win32": "chrome-*win*/*headless?shell.exe",
        "linux": "chrome-*linux*/*headless?shell",
    },
}
"""Glob patterns of the executable in Playwright's browser folders; some folder names differ by version."""


def _playwright_executables(kind: str) -> Iterator[str]:
    """Yield the executables that `playwright install` installed for the current Playwright version."""
    revision = _playwright_revision(kind.replace("_", "-"))
    if revision is None:
        return
    inside = _INSIDE[kind].get(sys.platform, _INSIDE[kind]["linux"])
    for found in sorted((_playwright_browsers() / f"{kind}-{revision}").glob(inside)):
        yield str(found)


def _playwright_browsers() -> Path:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if named:
        return Path(named)
    caches = {"darwin": "Library/Caches", "win32": "AppData/Local"}
    return Path.home() / caches.get(sys.platform, ".cache") / "ms-playwright"


def _playwright_revision(name: str = "chromium") -> str | None:
    spec = find_spec("playwright")
    if spec is None or spec.origin is None:
        return None
    listing = Path(spec.origin).parent / "driver" / "package" / "browsers.json"
    if not listing.is_file():
        return None
    browsers = json.loads(listing.read_text(encoding="utf-8"))["browsers"]
    return next((str(each["revision"]) for each in browsers if each["name"] == name), None)
