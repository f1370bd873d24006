"""Kept values in MongoDB."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import DuplicateKeyError

from kb_schema.kept_values import MAX_KEPT_VALUES, KeptValue
from kb_store.mongodb.connection import MongoConnection

KEPT_VALUES = "kept_values"
_KEY = ("website_id", "person", "name")
INDEXES = (
    IndexModel([(name, ASCENDING) for name in _KEY], unique=True),
    IndexModel([("expires_at", ASCENDING)], expireAfterSeconds=0),
)


class MongoKeptValueStore:
    """`KeptValueStore` on a `MongoConnection`. `now` gives seconds since the epoch."""

    def __init__(
        self, connection: MongoConnection, now: Callable[[], float], *, most: int = MAX_KEPT_VALUES
    ) -> None:
        self._connection, self._now, self._most = connection, now, most

    async def keep(self, values: Sequence[KeptValue], *, keep_s: float) -> None:
        """Write each value in one statement, then delete those beyond the limit."""
        expires = datetime.fromtimestamp(self._now(), UTC) + timedelta(seconds=keep_s)
        for each in values:
            await self._put(each, expires)
        async with self._connection.asking() as database:
            kept = database[KEPT_VALUES]
            for website_id, person in {(each.website_id, each.person) for each in values}:
                whose = {"website_id": website_id, "person": person}
                newest = [("kept_at", DESCENDING), ("_id", DESCENDING)]
                old = kept.find(whose, {"_id": 1}).sort(newest).skip(self._most)
                doomed = [found["_id"] async for found in old]
                if doomed:
                    await kept.delete_many({"_id": {"$in": doomed}})

    async def _put(self, value: KeptValue, expires: datetime) -> None:
        wanted = {name: getattr(value, name) for name in _KEY}
        text = json.dumps(value.value)  # a key inside may be one that the database does not accept
        stored = {"value": text, "task_id": value.task_id, "kept_at": value.kept_at, "expires_at": expires}
        while True:
            async with self._connection.asking() as database:
                try:
                    await database[KEPT_VALUES].update_one(wanted, {"$set": stored}, upsert=True)
                except DuplicateKeyError:
                    continue  # another process inserted it first: now it can be updated
                return

    async def kept(self, website_id: str, person: str) -> Sequence[KeptValue]:
        """Read by the unique index."""
        now = datetime.fromtimestamp(self._now(), UTC)
        wanted = {"website_id": website_id, "person": person, "expires_at": {"$gt": now}}
        async with self._connection.asking() as database:
            cursor = database[KEPT_VALUES].find(wanted, {"_id": 0, "expires_at": 0}).sort("name", ASCENDING)
            found = [each async for each in cursor]
        return [KeptValue.model_validate({**each, "value": json.loads(each["value"])}) for each in found]
