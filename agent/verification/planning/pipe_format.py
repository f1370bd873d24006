"""Reads the pipe format (PACTS 4.1): `Element@Region | Action | Value | Expected Outcome`, plain or as a
Markdown table.

A heading line begins a requirement; lines such as `URL: ...` stand above its steps. In a Markdown file
whose steps are table rows, other paragraphs are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from agent.verification.planning.requirement_composer import ACTIONS
from agent.verification.planning.requirement_drafts import LocatedText
from agent.verification.planning.requirement_problems import RequirementProblem
from agent.verification.planning.requirement_tables import MOST_ROWS, RequirementRow, TableDrafts, read_table
from agent.verification.planning.table_columns import REQUIREMENT_KEYS, column_named
from kb_schema.action_types import canonical
from kb_schema.excerpts import excerpt
from kb_schema.verification import SourceLocation

_HEADING = re.compile(r"#{1,6}\s+(\S.*?)\s*#*\s*")
_KEY = re.compile(r"\s*[*_]*(?P<key>[A-Za-z][A-Za-z _-]{0,30})[*_]*\s*:[*_]*\s*(?P<value>.*?)\s*")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")


def read_pipes(text: str, *, file: str, fallback_id: str, folder: Path | None) -> TableDrafts:
    """Return the drafts of a text in the pipe format."""
    lines = text.splitlines()
    problems: list[RequirementProblem] = []
    place = SourceLocation(file=file)
    if len(lines) > MOST_ROWS:
        problems.append(
            RequirementProblem(
                place, f"{len(lines):,} lines", f"split it into files of at most {MOST_ROWS:,} lines"
            )
        )
        return TableDrafts(problems=problems, is_table=True)
    found = read_table(
        _rows(lines, file, problems),
        place=place,
        fallback_id=fallback_id,
        folder=folder,
        colons=True,
        notes=_is_table(lines),
    )
    found.problems = [*problems, *found.problems]
    return found


def has_pipes(text: str) -> bool:
    """Return whether a text has any line that could be a step in the pipe format."""
    return any("|" in line for line in text.splitlines())


def cells_of(line: str, *, table: bool = False) -> list[str]:
    r"""The cells of one line; `\|` is a bar inside a cell. In a table the outer bars are its frame."""
    line = line.strip()
    if table:
        line = line.removeprefix("|")
        line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]


def _rows(lines: list[str], file: str, problems: list[RequirementProblem]) -> Iterator[RequirementRow]:
    table = _is_table(lines)
    for number, line in enumerate(lines, 1):
        place = SourceLocation(file=file, line=number)
        heading, key = _HEADING.fullmatch(line), _KEY.fullmatch(line)
        inside = "|" in line and (not table or line.lstrip().startswith("|"))
        if not line.strip() or _RULE.fullmatch(line):
            continue
        if heading:
            yield RequirementRow(place, (LocatedText(heading[1], place),), heading=True)
        elif inside:
            yield RequirementRow(
                place, tuple(LocatedText(cell, place) for cell in cells_of(line, table=table))
            )
        elif key and column_named(key["key"]) in REQUIREMENT_KEYS:
            yield RequirementRow(
                place, (LocatedText(key["key"] + ":", place), LocatedText(key["value"], place))
            )
        elif not table or _is_step(line):
            fix = (
                "begin it with | as the rows of the table"
                if table
                else "write Element@Region | Action | Value | Expected"
            )
            problems.append(RequirementProblem(place, f"{excerpt(line.strip())!r} is no step here", fix))


def _is_table(lines: list[str]) -> bool:
    """Return whether steps are rows of Markdown tables: there is a rule line, or every row has outer bars."""
    rows = [line.strip() for line in lines if "|" in line]
    framed = all(row.startswith("|") and row.endswith("|") for row in rows)
    return framed or any(_RULE.fullmatch(row) and "-" in row for row in rows)


def _is_step(line: str) -> bool:
    """Return whether a line would be a step in a file without tables."""
    cells = cells_of(line)
    return len(cells) > 1 and canonical(cells[1].lower()) in ACTIONS
