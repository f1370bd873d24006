"""Who this process is, and whether the holder of a lease is certainly dead.

A killed loader leaves its lease behind. Waiting until it runs out is always right; where the
holder was a process of this very machine, one can look.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from kb_store.ports import Owner


def this_process() -> Owner:
    """The owner that stands for the running process."""
    pid = os.getpid()
    return Owner(place=_place(), pid=pid, started=_started(pid) or "", host=socket.gethostname())


def certainly_dead(owner: Owner) -> bool:
    """True only where it is known: same place, and no such process or another one by that id."""
    if owner.place != _place():
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    started = _started(owner.pid)
    return started is not None and started != owner.started


def _place() -> str:
    """The machine's boot and the process-id namespace: two containers never share both."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    after_name = stat.rpartition(")")[2].split()
    # Field 22 of proc_pid_stat(5): start time in clock ticks since boot. A zombie never started.
    return "zombie" if after_name[0] in "ZX" else after_name[19]
