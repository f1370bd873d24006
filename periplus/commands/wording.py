"""How commands answer scripts, and how they count for people."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console


def print_json(console: Console, data: Any) -> None:
    """An answer for scripts; in colours where a person looks at it."""
    if console.is_terminal:
        console.print_json(json.dumps(data, ensure_ascii=False))
    else:
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2))


def counted(number: int, name: str) -> str:
    """`1 screen`, `2 group memberships`, `0 recoveries`: a number and a name in the singular."""
    name = name.replace("_", " ")
    if number != 1:
        name = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{number:,} {name}"
