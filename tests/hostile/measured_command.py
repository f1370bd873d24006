"""Runs a command as `python -m periplus` does and prints what it used: `USED PEAK_KB PROCESSOR_SECONDS`."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from periplus.cli import main

MOST_SECONDS = 60
"""Processor time, far beyond what is allowed, after which this process is ended."""


def _seconds() -> float:
    """Processor time of this process and its children that have ended."""
    both = (resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def _peak_kb() -> int:
    """The most resident memory of this process or one of its children.

    The kernel hands a process the peak of the one that started it; `VmHWM` is its own.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    own = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    return max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


if __name__ == "__main__":
    begun = _seconds()
    most = int(begun) + MOST_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    try:
        main()
    finally:
        print(f"USED {_peak_kb()} {_seconds() - begun:.1f}", file=sys.stderr)  # noqa: T201 - its output
