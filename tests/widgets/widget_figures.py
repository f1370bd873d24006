"""The table of what came of the widgets, by library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from rich.table import Table

from tests.widgets.widget_list import list_widgets
from tests.widgets.widget_measurement import MeasuredWidget, Verdict

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


def list_rows(measured: Iterable[MeasuredWidget]) -> list[list[str]]:
    """Return one row per library, and one of all: widgets of the list, measured ones, and each verdict."""
    listed = Counter(each.library for each in list_widgets().values())
    found = [(each.widget.partition(".")[0], each.verdict) for each in measured]
    rows = [
        _row(name, count, [verdict for library, verdict in found if library == name])
        for name, count in listed.items()
    ]
    return [*rows, _row("all", sum(listed.values()), [verdict for _, verdict in found])]


def _row(name: str, listed: int, verdicts: Sequence[Verdict]) -> list[str]:
    counts = Counter(verdicts)
    return [name, str(listed), str(len(verdicts)), *(str(counts[each]) for each in VERDICTS)]


def make_table(measured: Iterable[MeasuredWidget]) -> Table:
    """Return the rows as a table for the terminal."""
    table = Table("library", "listed", "measured", *VERDICTS, box=None)
    for row in list_rows(measured):
        table.add_row(*row)
    return table


def write_markdown(measured: Sequence[MeasuredWidget]) -> str:
    """Return the rows as a table in Markdown, and a list of the widgets that are not right."""
    lines = [
        f"| {' | '.join(('library', 'listed', 'measured', *VERDICTS))} |",
        f"|{'---|' * (3 + len(VERDICTS))}",
    ]
    lines += [f"| {' | '.join(row)} |" for row in list_rows(measured)]
    known = list_widgets()
    others = [each for each in measured if each.verdict != "right" and each.widget in known]
    if others:
        lines += ["", "| widget | a person | verdict |", "|---|---|---|"]
        lines += [f"| {each.widget} | {known[each.widget].does} | {each.verdict} |" for each in others]
    return "\n".join(lines) + "\n"


def renew_section(text: str, marker: str, content: str) -> str:
    """Replace what follows a marker in a page, up to the next heading or marker. Raises `ValueError` if it is not there."""
    head, found, rest = text.partition(marker)
    if not found:
        raise ValueError(f"the page has no line {marker}")
    ends = [at for sign in ("\n## ", "\n<!-- ") if (at := rest.find(sign)) >= 0]
    return f"{head}{marker}\n\n{content}{rest[min(ends) :] if ends else ''}"
