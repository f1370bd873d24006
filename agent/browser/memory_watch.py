"""Watches the memory of a browser that we started, and ends what takes too much.

A page can fill the memory of its own process, of the browser and of the driver faster than the driver can be asked to end the page:
lines of workers on the console, messages, arrays. So a thread reads `/proc` and ends processes through the system, also while the driver
and the event loop are busy. Elsewhere than on Linux nothing is watched. Which page a process belongs to is not known here: the page
whose process was ended tells it by crashing (`agent.page.page_watchdog`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from playwright.async_api import Error as DriverError

from agent import retry_limits

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
_MB: Final = 2**20


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


class _Process(NamedTuple):
    pid: int
    shows_pages: bool
    mb: int
    cpu: int
    """Clock ticks of processor time so far."""


class MemoryWatch:
    """Looks at one browser's processes until it is stopped or the browser is gone.

    A process of pages beyond its limit is ended. If another process is beyond it (the browser itself, the driver, network, graphics), the page
    that computed most since the last look is the cause: such processes only grow by what pages send. If that does not
    help, and at twice the limit, the process is ended itself; of the browser and the driver, the browser.
    """

    def __init__(self, pid: int, limits: MemoryLimits) -> None:
        self._pid, self._limits = pid, limits
        self._driver = _read_parent(pid)
        self._stopped = threading.Event()
        self._cpu: dict[int, int] = {}
        self._ended_s, self._reason = float("-inf"), ""
        self._waits_until_s = float("-inf")
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
            found = list(_read_family(self._pid))
            if not found:
                return
            driver = _read_process(self._driver)
            self.look([*found, driver] if driver is not None else found)

    def look(self, found: list[_Process]) -> None:
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

    def _end_cause(self, large: _Process, busiest: list[_Process]) -> None:
        """End the page that fills the memory of another process, or that process."""
        if not self._may_end_more():
            return
        if busiest and large.mb <= 2 * self._limits.process_mb:
            reason = f"a process of the browser took more than {self._limits.process_mb} MB of memory, and this page was the busiest"
            self._end_pages(busiest[0], reason)
            return
        pid = self._pid if large.pid == self._driver else large.pid
        import structlog  # noqa: PLC0415 - nothing is ended as a rule

        structlog.get_logger(__name__).error(
            "browser_process_ended", pid=pid, mb=large.mb, limit_mb=self._limits.process_mb
        )
        self._note(f"a process of the browser took more than {2 * self._limits.process_mb} MB of memory")
        _kill(pid)

    def _end_pages(self, process: _Process, reason: str) -> None:
        self._note(f"{reason}; the page was ended")
        import structlog  # noqa: PLC0415 - nothing is ended as a rule

        structlog.get_logger(__name__).warning(
            "page_process_ended", pid=process.pid, mb=process.mb, reason=reason
        )
        _kill(process.pid)

    def _may_end_more(self) -> bool:
        return time.monotonic() >= self._waits_until_s

    def _note(self, reason: str) -> None:
        self._reason, self._ended_s = reason, time.monotonic()
        self._waits_until_s = self._ended_s + SETTLE_S


_WATCHES: WeakKeyDictionary[Browser, MemoryWatch] = WeakKeyDictionary()


async def watch_memory(browser: Browser, limits: MemoryLimits) -> None:
    """Watch a Chromium that this process started until it is closed; do nothing where its processes cannot be read."""
    if sys.platform != "linux" or not (limits.process_mb or limits.browser_mb):
        return
    try:
        session = await browser.new_browser_cdp_session()
        processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        await session.detach()
    except DriverError:  # it is gone already; whoever uses it finds that out
        return
    watch = MemoryWatch(next(each["id"] for each in processes if each["type"] == "browser"), limits)
    _WATCHES[browser] = watch
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
    return min(known, default=0) // _MB


def _read_family(pid: int) -> Iterator[_Process]:
    """Yield a process and all below it; nothing if it is gone."""
    waiting = [pid]
    while waiting:
        if (found := _read_process(waiting.pop())) is None:
            continue
        yield found
        for task in Path(f"/proc/{found.pid}/task").glob("*/children"):
            with suppress(OSError):
                waiting += map(int, task.read_text(encoding="ascii").split())


def _read_process(pid: int) -> _Process | None:
    folder = Path(f"/proc/{pid}")
    try:
        resident = int((folder / "statm").read_text(encoding="ascii").split()[1])
        fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        command = (folder / "cmdline").read_bytes()
    except (OSError, IndexError):
        return None
    if fields[0] == "Z":
        return None
    mb = resident * os.sysconf("SC_PAGE_SIZE") // _MB
    return _Process(pid, b"--type=renderer" in command, mb, int(fields[11]) + int(fields[12]))


def _read_parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
