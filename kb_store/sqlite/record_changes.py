"""Changes of records in place in SQLite (`kb_store.record_changes`), inside a transaction of the caller."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from typing import Any

from kb_store.knowledge_records import DOCUMENT_KINDS, EDGE_KINDS, EdgeRecord, KnowledgeRecord, body_text
from kb_store.record_changes import CHANGED_REMEMBERED, RecordChanges, RecordKey

WRITE_EDGE = "INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
TABLES = ("documents", "vertices", "edges")
_THIS = "WHERE website_id = ? AND generation = ? AND kind = ? AND local_id = ?"


def edge_row(website_id: str, generation: int, record: EdgeRecord) -> tuple[Any, ...]:
    """Return the row of an edge."""
    ends = (record.source.kind, record.source.local_id, record.target.kind, record.target.local_id)
    return (website_id, generation, record.kind, record.local_id, *ends, body_text(record.body))


def find_rows(
    db: sqlite3.Connection, website_id: str, stored: int, keys: Collection[RecordKey]
) -> list[KnowledgeRecord]:
    """Return the whole documents of these keys, each by its primary key."""
    found = []
    for kind, local_id in sorted(keys):
        table = "documents" if kind in DOCUMENT_KINDS else "edges" if kind in EDGE_KINDS else "vertices"
        query = f"SELECT body FROM {table} {_THIS}"  # noqa: S608 - one of our tables
        row = db.execute(query, (website_id, stored, kind, local_id)).fetchone()
        if row is not None:
            found.append(KnowledgeRecord(kind, local_id, json.loads(row[0])))
    return found


def write_changes(db: sqlite3.Connection, website_id: str, stored: int, changes: RecordChanges) -> None:
    """Write and delete records under one generation."""
    head = (website_id, stored)
    for table, records in zip(TABLES, (changes.documents, changes.vertices), strict=False):
        rows = [(*head, each.kind, each.local_id, body_text(each.body)) for each in records]
        db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)", rows)  # noqa: S608 - as above
    db.executemany(WRITE_EDGE, [edge_row(*head, each) for each in changes.edges])
    gone = [(*head, *key) for key in changes.gone]
    for table in TABLES:
        db.executemany(f"DELETE FROM {table} {_THIS}", gone)  # noqa: S608 - as above


def with_change(changed: str | None, stored: int, generation: int) -> dict[str, int]:
    """Return generation of records -> the last generation that changed them, with one more."""
    known: dict[str, int] = {**json.loads(changed or "{}"), str(stored): generation}
    return dict(sorted(known.items(), key=lambda each: int(each[0]))[-CHANGED_REMEMBERED:])
