"""Lessons in MongoDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import DuplicateKeyError

from kb_schema.lessons import LESSON_TTL_S, MAX_LESSONS, Lesson, LessonKey
from kb_store.mongodb.connection import MongoConnection

LESSONS = "lessons"
_KEY = ("website_id", "screen_id", "task_id", "step_id", "approach")
INDEXES = (
    IndexModel([(name, ASCENDING) for name in _KEY], unique=True),
    IndexModel([("expires_at", ASCENDING)], expireAfterSeconds=0),
)
_NEWEST_FIRST = [("expires_at", DESCENDING), ("_id", DESCENDING)]


class MongoLessonStore:
    """`LessonStore` on a `MongoConnection`. `now` gives seconds since the epoch."""

    def __init__(
        self, connection: MongoConnection, now: Callable[[], float], *, most: int = MAX_LESSONS
    ) -> None:
        self._connection, self._now, self._most = connection, now, most

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Count in one statement, then delete lessons beyond the limit."""
        now = datetime.fromtimestamp(self._now(), UTC)
        now = now.replace(microsecond=now.microsecond // 1_000 * 1_000)
        values: dict[str, Any] = {"expires_at": now + timedelta(seconds=LESSON_TTL_S)}
        values["worked_at" if worked else "failed_at"] = now
        if error is not None:
            values["error"] = error
        update = {"$inc": {"worked": int(worked), "failed": int(not worked)}, "$set": values}
        wanted = key.model_dump()
        while True:
            async with self._connection.asking() as database:
                lessons = database[LESSONS]
                try:
                    await lessons.update_one(wanted, update, upsert=True)
                except DuplicateKeyError:
                    continue  # another process inserted it first: now it can be updated
                of_task = {name: wanted[name] for name in _KEY[:3]}
                old = lessons.find(of_task, {"_id": 1}).sort(_NEWEST_FIRST).skip(self._most)
                doomed = [each["_id"] async for each in old]
                if doomed:
                    await lessons.delete_many({"_id": {"$in": doomed}})
                return

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Read by the unique index."""
        now = datetime.fromtimestamp(self._now(), UTC)
        wanted = {
            "website_id": website_id,
            "screen_id": screen_id,
            "task_id": task_id,
            "expires_at": {"$gt": now},
        }
        async with self._connection.asking() as database:
            cursor = database[LESSONS].find(wanted, {"_id": 0, "expires_at": 0}).sort(_NEWEST_FIRST)
            return [Lesson.model_validate(each) async for each in cursor]
