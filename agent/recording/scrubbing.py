"""Once more over a session that is written: what turned out to be secret later may stand in earlier files."""

from __future__ import annotations

from pathlib import Path

from agent.context import Context


def scrub(folder: Path, context: Context) -> int:
    """Take every secret known by now out of every file; returns how many files held one."""
    changed = 0
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        text = file.read_bytes().decode("utf-8", "replace")
        clean = str(context.redact(text))
        if clean != text:
            file.write_bytes(clean.encode())
            changed += 1
    return changed
