"""How one changed value of a document is shown."""

from __future__ import annotations

import json
from typing import Any

from rich.markup import escape

from loaders.diff import Change


def change_line(change: Change) -> str:
    """Its path, what it was and what it is, as a line of markup."""
    before, after = (
        "[dim]nothing[/]" if value is None else escape(_short(value))
        for value in (change.before, change.after)
    )
    return f"[cyan]{escape(change.path)}[/] {before} [dim]->[/] {after}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."
