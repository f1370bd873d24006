"""The pipe format (PACTS 4.1): `Element@Region | Action | Value | Expected Outcome`, plain or as a Markdown table.

A heading line begins a requirement, `URL: ...` and the like stand above its steps. In a Markdown file
whose steps are table rows, other paragraphs are for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from agent.verifying.planning.columns import REQUIREMENT_KEYS, column_named
from agent.verifying.planning.composing import ACTIONS
from agent.verifying.planning.drafts import Said
from agent.verifying.planning.problems import Problem
from agent.verifying.planning.tables import MOST_ROWS, Found, Row, read_table
from kb_schema.excerpts import excerpt
from kb_schema.verification import Place
from kb_schema.vocabulary import canonical

_HEADING = re.compile(r"#{1,6}\s+(\S.*?)\s*#*\s*")
_KEY = re.compile(r"\s*[*_]*(?P<key>[A-Za-z][A-Za-z _-]{0,30})[*_]*\s*:[*_]*\s*(?P<value>.*?)\s*")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")


def read_pipes(text: str, *, file: str, fallback_id: str, folder: Path | None) -> Found:
    """The drafts of a text in the pipe format."""
    lines = text.splitlines()
    problems: list[Problem] = []
    place = Place(file=file)
    if len(lines) > MOST_ROWS:
        problems.append(
            Problem(place, f"{len(lines):,} lines", f"split it into files of at most {MOST_ROWS:,} lines")
        )
        return Found(problems=problems, is_table=True)
    found = read_table(
        _rows(lines, file, problems), place=place, fallback_id=fallback_id, folder=folder, colons=True
    )
    found.problems = [*problems, *found.problems]
    return found


def has_pipes(text: str) -> bool:
    """Whether a text has anything that could be a step in the pipe format."""
    return any("|" in line for line in text.splitlines())


def cells_of(line: str, *, table: bool = False) -> list[str]:
    r"""The cells of one line; `\|` is a bar inside a cell. In a table the outer bars are its frame."""
    line = line.strip()
    if table:
        line = line.removeprefix("|")
        line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]


def _rows(lines: list[str], file: str, problems: list[Problem]) -> Iterator[Row]:
    table = _is_table(lines)
    for number, line in enumerate(lines, 1):
        place = Place(file=file, line=number)
        heading, key = _HEADING.fullmatch(line), _KEY.fullmatch(line)
        inside = "|" in line and (not table or line.lstrip().startswith("|"))
        if not line.strip() or _RULE.fullmatch(line):
            continue
        if heading:
            yield Row(place, (Said(heading[1], place),), heading=True)
        elif inside:
            yield Row(place, tuple(Said(cell, place) for cell in cells_of(line, table=table)))
        elif key and column_named(key["key"]) in REQUIREMENT_KEYS:
            yield Row(place, (Said(key["key"] + ":", place), Said(key["value"], place)))
        elif not table or _is_step(line):
            fix = (
                "begin it with | as the rows of the table"
                if table
                else "write Element@Region | Action | Value | Expected"
            )
            problems.append(Problem(place, f"{excerpt(line.strip())!r} is no step here", fix))


def _is_table(lines: list[str]) -> bool:
    """Whether steps are rows of Markdown tables: there is a rule, or every row is framed."""
    rows = [line.strip() for line in lines if "|" in line]
    framed = all(row.startswith("|") and row.endswith("|") for row in rows)
    return framed or any(_RULE.fullmatch(row) and "-" in row for row in rows)


def _is_step(line: str) -> bool:
    """Whether a line would be a step, stood it in a file without tables."""
    cells = cells_of(line)
    return len(cells) > 1 and canonical(cells[1].lower()) in ACTIONS
