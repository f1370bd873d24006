"""Lessons in SQLite: table `lessons` of `runs.sql`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kb_schema.lessons import LESSON_TTL_S, MAX_LESSONS, Lesson, LessonKey

if TYPE_CHECKING:
    from kb_store.sqlite.database import SqliteDatabase

_COUNT = (
    "INSERT INTO lessons (website_id, screen_id, task_id, step_id, approach, worked, failed, worked_at, "
    "failed_at, error, expires) VALUES (:website_id, :screen_id, :task_id, :step_id, :approach, :worked, "
    ":failed, :worked_at, :failed_at, :error, :expires) "
    "ON CONFLICT (website_id, screen_id, task_id, step_id, approach) DO UPDATE SET "
    "worked = worked + excluded.worked, failed = failed + excluded.failed, "
    "worked_at = coalesce(excluded.worked_at, worked_at), failed_at = coalesce(excluded.failed_at, failed_at), "
    "error = coalesce(excluded.error, error), expires = excluded.expires"
)
_CAP = (
    "DELETE FROM lessons WHERE rowid IN (SELECT rowid FROM lessons WHERE website_id = :website_id AND "
    "screen_id = :screen_id AND task_id = :task_id ORDER BY expires DESC, rowid DESC LIMIT -1 OFFSET :most)"
)
_OF_TASK = (
    "SELECT website_id, screen_id, task_id, step_id, approach, worked, failed, worked_at, failed_at, error "
    "FROM lessons WHERE website_id = ? AND screen_id = ? AND task_id = ? AND expires > ? "
    "ORDER BY expires DESC, rowid DESC"
)


class SqliteLessonStore:
    """`LessonStore` on a `SqliteDatabase`. `now` gives seconds since the epoch."""

    def __init__(
        self, database: SqliteDatabase, now: Callable[[], float], *, most: int = MAX_LESSONS
    ) -> None:
        self._database, self._now, self._most = database, now, most

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Delete expired lessons, count, and apply the limit in one transaction."""
        now = self._now()
        moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        values = {
            **key.model_dump(),
            "worked": int(worked),
            "failed": int(not worked),
            "worked_at": moment if worked else None,
            "failed_at": None if worked else moment,
            "error": error,
            "expires": now + LESSON_TTL_S,
            "most": self._most,
        }

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM lessons WHERE expires <= ?", (now,))
            db.execute(_COUNT, values)
            db.execute(_CAP, values)

        await self._database.write(work)

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Read by the primary key."""
        rows = await self._database.rows(_OF_TASK, (website_id, screen_id, task_id, self._now()))
        names = (
            "website_id",
            "screen_id",
            "task_id",
            "step_id",
            "approach",
            "worked",
            "failed",
            "worked_at",
            "failed_at",
            "error",
        )
        return [Lesson.model_validate(dict(zip(names, row, strict=True))) for row in rows]
