"""How commands answer scripts, and how they count for people."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console

from loaders.diff_words import counted

__all__ = ["counted", "print_json"]


def print_json(console: Console, data: Any) -> None:
    """An answer for scripts; in colours where a person looks at it."""
    if console.is_terminal:
        console.print_json(json.dumps(data, ensure_ascii=False))
    else:
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2))
