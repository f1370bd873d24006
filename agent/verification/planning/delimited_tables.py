"""Reads CSV and similar files. The header row determines the delimiter; byte-order marks are understood."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from agent.verification.planning.requirement_drafts import LocatedText
from agent.verification.planning.requirement_problems import RequirementProblem
from agent.verification.planning.requirement_tables import (
    MOST_COLUMNS,
    MOST_ROWS,
    RequirementRow,
    TableDrafts,
    read_table,
)
from agent.verification.planning.table_columns import column_named, is_case_header
from kb_schema.verification import SourceLocation

DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r"\s*sep=(.)\s*", re.IGNORECASE)
"""Excel writes and reads this as the first line."""


def read_delimited(text: str, *, file: str, fallback_id: str, folder: Path | None) -> TableDrafts:
    """Return the drafts of a CSV text."""
    place = SourceLocation(file=file)
    skipped = 0
    said = _SEPARATOR_LINE.fullmatch(text.partition("\n")[0])
    if said:
        text, skipped = text.partition("\n")[2], 1
    delimiter = said[1] if said else _delimiter(text)
    problems: list[RequirementProblem] = []
    rows = _rows(text, delimiter, file, skipped, problems)
    found = read_table(rows, place=place, fallback_id=fallback_id, folder=folder)
    found.problems = [*problems, *found.problems]
    if not found.is_table and not found.problems:
        found.problems.append(
            RequirementProblem(
                place, "no header row", "begin with Element@Region,Action,Value,Expected Outcome"
            )
        )
    return found


def _delimiter(text: str) -> str:
    """Return the delimiter with which some row is a header; otherwise the most frequent one."""
    head = text[:100_000]
    for delimiter in DELIMITERS:
        for cells in _parsed(head, delimiter):
            columns = {column_named(cell) for cell in cells}
            if {"element", "action"} <= columns or is_case_header(columns):
                return delimiter
    return max(DELIMITERS, key=head.count)


def _parsed(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    except csv.Error:
        return


def _rows(
    text: str, delimiter: str, file: str, skipped: int, problems: list[RequirementProblem]
) -> Iterator[RequirementRow]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    line, count = 1 + skipped, 0
    while True:
        place = SourceLocation(file=file, line=line)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            problems.append(RequirementProblem(place, f"not CSV: {exc}", "correct the quotes of this row"))
            return
        count += any(cell.strip() for cell in cells)
        if count > MOST_ROWS or len(cells) > MOST_COLUMNS:
            what = f"{len(cells):,} columns" if len(cells) > MOST_COLUMNS else f"more than {MOST_ROWS:,} rows"
            fix = f"split it into files of at most {MOST_ROWS:,} rows and {MOST_COLUMNS} columns"
            problems.append(RequirementProblem(place, what, fix))
            return
        yield RequirementRow(place, tuple(LocatedText(cell, place) for cell in cells))
        line = reader.line_num + 1 + skipped
