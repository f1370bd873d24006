"""Redacts a written session again: earlier files may contain values that became known as secrets later."""

from __future__ import annotations

import json
import re
from pathlib import Path

from agent.run_context import RunContext


def redact_session_files(folder: Path, context: RunContext) -> int:
    """Redact all known secrets in every file; return the number of changed files.

    JSON stays JSON: its texts are redacted one by one.
    """
    changed = 0
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        text = file.read_bytes().decode("utf-8", "replace")
        match file.suffix:
            case ".jsonl":
                clean = "".join(_redact_json(line, context) for line in re.split(r"(?<=\n)", text))
            case ".json":
                clean = _redact_json(text, context)
            case _:
                clean = str(context.redact(text))
        if clean != text:
            file.write_bytes(clean.encode())
            changed += 1
    return changed


def _redact_json(text: str, context: RunContext) -> str:
    """Return JSON without secrets; what is no JSON is redacted as a text."""
    if context.redact(text) == text:
        return text
    try:
        data = context.redact(json.loads(text))
    except ValueError:
        return str(context.redact(text))
    end = "\n" if text.endswith("\n") else ""
    return json.dumps(data, ensure_ascii=False, indent=2 if "\n" in text.strip() else None) + end
