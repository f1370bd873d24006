"""Kept values in SQLite: table `kept_values` of `runs.sql`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kb_schema.kept_values import MAX_KEPT_VALUES, KeptValue

if TYPE_CHECKING:
    from kb_store.sqlite.database import SqliteDatabase

_PUT = (
    "INSERT INTO kept_values (website_id, person, name, value, task_id, kept_at, expires) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (website_id, person, name) DO UPDATE SET value = excluded.value, "
    "task_id = excluded.task_id, kept_at = excluded.kept_at, expires = excluded.expires"
)
_CAP = (
    "DELETE FROM kept_values WHERE rowid IN (SELECT rowid FROM kept_values WHERE website_id = ? AND person = ? "
    "ORDER BY kept_at DESC, rowid DESC LIMIT -1 OFFSET ?)"
)
_OF_PERSON = (
    "SELECT website_id, person, name, value, task_id, kept_at FROM kept_values "
    "WHERE website_id = ? AND person = ? AND expires > ? ORDER BY name"
)


class SqliteKeptValueStore:
    """`KeptValueStore` on a `SqliteDatabase`. `now` gives seconds since the epoch."""

    def __init__(
        self, database: SqliteDatabase, now: Callable[[], float], *, most: int = MAX_KEPT_VALUES
    ) -> None:
        self._database, self._now, self._most = database, now, most

    async def keep(self, values: Sequence[KeptValue], *, keep_s: float) -> None:
        """Delete expired values, write, and apply the limit in one transaction."""
        now = self._now()

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM kept_values WHERE expires <= ?", (now,))
            for each in values:
                moment = each.kept_at.isoformat(timespec="milliseconds")
                row = (each.website_id, each.person, each.name, json.dumps(each.value), each.task_id, moment)
                db.execute(_PUT, (*row, now + keep_s))
                db.execute(_CAP, (each.website_id, each.person, self._most))

        await self._database.write(work)

    async def kept(self, website_id: str, person: str) -> Sequence[KeptValue]:
        """Read by the primary key."""
        rows = await self._database.rows(_OF_PERSON, (website_id, person, self._now()))
        names = ("website_id", "person", "name", "value", "task_id", "kept_at")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [KeptValue.model_validate({**each, "value": json.loads(each["value"])}) for each in found]
