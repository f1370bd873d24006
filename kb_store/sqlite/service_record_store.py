"""Records of the service in SQLite: table `service_records` of `runs.sql`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from kb_store.runs.service_record_store import format_sort_time, with_next_revision
from kb_store.sqlite.database import SqliteDatabase

if TYPE_CHECKING:
    from kb_schema.service_records import ServiceRecord

R = TypeVar("R", bound="ServiceRecord")

_ADD = (
    "INSERT INTO service_records (kind, key, state, owner, at, revision, body) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (kind, key) DO NOTHING"
)
_REPLACE = (
    "UPDATE service_records SET state = ?, owner = ?, at = ?, revision = ?, body = ? "
    "WHERE kind = ? AND key = ? AND revision = ?"
)


class SqliteServiceRecordStore:
    """`ServiceRecordStore` on a `SqliteDatabase`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def add(self, record: ServiceRecord) -> bool:
        """Insert in one statement; the primary key keeps the first one."""
        row = (
            record.record_kind,
            record.record_key,
            record.record_state,
            record.record_group,
            format_sort_time(record.record_at),
            record.revision,
            record.model_dump_json(),
        )
        return await self._database.write(lambda db: db.execute(_ADD, row).rowcount) == 1

    async def replace(self, record: R) -> R | None:
        """Update in one statement, if the revision is the one that was read."""
        after = with_next_revision(record)
        row = (
            after.record_state,
            after.record_group,
            format_sort_time(after.record_at),
            after.revision,
            after.model_dump_json(),
            after.record_kind,
            after.record_key,
            record.revision,
        )
        changed = await self._database.write(lambda db: db.execute(_REPLACE, row).rowcount)
        return after if changed == 1 else None

    async def find(self, kind: type[R], key: str) -> R | None:
        """Read by the primary key."""
        query = "SELECT body FROM service_records WHERE kind = ? AND key = ?"
        rows = await self._database.rows(query, (kind.record_kind, key))
        return kind.model_validate_json(rows[0][0]) if rows else None

    async def select(
        self,
        kind: type[R],
        *,
        states: Collection[str] = (),
        group: str | None = None,
        oldest_first: bool = False,
        limit: int = 500,
    ) -> Sequence[R]:
        """Read by an index."""
        wanted, values = ["kind = ?"], [kind.record_kind]
        if states:
            wanted.append(f"state IN ({', '.join('?' * len(states))})")
            values += states
        if group is not None:
            wanted.append("owner = ?")
            values.append(group)
        order = "at, key" if oldest_first else "at DESC, key DESC"
        query = f"SELECT body FROM service_records WHERE {' AND '.join(wanted)} ORDER BY {order} LIMIT ?"  # noqa: S608 - only placeholders
        rows = await self._database.rows(query, (*values, limit))
        return [kind.model_validate_json(body) for (body,) in rows]

    async def delete(self, kind: type[ServiceRecord], key: str) -> bool:
        """Run one statement."""
        query = "DELETE FROM service_records WHERE kind = ? AND key = ?"
        return await self._changed(query, (kind.record_kind, key)) == 1

    async def sweep(self, kind: type[ServiceRecord], *, states: Collection[str], before: datetime) -> int:
        """Run one statement."""
        marks = ", ".join("?" * len(states))
        query = f"DELETE FROM service_records WHERE kind = ? AND at < ? AND state IN ({marks})"  # noqa: S608 - only placeholders
        return await self._changed(query, (kind.record_kind, format_sort_time(before), *states))

    async def _changed(self, query: str, values: Sequence[str]) -> int:
        def work(db: sqlite3.Connection) -> int:
            return db.execute(query, values).rowcount

        return await self._database.write(work)
