"""Reads the inputs of many runs from a file: a CSV row, or a line with a JSON object, for each run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from periplus.errors import UserError
from periplus.secret_names import check_no_secret_names

MOST_ROWS = 100_000
LONGEST_FILE = 64 * 1024 * 1024
"""Bytes."""

InputRow = dict[str, JsonValue]


def read_input_rows(path: Path) -> list[InputRow]:
    """Return the inputs of each run by name, without empty CSV fields. Raises `UserError` with the line, or the row."""
    if not path.is_file():
        raise UserError(f"--inputs: {path} does not exist", fix="name a .csv, .tsv or .jsonl file")
    if path.stat().st_size > LONGEST_FILE:
        raise UserError(f"{path} is larger than 64 MB", fix="split the file")
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
        raise UserError(f"{path} is neither .csv, .tsv nor .jsonl", fix="rename it to match its format")
    if not rows:
        raise UserError(f"{path} has no rows", fix="add one row per run below the names of the inputs")
    if len(rows) > MOST_ROWS:
        raise UserError(
            f"{path} has {len(rows)} rows", fix=f"split the file; the maximum is {MOST_ROWS} rows"
        )
    for number, row in enumerate(rows, 1):
        check_no_secret_names(row, f"{path}, row {number}, input")
    return rows


def _table(path: Path, text: str, delimiter: str) -> Iterator[InputRow]:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        if not all(names) or len({*names}) != len(names):
            raise UserError(
                f"{path}:1: a column has no name, or two columns have the same name",
                fix="give every input a unique name in the first line",
            )
        for fields in reader:
            if not any(fields):
                continue
            if len(fields) != len(names):
                raise UserError(
                    f"{path}:{reader.line_num}: expected {len(names)} fields, found {len(fields)}",
                    fix="give each row one field per name; quote fields that contain a comma",
                )
            yield {name: value for name, value in zip(names, fields, strict=True) if value}
    except csv.Error as exc:
        raise UserError(f"{path}:{reader.line_num}: {exc}", fix="correct that line") from exc


def _objects(path: Path, text: str) -> Iterator[InputRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as exc:
            raise UserError(f"{path}:{number}: {exc}", fix="write one JSON object per line") from exc
        if not isinstance(found, dict):
            raise UserError(
                f"{path}:{number}: not an object", fix='write an object such as {"agent_name": "Ada"}'
            )
        yield found
