"""CSV and its like: the delimiter is found by the header row, any byte-order mark is understood."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from agent.verifying.planning.columns import column_named
from agent.verifying.planning.drafts import Said
from agent.verifying.planning.problems import Problem
from agent.verifying.planning.tables import MOST_COLUMNS, MOST_ROWS, Found, Row, read_table
from kb_schema.verification import Place

DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r"\s*sep=(.)\s*", re.IGNORECASE)
"""What Excel writes and reads as the first line."""


def read_delimited(text: str, *, file: str, fallback_id: str, folder: Path | None) -> Found:
    """The drafts of a CSV text."""
    place = Place(file=file)
    skipped = 0
    said = _SEPARATOR_LINE.fullmatch(text.partition("\n")[0])
    if said:
        text, skipped = text.partition("\n")[2], 1
    delimiter = said[1] if said else _delimiter(text)
    problems: list[Problem] = []
    rows = _rows(text, delimiter, file, skipped, problems)
    found = read_table(rows, place=place, fallback_id=fallback_id, folder=folder)
    found.problems = [*problems, *found.problems]
    if not found.is_table and not found.problems:
        found.problems.append(
            Problem(place, "no header row", "begin with Element@Region,Action,Value,Expected Outcome")
        )
    return found


def _delimiter(text: str) -> str:
    """The one with which some row is a header; else the one the text has most of."""
    head = text[:100_000]
    for delimiter in DELIMITERS:
        for cells in _parsed(head, delimiter):
            columns = {column_named(cell) for cell in cells}
            if {"element", "action"} <= columns:
                return delimiter
    return max(DELIMITERS, key=head.count)


def _parsed(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    except csv.Error:
        return


def _rows(text: str, delimiter: str, file: str, skipped: int, problems: list[Problem]) -> Iterator[Row]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    line, count = 1 + skipped, 0
    while True:
        place = Place(file=file, line=line)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            problems.append(Problem(place, f"not CSV: {exc}", "correct the quotes of this row"))
            return
        count += any(cell.strip() for cell in cells)
        if count > MOST_ROWS or len(cells) > MOST_COLUMNS:
            what = f"{len(cells):,} columns" if len(cells) > MOST_COLUMNS else f"more than {MOST_ROWS:,} rows"
            fix = f"split it into files of at most {MOST_ROWS:,} rows and {MOST_COLUMNS} columns"
            problems.append(Problem(place, what, fix))
            return
        yield Row(place, tuple(Said(cell, place) for cell in cells))
        line = reader.line_num + 1 + skipped
