"""Records of the service in MongoDB. The body is JSON text: a job's values may have any key."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import DuplicateKeyError

from kb_store.mongodb.connection import MongoConnection
from kb_store.runs.service_record_store import format_sort_time, with_next_revision

SERVICE_RECORDS = "service_records"
INDEXES = (
    IndexModel([("kind", ASCENDING), ("key", ASCENDING)], unique=True),
    IndexModel([("kind", ASCENDING), ("state", ASCENDING), ("at", DESCENDING)]),
    IndexModel([("kind", ASCENDING), ("owner", ASCENDING), ("at", DESCENDING)]),
)

if TYPE_CHECKING:
    from kb_schema.service_records import ServiceRecord

R = TypeVar("R", bound="ServiceRecord")


class MongoServiceRecordStore:
    """`ServiceRecordStore` on a `MongoConnection`."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection

    async def add(self, record: ServiceRecord) -> bool:
        """Insert by the unique index."""
        async with self._connection.asking() as database:
            try:
                await database[SERVICE_RECORDS].insert_one(_to_document(record))
            except DuplicateKeyError:
                return False
        return True

    async def replace(self, record: R) -> R | None:
        """Update in one statement, if the revision is the one that was read."""
        after = with_next_revision(record)
        wanted = {"kind": record.record_kind, "key": record.record_key, "revision": record.revision}
        async with self._connection.asking() as database:
            done = await database[SERVICE_RECORDS].update_one(wanted, {"$set": _to_document(after)})
        return after if done.matched_count == 1 else None

    async def find(self, kind: type[R], key: str) -> R | None:
        """Use the unique index."""
        async with self._connection.asking() as database:
            found = await database[SERVICE_RECORDS].find_one({"kind": kind.record_kind, "key": key})
        return None if found is None else kind.model_validate_json(found["body"])

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
        wanted: dict[str, Any] = {"kind": kind.record_kind}
        if states:
            wanted["state"] = {"$in": list(states)}
        if group is not None:
            wanted["owner"] = group
        way = ASCENDING if oldest_first else DESCENDING
        async with self._connection.asking() as database:
            found = database[SERVICE_RECORDS].find(wanted, {"body": 1}).sort([("at", way), ("key", way)])
            return [kind.model_validate_json(each["body"]) async for each in found.limit(limit)]

    async def delete(self, kind: type[ServiceRecord], key: str) -> bool:
        """Run one statement."""
        async with self._connection.asking() as database:
            done = await database[SERVICE_RECORDS].delete_one({"kind": kind.record_kind, "key": key})
        return done.deleted_count == 1

    async def sweep(self, kind: type[ServiceRecord], *, states: Collection[str], before: datetime) -> int:
        """Run one statement."""
        wanted = {
            "kind": kind.record_kind,
            "state": {"$in": list(states)},
            "at": {"$lt": format_sort_time(before)},
        }
        async with self._connection.asking() as database:
            done = await database[SERVICE_RECORDS].delete_many(wanted)
        return done.deleted_count


def _to_document(record: ServiceRecord) -> dict[str, Any]:
    return {
        "kind": record.record_kind,
        "key": record.record_key,
        "state": record.record_state,
        "owner": record.record_group,
        "at": format_sort_time(record.record_at),
        "revision": record.revision,
        "body": record.model_dump_json(),
    }
