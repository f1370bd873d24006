"""Watches the memory of a browser that we started, and ends what takes too much.

A page can fill the memory of its own process, of the browser and of the driver faster than the driver can be asked to end the page:
lines of workers on the console, messages, arrays. So a thread reads `/proc` and ends processes through the system, also while the driver
and the event loop are busy. Elsewhere than on Linux nothing is watched. Which page a process belongs to is not known here: the page
whose process was ended tells it by crashing (`agent.page.page_watchdog`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agent import retry_limits
from agent.browser.browser_processes import (
    MB,
    BrowserProcesses,
    Process,
    end_process,
    read_family,
    read_process,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser

ENV_PAGE_MEMORY = "PERIPLUS_PAGE_MEMORY"
ENV_BROWSER_MEMORY = "PERIPLUS_BROWSER_MEMORY"
LOOK_S = 0.5
"""How often the processes are looked at."""
SETTLE_S = 5.0
"""How long the browser may take to pass on what an ended page had sent, before the next page counts as the cause."""
TOLD_S = 120.0
"""How long after the end of a process a crash of a page is explained by it: the driver may be busy until then."""


class MemoryLimitInvalid(ValueError):
    """A limit of memory that is not a number of MB."""

    def __init__(self, name: str, named: str) -> None:
        self.name, self.named = name, named
        super().__init__(f"{name}: expected a number of MB, 0 for no limit, found {named!r}")


@dataclass(frozen=True)
class MemoryLimits:
    """Limits in MB of resident memory; 0: none."""

    process_mb: int
    """Of one process of the browser, or of its driver. A page usually has a process of its own."""
    browser_mb: int
    """Of the browser's processes and the driver together."""

    @classmethod
    def from_environment(cls) -> MemoryLimits:
        """Return the limits that the environment has, else the defaults. Raises `MemoryLimitInvalid`."""
        return cls(
            _read_limit(ENV_PAGE_MEMORY, retry_limits.PAGE_MEMORY_MB),
            _read_limit(ENV_BROWSER_MEMORY, _read_machine_mb() // 2),
        )


class MemoryWatch:
    """Looks at one browser's processes until it is stopped or the browser is gone.

    A process of pages beyond its limit is ended. If another process is beyond it (the browser itself, the driver, network, graphics), the page
    that computed most since the last look is the cause: such processes only grow by what pages send. If that does not
    help, and at twice the limit, the process is ended itself; with the driver the browser, which nobody could use then.
    """

    def __init__(
        self,
        processes: BrowserProcesses,
        limits: MemoryLimits,
        tell: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """`tell` gets the reason when the whole browser is to be ended, in the thread that looks, and ends it."""
        self._processes, self._limits, self._tell = processes, limits, tell
        self._stopped = threading.Event()
        self._cpu: dict[int, int] = {}
        self._ended_s, self._reason = float("-inf"), ""
        self._waits_until_s, self._driver_mb = float("-inf"), 0
        self.peak_mb = 0
        """The most that all processes had together at a look."""

    def start(self) -> None:
        """Begin to look, in a thread that does not keep this process alive."""
        threading.Thread(target=self._run, name="browser-memory", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def read_reason(self) -> str | None:
        """Return why a process of pages was ended within `TOLD_S`; None if none was."""
        return self._reason if time.monotonic() - self._ended_s <= TOLD_S else None

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_S):
            found = list(read_family(self._processes.browser))
            if not found:
                return
            driver = read_process(self._processes.driver)
            self.look([*found, driver] if driver is not None else found)

    def look(self, found: list[Process]) -> None:
        """Judge the processes as they are now."""
        limit = self._limits.process_mb
        total = sum(each.mb for each in found)
        self.peak_mb = max(self.peak_mb, total)
        pages = [each for each in found if each.shows_pages]
        busiest = sorted(pages, key=lambda each: each.cpu - self._cpu.get(each.pid, 0), reverse=True)
        self._cpu = {each.pid: each.cpu for each in pages}
        for page in pages:
            if 0 < limit < page.mb:
                self._end_pages(page, f"its process took more than {limit} MB of memory")
        large = max((each for each in found if not each.shows_pages), key=lambda each: each.mb, default=None)
        if large is not None and 0 < limit < large.mb:
            self._end_cause(large, busiest)
        elif 0 < self._limits.browser_mb < total and pages and self._may_end_more():
            largest = max(pages, key=lambda each: each.mb)
            self._end_pages(
                largest,
                f"the browser took more than {self._limits.browser_mb} MB of memory, most of it this page's process",
            )

    def _end_cause(self, large: Process, busiest: list[Process]) -> None:
        """End the page that fills the memory of another process, or that process."""
        is_driver = large.pid == self._processes.driver
        if not self._may_end_more():
            return
        if busiest and large.mb <= 2 * self._limits.process_mb:
            if is_driver and large.mb <= self._driver_mb:
                return  # it passes on what an ended page had sent: no other page is the cause
            self._driver_mb = large.mb if is_driver else self._driver_mb
            reason = f"a process of the browser took more than {self._limits.process_mb} MB of memory, and this page was the busiest"
            self._end_pages(busiest[0], reason)
            return
        reason = f"a process of the browser took more than {2 * self._limits.process_mb} MB of memory"
        self._note(reason)
        if is_driver or large.pid == self._processes.browser:
            self._tell(f"{reason}; the browser was ended")
        else:
            end_process(large.pid)

    def _end_pages(self, process: Process, reason: str) -> None:
        self._note(f"{reason}; the page was ended")
        import structlog  # noqa: PLC0415 - nothing is ended as a rule

        structlog.get_logger(__name__).warning(
            "page_process_ended", pid=process.pid, mb=process.mb, reason=reason
        )
        end_process(process.pid)

    def _may_end_more(self) -> bool:
        return time.monotonic() >= self._waits_until_s

    def _note(self, reason: str) -> None:
        self._reason, self._ended_s = reason, time.monotonic()
        self._waits_until_s = self._ended_s + SETTLE_S


_WATCHES: WeakKeyDictionary[Browser, MemoryWatch] = WeakKeyDictionary()


def watch_memory(
    browser: Browser, processes: BrowserProcesses, limits: MemoryLimits, tell: Callable[[str], None]
) -> None:
    """Watch a Chromium that this process started until it is closed. `tell`: see `MemoryWatch`."""
    if not (limits.process_mb or limits.browser_mb):
        return
    watch = _WATCHES[browser] = MemoryWatch(processes, limits, tell)
    browser.on("disconnected", lambda _browser: watch.stop())
    watch.start()


def read_memory_reason(browser: Browser | None) -> str | None:
    """Return why a process of the browser's pages was ended lately; None if none was, or it is not watched."""
    watch = None if browser is None else _WATCHES.get(browser)
    return None if watch is None else watch.read_reason()


def _read_limit(name: str, default: int) -> int:
    named = os.environ.get(name)
    if not named:
        return default
    if not named.isascii() or not named.isdigit():
        raise MemoryLimitInvalid(name, named)
    return int(named)


def _read_machine_mb() -> int:
    """Return the memory of this machine or container in MB; 0 if it is not known."""
    known = []
    with suppress(OSError, ValueError):
        known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # cgroup v2; "max" is no number
        known.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(known, default=0) // MB
