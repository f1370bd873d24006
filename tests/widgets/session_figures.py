"""The tables of what came of recorded sessions and of shown widgets, by library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from rich.table import Table

from tests.widgets.session_judgement import JudgedSession
from tests.widgets.shown_measurement import ShownVerdict, ShownWidget

SHOWN_HEADS = ("library", "shown", "with other values", *get_args(ShownVerdict))

_REPEATED = ("right", "told", "failed", "wrong")
HEADS = (
    "library", "minutes", "visits", "acts", "changes", "in the trace", "asked", "lost", "invented",
    *(f"repeated: {each}" for each in _REPEATED),
)  # fmt: skip


def list_session_rows(sessions: Iterable[JudgedSession]) -> list[list[str]]:
    """Return one row per library with the sums of its sessions, and one of all."""
    by_library: dict[str, list[JudgedSession]] = {}
    for each in sessions:
        by_library.setdefault(each.library, []).append(each)
    rows = [_row(library, named) for library, named in by_library.items()]
    return [*rows, _row("all", [each for named in by_library.values() for each in named])] if rows else []


def _row(name: str, sessions: Sequence[JudgedSession]) -> list[str]:
    figures = [
        [
            each.minutes, each.visits, each.acts, each.changes, each.held, each.asked, len(each.lost), len(each.invented),
            *(each.repeated.get(verdict, 0) for verdict in _REPEATED),
        ]
        for each in sessions
    ]  # fmt: skip
    return [name, *(f"{sum(column):g}" for column in zip(*figures, strict=True))]


def make_session_table(sessions: Iterable[JudgedSession]) -> Table:
    """Return the rows as a table for the terminal."""
    table = Table(*HEADS, box=None)
    for row in list_session_rows(sessions):
        table.add_row(*row)
    return table


def write_session_markdown(sessions: Iterable[JudgedSession]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in list_session_rows(sessions))]) + "\n"


def list_shown_rows(shown: Iterable[ShownWidget]) -> list[list[str]]:
    """Return one row per library, and one of all."""
    by_library: dict[str, list[ShownWidget]] = {}
    for each in shown:
        by_library.setdefault(each.widget.partition(".")[0], []).append(each)
    named = [*by_library.items(), ("all", [each for those in by_library.values() for each in those])]
    return [_shown_row(library, those) for library, those in named] if by_library else []


def _shown_row(name: str, shown: Sequence[ShownWidget]) -> list[str]:
    counts = Counter(each.verdict for each in shown)
    varied = sum(each.varied for each in shown)
    return [name, str(len(shown)), str(varied), *(str(counts[each]) for each in get_args(ShownVerdict))]


def make_shown_table(shown: Iterable[ShownWidget]) -> Table:
    """Return the rows as a table for the terminal."""
    table = Table(*SHOWN_HEADS, box=None)
    for row in list_shown_rows(shown):
        table.add_row(*row)
    return table


def write_shown_markdown(shown: Sequence[ShownWidget]) -> str:
    """Return the rows as a table in Markdown, and what is not right with its reason."""
    lines = [f"| {' | '.join(SHOWN_HEADS)} |", f"|{'---|' * len(SHOWN_HEADS)}"]
    lines += [f"| {' | '.join(row)} |" for row in list_shown_rows(shown)]
    others = [each for each in shown if each.verdict != "right"]
    if others:
        lines += ["", "| widget | verdict | why |", "|---|---|---|"]
        lines += [f"| {each.widget} | {each.verdict} | {_cell(each.said)} |" for each in others]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")[:160]
