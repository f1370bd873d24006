"""How changed values of documents are shown, and the trees they are shown in."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from loaders.diff import Change
from loaders.escaping import one_line, with_hidden

LONGEST = 120
"""Characters of one value that are shown."""
BEFORE = 30
"""Of them, how many before the first that differs, where a value is longer."""
WIDEST = 100_000
"""Columns of an output that is no terminal: nothing is wrapped and nothing is cut."""


def change_line(change: Change) -> str:
    """Its path, what it was and what it is, as a line of markup.

    Long values are shown from a little before where they begin to differ.
    """
    texts = ["" if value is None else json.dumps(value, ensure_ascii=False) for value in _both(change)]
    same = sum(1 for _ in takewhile(lambda each: each[0] == each[1], zip(*texts, strict=False)))
    before, after = (escape(with_hidden(_shown(text, same))) if text else "[dim]nothing[/]" for text in texts)
    return f"[cyan]{escape(one_line(change.path, LONGEST))}[/] {before} [dim]->[/] {after}"


def print_tree(console: Console, tree: Tree) -> None:
    """A tree, wrapped within a terminal; whole lines where it is read by a program."""
    if console.is_terminal:
        console.print(tree, highlight=False)
    else:
        Console(file=console.file, width=WIDEST).print(tree, highlight=False)


def _both(change: Change) -> tuple[Any, Any]:
    return change.before, change.after


def _shown(text: str, same: int) -> str:
    start = max(0, same - BEFORE) if len(text) > LONGEST else 0
    part = text[start : start + LONGEST]
    return f"{'…' if start else ''}{part}{'…' if start + LONGEST < len(text) else ''}"
