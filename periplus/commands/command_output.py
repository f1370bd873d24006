"""Output that several commands share: JSON for scripts, changed values for people."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from loaders.markup_escapes import format_count, one_line, with_hidden

if TYPE_CHECKING:
    from loaders.diffs.knowledge_diff import ValueChange

__all__ = ["AsJson", "format_count", "print_json"]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def print_json(console: Console, data: Any) -> None:
    """Print data as JSON; with colours on a terminal."""
    if console.is_terminal:
        console.print_json(json.dumps(data, ensure_ascii=False))
    else:
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2))


LONGEST = 120
"""Maximum number of characters shown of one value."""
BEFORE = 30
"""How many of them precede the first difference when the value is longer."""


def format_change(change: ValueChange) -> str:
    """Return one line of markup: the path, the old value and the new value.

    Long values are shown from shortly before their first difference.
    """
    texts = [
        "" if value is None else json.dumps(value, ensure_ascii=False) for value in _change_values(change)
    ]
    same = sum(1 for _ in takewhile(lambda each: each[0] == each[1], zip(*texts, strict=False)))
    before, after = (
        escape(with_hidden(_cut_value(text, same))) if text else "[dim]nothing[/]" for text in texts
    )
    return f"[cyan]{escape(one_line(change.path, LONGEST))}[/] {before} [dim]->[/] {after}"


def _change_values(change: ValueChange) -> tuple[Any, Any]:
    return change.before, change.after


def _cut_value(text: str, same: int) -> str:
    start = max(0, same - BEFORE) if len(text) > LONGEST else 0
    part = text[start : start + LONGEST]
    return f"{'…' if start else ''}{part}{'…' if start + LONGEST < len(text) else ''}"
