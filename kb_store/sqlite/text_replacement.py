"""Replaces a text in every table of an SQLite file, whatever the tables are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_store.sqlite.database import BUSY_SECONDS
from kb_store.text_replacement import FoundText, TextReplacement, name_run

_OF_RUNS = ("run_id", "thread_id")


@dataclass(frozen=True, slots=True)
class _RowChange:
    rowid: int
    values: dict[str, str]
    found: FoundText


def replace_texts(path: Path, replace: TextReplacement, *, dry_run: bool = False) -> list[FoundText]:
    """Replace a text in all rows, in keys too; return the rows that have it.

    A row with the text in binary data is deleted. Nothing of the text is left in the file. Raises
    `sqlite3.DatabaseError`.
    """
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete = ON").close()  # what is replaced is overwritten with zeros
        db.execute("BEGIN" if dry_run else "BEGIN IMMEDIATE")
        found: list[FoundText] = []
        for table in _list_tables(db):
            changes = list(_find_rows(db, table, replace))
            found += [each.found for each in changes]
            if not dry_run:
                for change in changes:
                    _apply(db, table, change)
        db.execute("COMMIT")
        if found and not dry_run:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    return found


def _list_tables(db: sqlite3.Connection) -> list[str]:
    rows = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [name for (name,) in rows]


def _find_rows(db: sqlite3.Connection, table: str, replace: TextReplacement) -> Iterator[_RowChange]:
    columns = [
        (name, key) for _, name, _, _, _, key in db.execute(f"PRAGMA table_info({_quote(table)})").fetchall()
    ]
    for rowid, *values in db.execute(f"SELECT rowid, * FROM {_quote(table)}"):  # noqa: S608 - a quoted name
        new: dict[str, str] = {}
        deleted = False
        for (name, _), value in zip(columns, values, strict=True):
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            if not isinstance(text, str) or (replaced := replace(text)) == text:
                continue
            deleted = deleted or isinstance(value, bytes)
            new[name] = replaced
        if new:
            row: dict[str, Any] = dict(zip((name for name, _ in columns), values, strict=True))
            key = "/".join(str(row[name]) for name, place in columns if place)
            run = next((name_run(row[name]) for name in _OF_RUNS if row.get(name)), "")
            yield _RowChange(rowid, new, FoundText(table, key, run, deleted))


def _apply(db: sqlite3.Connection, table: str, change: _RowChange) -> None:
    if change.found.deleted:
        db.execute(f"DELETE FROM {_quote(table)} WHERE rowid = ?", (change.rowid,))  # noqa: S608 - a quoted name
        return
    columns = ", ".join(f"{_quote(name)} = ?" for name in change.values)
    statement = f"UPDATE OR REPLACE {_quote(table)} SET {columns} WHERE rowid = ?"  # noqa: S608 - quoted names
    db.execute(statement, (*change.values.values(), change.rowid))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
