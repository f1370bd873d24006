"""CPU time of processes from `/proc`, as the benchmarks of flows, runs and long ones count it."""

from __future__ import annotations

import os
from collections.abc import Iterator
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


def read_parts_cpu_s() -> dict[str, float]:
    """Return the CPU seconds so far of `own` (this process), `driver` (Playwright's), `chromium`, and `other` processes below it.

    The website that is served has no part. A renderer ends seconds before its parent asks for it. Until then it is a process without a
    command, and its time is its parent's: left out, it would be charged to the work that is measured next.
    """
    spent = dict.fromkeys(("own", "driver", "chromium", "other"), 0.0)
    for pid, part in _list_parts():
        spent[part] += read_cpu_s(pid, ended_children=part != "own")
    return spent


def read_tree_cpu_s() -> float:
    """Return the CPU seconds so far of this process and all below it, ended ones too, without the website that is served."""
    ended = read_cpu_s(os.getpid()) - read_cpu_s(os.getpid(), ended_children=False)
    return sum(read_parts_cpu_s().values()) + ended


def _list_parts() -> Iterator[tuple[int, str]]:
    """Yield this process and each below it, with its part."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    wanted = [(os.getpid(), "own")]
    for pid, part in wanted:
        yield pid, part
        parts = ((child, _part_of(child, part)) for child in children.get(pid, []))
        wanted += [(child, of_child) for child, of_child in parts if of_child is not None]


def _part_of(pid: int, of_parent: str) -> str | None:
    """Return the part of a process; None for the website that is served."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    name = Path(command.split(b"\0")[0].decode(errors="replace")).name
    if b"seeds.spadeworks.site" in command:
        return None
    if not command:
        return "other" if of_parent == "own" else of_parent
    if name == "node":
        return "driver"
    return "chromium" if "chrom" in name or "headless_shell" in name else "other"


def parse_cpu_s(stat: str, *, ended_children: bool = True) -> float:
    """Return the CPU seconds, user and system, in the text of a process's `stat`."""
    fields = stat.rpartition(")")[2].split()
    counted = fields[_OWN] + (fields[_ENDED] if ended_children else [])
    return sum(map(int, counted)) / TICKS
