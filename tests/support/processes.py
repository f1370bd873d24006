"""Looking at other processes through /proc, for tests of what a killed process leaves behind."""

from __future__ import annotations

from pathlib import Path


def descendants(pid: int) -> set[int]:
    """The children of a process, their children, and so on."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(folder.name))
        if fields:
            parents[int(folder.name)] = int(fields[1])
    found = {pid}
    while grown := {child for child, parent in parents.items() if parent in found} - found:
        found |= grown
    return found - {pid}


def process_is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not yet collected does not."""
    fields = _stat(pid)
    return bool(fields) and fields[0] != "Z"


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name: state, parent, ...; empty for no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
