"""Finding a Chromium and starting it.

What lives here: which executable is used, with which flags, and the message for a machine that has none.
What does not: contexts, pages and everything done on them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Browser, Playwright

ENV_CHROMIUM = "PERIPLUS_CHROMIUM"
SYSTEM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SYSTEM_SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
"""Chromium without what draws windows: the same engine, and a context costs a third of the time."""
INSTALL_HINT = (
    "Install one (Debian, Ubuntu: apt-get install chromium; elsewhere: playwright install chromium), "
    f"or name one: {ENV_CHROMIUM}=/path/to/chromium"
)

# Nothing that phones home, asks questions or needs a graphics card: runs should not differ by machine.
QUIET_FLAGS = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


class BrowserMissing(RuntimeError):
    """No usable Chromium on this machine; the text says what to install. Final until somebody does.

    `named` is the executable that was asked for by name, None when every usual place was looked at.
    """

    def __init__(self, named: str | None = None) -> None:
        self.named = named
        what = f"{named} is not an executable file" if named else "No Chromium found"
        super().__init__(f"{what}. {INSTALL_HINT}")


@dataclass(frozen=True)
class LaunchSettings:
    """How Chromium is started."""

    executable: str | None = None  # None: the one that `find_chromium` finds
    sandbox: bool = False  # Chromium's own; many containers and some distributions forbid what it needs
    extra_args: tuple[str, ...] = ()  # further command line flags
    slow_mo_ms: float = 0  # Playwright's pause after each operation, to watch with the eye
    timeout_s: float = 30  # how long the start may take


def find_chromium(*, headless: bool = True) -> str | None:
    """Return the path of the Chromium to use: PERIPLUS_CHROMIUM, else Playwright's own, else a system one;
    where no window is to be shown, a headless shell before a whole browser.

    Raises BrowserMissing where PERIPLUS_CHROMIUM names something that cannot be run: a wrong setting is
    worth a message, not a silent second choice.
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
    """Whether a window could be shown here: always on macOS and Windows, elsewhere where X or Wayland is."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


async def launch(
    playwright: Playwright, *, headless: bool = True, settings: LaunchSettings | None = None
) -> Browser:
    """Start Chromium and return it; the caller closes it.

    The browser ends with this process, however that ends: it hangs on a pipe to Playwright's driver, and
    the driver on one to us. SIGINT is left to the caller, so that Ctrl-C can end a run in good order.
    Raises BrowserMissing where there is none.
    """
    settings = settings or LaunchSettings()
    executable = settings.executable or find_chromium(headless=headless)
    if executable is None or shutil.which(executable) is None:
        raise BrowserMissing(executable)
    return await playwright.chromium.launch(
        executable_path=executable,
        headless=headless,
        args=[*QUIET_FLAGS, *settings.extra_args],
        chromium_sandbox=settings.sandbox,
        handle_sigint=False,
        slow_mo=settings.slow_mo_ms,
        timeout=settings.timeout_s * 1000,
    )


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
"""Where the executable is in each of Playwright's folders; some have changed their names, hence the stars."""


def _playwright_executables(kind: str) -> Iterator[str]:
    """Yield where `playwright install` puts that browser of the installed Playwright's revision."""
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
