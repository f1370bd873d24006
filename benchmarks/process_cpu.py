"""CPU time of processes from `/proc`, as the benchmarks of flows, runs and long ones count it."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
_OWN, _ENDED = slice(11, 13), slice(13, 15)
"""Where user and system time of a process, and of its ended children, stand after its name (proc(5))."""


def read_cpu_s(pid: int, *, ended_children: bool = True) -> float:
    """Return the CPU seconds of one process so far, user and system; 0 if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    return parse_cpu_s(stat, ended_children=ended_children)


def parse_cpu_s(stat: str, *, ended_children: bool = True) -> float:
    """Return the CPU seconds, user and system, in the text of a process's `stat`."""
    fields = stat.rpartition(")")[2].split()
    counted = fields[_OWN] + (fields[_ENDED] if ended_children else [])
    return sum(map(int, counted)) / TICKS
