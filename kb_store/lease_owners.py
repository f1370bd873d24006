"""Identifies this process as a lease holder, and detects holders that are certainly dead.

A killed loader leaves its lease behind. Waiting for its expiry is always correct; if the holder ran on this
machine, its process can be looked up.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from kb_schema.operating_system import is_process_alive
from kb_store.ports import LeaseOwner


def this_process() -> LeaseOwner:
    """Return the owner that stands for this process."""
    pid = os.getpid()
    return LeaseOwner(place=_place(), pid=pid, started=_read_start_time(pid) or "", host=socket.gethostname())


def is_certainly_dead(owner: LeaseOwner) -> bool:
    """Return True only if it is certain: same place, and the process is gone or a different one has its id."""
    if owner.place != _place():
        return False
    if not is_process_alive(owner.pid):
        return True
    started = _read_start_time(owner.pid)
    return started is not None and started != owner.started


def _place() -> str:
    """Return the machine's boot and the process-id namespace, which no two containers share."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _read_start_time(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    after_name = stat.rpartition(")")[2].split()
    # Field 22 of proc_pid_stat(5): start time in clock ticks since boot. A zombie never started.
    return "zombie" if after_name[0] in "ZX" else after_name[19]
