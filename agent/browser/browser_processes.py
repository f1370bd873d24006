"""The processes of a browser that we started, and of its driver. Read from `/proc`; elsewhere than on Linux there are none."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

MB: Final = 2**20


class Process(NamedTuple):
    """One process at a moment."""

    pid: int
    shows_pages: bool
    mb: int
    """Resident memory."""
    cpu: int
    """Clock ticks of processor time so far."""


class BrowserProcesses(NamedTuple):
    """Ids of the first process of a browser and of its driver, which is a child of this process."""

    browser: int
    driver: int


async def find_processes(session: CDPSession) -> BrowserProcesses | None:
    """Return the processes of a Chromium that this process started, by a session with it; None where they cannot be read.

    Raises the driver's error if it is gone.
    """
    if sys.platform != "linux":
        return None
    known = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
    pid = next(each["id"] for each in known if each["type"] == "browser")
    driver = _find_driver(pid)
    # An id that is not below us may be of another process namespace, where it is somebody else's process here.
    return BrowserProcesses(pid, driver) if driver else None


def _find_driver(pid: int) -> int:
    """Return our own child above a process; 0 if there is none. A script that starts the browser may be between them."""
    while pid and (parent := _read_parent(pid)) != os.getpid():
        pid = parent
    return pid


def is_running(pid: int) -> bool:
    """Return whether there is such a process that has not ended."""
    return read_process(pid) is not None


def read_family(pid: int) -> Iterator[Process]:
    """Yield a process and all below it; nothing if it is gone."""
    waiting = [pid]
    while waiting:
        if (found := read_process(waiting.pop())) is None:
            continue
        yield found
        for task in Path(f"/proc/{found.pid}/task").glob("*/children"):
            with suppress(OSError):
                waiting += map(int, task.read_text(encoding="ascii").split())


def read_process(pid: int) -> Process | None:
    """Return a process as it is now; None if there is none, or it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        resident = int((folder / "statm").read_text(encoding="ascii").split()[1])
        fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        command = (folder / "cmdline").read_bytes()
    except (OSError, IndexError):
        return None
    if fields[0] == "Z":
        return None
    mb = resident * os.sysconf("SC_PAGE_SIZE") // MB
    return Process(pid, b"--type=renderer" in command, mb, int(fields[11]) + int(fields[12]))


def _read_parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def end_process(pid: int) -> None:
    """End a process through the system, so that nothing waits for it. 0: none."""
    if pid <= 0:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
