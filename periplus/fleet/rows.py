"""The inputs of many runs, from a file: a row of a CSV, or a JSON object a line, for each run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from periplus.errors import UserError

MOST_ROWS = 100_000
LONGEST_FILE = 64 * 1024 * 1024
"""Bytes."""

Row = dict[str, JsonValue]


def read_rows(path: Path) -> list[Row]:
    """What each run is given, by name; empty fields of a CSV are not given. Raises `UserError` naming the line."""
    if not path.is_file():
        raise UserError(f"there is no file {path}", fix="--inputs names a .csv, .tsv or .jsonl file")
    if path.stat().st_size > LONGEST_FILE:
        raise UserError(f"{path} is larger than 64 MB", fix="split it")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise UserError(f"{path} is not UTF-8", fix="save it as UTF-8") from exc
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        rows = list(_table(path, text, "\t" if suffix == ".tsv" else ","))
    elif suffix in (".jsonl", ".ndjson"):
        rows = list(_objects(path, text))
    else:
        raise UserError(f"{path} is neither .csv, .tsv nor .jsonl", fix="name it by what it is")
    if not rows:
        raise UserError(f"{path} has no rows", fix="one row for each run, below the names of the inputs")
    if len(rows) > MOST_ROWS:
        raise UserError(f"{path} has {len(rows)} rows", fix=f"up to {MOST_ROWS} at a time: split it")
    return rows


def _table(path: Path, text: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        if not all(names) or len({*names}) != len(names):
            raise UserError(
                f"{path}:1: a column has no name, or two have the same",
                fix="name the inputs in the first line",
            )
        for fields in reader:
            if not any(fields):
                continue
            if len(fields) != len(names):
                raise UserError(
                    f"{path}:{reader.line_num}: {len(fields)} fields, {len(names)} names",
                    fix="give each row one field for each name; quote what has a comma in it",
                )
            yield {name: value for name, value in zip(names, fields, strict=True) if value}
    except csv.Error as exc:
        raise UserError(f"{path}:{reader.line_num}: {exc}", fix="correct that line") from exc


def _objects(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as exc:
            raise UserError(f"{path}:{number}: {exc}", fix="one JSON object a line") from exc
        if not isinstance(found, dict):
            raise UserError(f"{path}:{number}: not an object", fix='write it like {"agent_name": "Ada"}')
        yield found
