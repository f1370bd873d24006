"""Redacts a written session again: earlier files may contain values that became known as secrets later."""

from __future__ import annotations

from pathlib import Path

from agent.run_context import RunContext


def redact_session_files(folder: Path, context: RunContext) -> int:
    """Redact all known secrets in every file; return the number of changed files."""
    changed = 0
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        text = file.read_bytes().decode("utf-8", "replace")
        clean = str(context.redact(text))
        if clean != text:
            file.write_bytes(clean.encode())
            changed += 1
    return changed
