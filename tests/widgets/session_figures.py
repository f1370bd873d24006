"""The table of what came of recorded sessions, by library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table

from tests.widgets.session_measurement import MeasuredSession

_REPEATED = ("right", "told", "failed", "wrong")
HEADS = (
    "library", "minutes", "visits", "acts", "changes", "in the trace", "asked", "lost", "invented",
    *(f"repeated: {each}" for each in _REPEATED),
)  # fmt: skip


def list_session_rows(sessions: Iterable[MeasuredSession]) -> list[list[str]]:
    """Return one row per library with the sums of its sessions, and one of all."""
    by_library: dict[str, list[MeasuredSession]] = {}
    for each in sessions:
        by_library.setdefault(each.library, []).append(each)
    rows = [_row(library, named) for library, named in by_library.items()]
    return [*rows, _row("all", [each for named in by_library.values() for each in named])] if rows else []


def _row(name: str, sessions: Sequence[MeasuredSession]) -> list[str]:
    figures = [
        [
            each.minutes, each.visits, each.acts, each.changes, each.held, each.asked, len(each.lost), len(each.invented),
            *(each.repeated.get(verdict, 0) for verdict in _REPEATED),
        ]
        for each in sessions
    ]  # fmt: skip
    return [name, *(f"{sum(column):g}" for column in zip(*figures, strict=True))]


def make_session_table(sessions: Iterable[MeasuredSession]) -> Table:
    """Return the rows as a table for the terminal."""
    table = Table(*HEADS, box=None)
    for row in list_session_rows(sessions):
        table.add_row(*row)
    return table


def write_session_markdown(sessions: Iterable[MeasuredSession]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in list_session_rows(sessions))]) + "\n"
