"""The run store in MongoDB: one collection per kind of record, with PACTS's fields (PACTS 9).

Temporary records have `expires_at` under a TTL index. MongoDB deletes about once a minute, so every read also
compares the time. Unique indexes, not reads, prevent duplicates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from pymongo import ASCENDING, DESCENDING, IndexModel, ReturnDocument
from pymongo.errors import BulkWriteError, DuplicateKeyError

from kb_schema.base import Model
from kb_schema.cached_locators import Locator
from kb_schema.run_records import Artifact, Metric, RunEnding, RunStatus, StoredRun, StoredStep
from kb_schema.run_storage import (
    CHECKPOINT_TTL_S,
    CLOCK_TOLERANCE_S,
    EVENT_TTL_S,
    HEAL_TTL_S,
    LOCATOR_TTL_S,
    MAX_CHECKPOINT_BYTES,
    MAX_CHECKPOINTS,
    RATE_TTL_S,
    Checkpoint,
    JournalEntry,
    StoredEvent,
    TooManyCheckpoints,
)
from kb_store.errors import StoreError
from kb_store.mongodb.connection import MongoConnection, MongoDocument, counts_by
from kb_store.mongodb.database_schema import plan_collections, prepare
from kb_store.mongodb.document_store import health_of
from kb_store.mongodb.kept_value_store import INDEXES as KEPT_VALUE_INDEXES
from kb_store.mongodb.kept_value_store import KEPT_VALUES, MongoKeptValueStore
from kb_store.mongodb.lesson_store import INDEXES as LESSON_INDEXES
from kb_store.mongodb.lesson_store import LESSONS, MongoLessonStore
from kb_store.mongodb.record_codec import check_size as check_document_size
from kb_store.mongodb.run_leases import INDEXES as LEASE_INDEXES
from kb_store.mongodb.run_leases import RUN_LEASES, MongoRunLeases
from kb_store.mongodb.service_record_store import INDEXES as SERVICE_RECORD_INDEXES
from kb_store.mongodb.service_record_store import SERVICE_RECORDS, MongoServiceRecordStore
from kb_store.ports import StoreHealth
from kb_store.runs.run_store import (
    LAST_CHARACTER,
    UNFINISHED_GRACE,
    check_size,
    flatten_model,
    rate_of,
    unflatten_model,
    window_of,
)
from kb_store.store_setup import CollectionSetup

M = TypeVar("M", bound=Model)

_ATTEMPTS = 20
"""The attempts of a write that conflicts on a unique index; each time, another writer succeeded."""

_SWEEP_BATCH = 200
"""The number of runs deleted at a time."""

_DUPLICATE = 11000


def _index(*names: str, unique: bool = False, newest: bool = False) -> IndexModel:
    keys: list[tuple[str, int]] = [(name, ASCENDING) for name in names]
    if newest:
        keys.append(("started_at", DESCENDING))
    return IndexModel(keys, unique=unique)


_TTL = IndexModel([("expires_at", ASCENDING)], expireAfterSeconds=0)

INDEXES: Mapping[str, Sequence[IndexModel]] = {
    "runs": (
        _index("run_id", unique=True),
        _index(newest=True),
        _index("website_id", newest=True),
        _index("req_id", newest=True),
    ),
    "run_steps": (_index("run_id", "step_idx", unique=True),),
    "artifacts": (_index("run_id", "name", unique=True),),
    "metrics": (_index("run_id", "metric_id", unique=True),),
    "journal": (_index("run_id", "key", unique=True),),
    "checkpoints": (_index("run_id", "name", unique=True), _index("run_id", "slot", unique=True), _TTL),
    "locators": (_index("website_id", "url", "element", unique=True), _TTL),
    "heal_counters": (_index("run_id", "selector", unique=True), _TTL),
    "events": (_index("run_id", "seq", unique=True), _TTL),
    "rates": (_index("client_id", unique=True), _TTL),
    RUN_LEASES: LEASE_INDEXES,
    LESSONS: LESSON_INDEXES,
    KEPT_VALUES: KEPT_VALUE_INDEXES,
    SERVICE_RECORDS: SERVICE_RECORD_INDEXES,
}
"""Collection -> its indexes."""

_OF_RUNS = (
    "run_steps",
    "artifacts",
    "metrics",
    "journal",
    "checkpoints",
    "heal_counters",
    "events",
    RUN_LEASES,
    "runs",
)
"""The records of a run, the run itself last: the next sweep still finds a run after a crash."""

VALIDATORS: Mapping[str, MongoDocument] = {
    "runs": {
        "properties": {
            "verdict": {"enum": [None, "pass", "fail", "partial"]},
            "workflow_version": {"bsonType": ["string", "null"]},
        }
    },
    "run_steps": {"properties": {"status": {"enum": ["success", "skipped", "failed"]}}},
}
"""PACTS's CHECK constraints."""


class MongoRunStore:
    """`RunStore` on a `MongoConnection`. `now` gives seconds since the epoch."""

    def __init__(
        self,
        connection: MongoConnection,
        *,
        now: Callable[[], float] = time.time,
        max_checkpoints: int = MAX_CHECKPOINTS,
        max_checkpoint_bytes: int = MAX_CHECKPOINT_BYTES,
    ) -> None:
        self._connection = connection
        self._now = now
        self.leases = MongoRunLeases(connection)
        self.memory = MongoLessonStore(connection, now)
        self.kept_values = MongoKeptValueStore(connection, now)
        self.service_records = MongoServiceRecordStore(connection)
        self._max_checkpoints, self._max_checkpoint_bytes = max_checkpoints, max_checkpoint_bytes

    @property
    def address(self) -> str:
        """Hosts and database, without credentials."""
        return self._connection.address

    async def prepare(self) -> None:
        """Create missing collections and indexes, which also prevent duplicates."""
        await self.initialise()

    async def initialise(self) -> list[CollectionSetup]:
        """Like `prepare`; report what was created or found."""
        return await prepare(self._connection, plan_collections(INDEXES, VALIDATORS), thorough=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    async def health(self) -> StoreHealth:
        """Return whether the server answers and the indexes exist."""
        return await health_of(self._connection, plan_collections(INDEXES))

    # -- runs

    async def begin_run(self, run: StoredRun) -> bool:
        """Use the unique index."""
        return await self._insert("runs", run)

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Run one statement."""
        values = {**flatten_model(ending), "verdict": ending.verdict}
        if ending.workflow_version is None:
            del values["workflow_version"]
        check_document_size(self.address, f"run {run_id!r}", values)
        async with self._connection.asking() as database:
            done = await database["runs"].update_one({"run_id": run_id}, {"$set": values})
        return done.matched_count == 1

    async def run(self, run_id: str) -> StoredRun | None:
        """Use the unique index."""
        return await self._one(StoredRun, "runs", {"run_id": run_id})

    async def runs(
        self,
        *,
        website_id: str | None = None,
        req_id: str | None = None,
        id_prefix: str = "",
        limit: int = 100,
    ) -> Sequence[StoredRun]:
        """Read by the index of start times."""
        wanted: MongoDocument = {} if website_id is None else {"website_id": website_id}
        if req_id is not None:
            wanted["req_id"] = req_id
        if id_prefix:
            wanted["run_id"] = {"$gte": id_prefix, "$lt": id_prefix + LAST_CHARACTER}
        order = [("started_at", DESCENDING), ("run_id", ASCENDING)]
        return await self._all(StoredRun, "runs", wanted, order, limit)

    async def runs_by_id(
        self, *, website_id: str | None = None, after: str = "", limit: int = 500
    ) -> Sequence[StoredRun]:
        """Use the unique index."""
        wanted: MongoDocument = {"run_id": {"$gt": after}}
        if website_id is not None:
            wanted["website_id"] = website_id
        return await self._all(StoredRun, "runs", wanted, [("run_id", ASCENDING)], limit)

    async def run_counts(self, website_id: str) -> Mapping[RunStatus | None, int]:
        """Count by the index of websites."""
        async with self._connection.asking() as database:
            found = await counts_by(database["runs"], {"website_id": website_id}, "status")
        return {status and RunStatus(status): number for status, number in found.items()}

    async def append_step(self, step: StoredStep) -> bool:
        """Use the unique index."""
        return await self._insert("run_steps", step)

    async def steps(self, run_id: str) -> Sequence[StoredStep]:
        """Use the unique index."""
        return await self._all(StoredStep, "run_steps", {"run_id": run_id}, [("step_idx", ASCENDING)])

    async def step_counts(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """Run one aggregation."""
        pipeline: list[MongoDocument] = [
            {"$match": {"run_id": {"$in": list(run_ids)}}},
            {"$group": {"_id": "$run_id", "count": {"$sum": 1}}},
        ]
        async with self._connection.asking() as database:
            cursor = await database["run_steps"].aggregate(pipeline)
            return {row["_id"]: row["count"] async for row in cursor}

    async def put_artifact(self, artifact: Artifact) -> None:
        """Run one statement."""
        await self._replace("artifacts", artifact, ("run_id", "name"))

    async def artifacts(self, run_id: str) -> Sequence[Artifact]:
        """Use the unique index."""
        return await self._all(Artifact, "artifacts", {"run_id": run_id}, [("name", ASCENDING)])

    async def add_metric(self, metric: Metric) -> bool:
        """Use the unique index."""
        return await self._insert("metrics", metric)

    async def metrics(self, run_id: str) -> Sequence[Metric]:
        """Use the unique index."""
        order = [("recorded_at", ASCENDING), ("metric_name", ASCENDING), ("metric_id", ASCENDING)]
        return await self._all(Metric, "metrics", {"run_id": run_id}, order)

    async def sweep_runs(self, website_id: str, *, before: datetime) -> int:
        """Delete a run's records first, so that the next sweep finishes an interrupted one."""
        grace = min(before, self._moment() - UNFINISHED_GRACE)
        wanted = {
            "website_id": website_id,
            "$or": [
                {"finished_at": {"$lt": before}},
                {"finished_at": None, "started_at": {"$lt": grace}},
            ],
        }
        swept = 0
        while True:
            async with self._connection.asking() as database:
                found = database["runs"].find(wanted, {"run_id": 1}).limit(_SWEEP_BATCH)
                doomed = [row["run_id"] async for row in found]
                if not doomed:
                    return swept
                for name in _OF_RUNS:
                    await database[name].delete_many({"run_id": {"$in": doomed}})
            swept += len(doomed)

    # -- journal

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Insert by the unique index: the second writer receives what the first one wrote."""
        for _ in range(_ATTEMPTS):
            if await self._insert("journal", entry):
                return entry
            found = await self._one(JournalEntry, "journal", {"run_id": entry.run_id, "key": entry.key})
            if found is not None:
                return found
        raise self._contended()

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Run one statement."""
        values = {"outcome": outcome, "concluded_at": self._moment()}
        async with self._connection.asking() as database:
            done = await database["journal"].update_one({"run_id": run_id, "key": key}, {"$set": values})
        return done.matched_count == 1

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """Use the unique index."""
        order = [("begun_at", ASCENDING), ("key", ASCENDING)]
        return await self._all(JournalEntry, "journal", {"run_id": run_id}, order)

    # -- checkpoints

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace in one statement if the name exists; else insert into one of the run's slots.

        The slots are numbered and unique, so concurrent writers together cannot exceed the limit.
        """
        check_size(checkpoint, self._max_checkpoint_bytes)
        now = self._moment()
        kept_s = CHECKPOINT_TTL_S + CLOCK_TOLERANCE_S
        document = {**flatten_model(checkpoint), "expires_at": now + timedelta(seconds=kept_s)}
        key = {"run_id": checkpoint.run_id, "name": checkpoint.name}
        for _ in range(_ATTEMPTS):
            async with self._connection.asking() as database:
                of_run = database["checkpoints"]
                done = await of_run.update_one(key, {"$set": document})
                if done.matched_count:
                    return
                await of_run.delete_many({"run_id": checkpoint.run_id, "expires_at": {"$lte": now}})
                taken = {row["slot"] async for row in of_run.find({"run_id": checkpoint.run_id}, {"slot": 1})}
                free = [slot for slot in range(self._max_checkpoints) if slot not in taken]
                if not free:
                    raise TooManyCheckpoints(checkpoint.run_id, limit=self._max_checkpoints)
                try:
                    await of_run.insert_one({**document, "slot": free[0]})
                except DuplicateKeyError:
                    continue  # the slot, or the name, was taken meanwhile: look again
                return
        raise self._contended()

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """Use the unique index."""
        return await self._one(Checkpoint, "checkpoints", {"run_id": run_id, "name": name, **self._good()})

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """Use the unique index."""
        wanted = {"run_id": run_id, **self._good()}
        return await self._all(Checkpoint, "checkpoints", wanted, [("name", ASCENDING)])

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Run one statement."""
        async with self._connection.asking() as database:
            await database["checkpoints"].delete_one({"run_id": run_id, "name": name})

    # -- the locator cache

    async def put_locator(self, locator: Locator) -> None:
        """Run one statement."""
        await self._replace("locators", locator, ("website_id", "url", "element"), ttl_s=LOCATOR_TTL_S)

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Use the unique index."""
        wanted = {"website_id": website_id, "url": url, "element": element, **self._good()}
        return await self._one(Locator, "locators", wanted)

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """Run one statement."""
        async with self._connection.asking() as database:
            await database["locators"].delete_one({"website_id": website_id, "url": url, "element": element})

    # -- heal counters

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Count in one statement: a plain `$inc` would continue an expired count that is not deleted yet."""
        now = self._moment()
        counted = {"$cond": [{"$gt": ["$expires_at", now]}, {"$add": ["$count", 1]}, 1]}
        update = {"count": counted, "expires_at": now + timedelta(seconds=HEAL_TTL_S)}
        found = await self._counted("heal_counters", {"run_id": run_id, "selector": selector}, update)
        return int(found["count"])

    async def heals(self, run_id: str, selector: str) -> int:
        """Use the unique index."""
        wanted = {"run_id": run_id, "selector": selector, **self._good()}
        async with self._connection.asking() as database:
            found = await database["heal_counters"].find_one(wanted)
        return 0 if found is None else int(found["count"])

    # -- rates

    async def count_request(self, client_id: str) -> float:
        """Run one statement."""
        now = self._now()
        minute = window_of(now)
        past = {"$subtract": [minute, {"$ifNull": ["$minute", 0]}]}

        def by_age(this: Any, last: Any, older: int) -> MongoDocument:
            return {
                "$switch": {
                    "branches": [
                        {"case": {"$eq": [past, 0]}, "then": this},
                        {"case": {"$eq": [past, 1]}, "then": last},
                    ],
                    "default": older,
                }
            }

        expires_at = self._moment() + timedelta(seconds=2 * RATE_TTL_S)
        update = {
            "previous": by_age("$previous", "$current", 0),
            "current": by_age({"$add": ["$current", 1]}, 1, 1),
            "minute": minute,
            "expires_at": expires_at,
        }
        found = await self._counted("rates", {"client_id": client_id}, update)
        return rate_of(now, int(found["previous"]), int(found["current"]))

    # -- events

    async def append_events(self, events: Sequence[StoredEvent], *, keep_s: float = EVENT_TTL_S) -> None:
        """Insert in bulk; the unique index keeps existing numbers."""
        if not events:
            return
        expires = self._moment() + timedelta(seconds=keep_s)
        documents = [{**flatten_model(event), "expires_at": expires} for event in events]
        async with self._connection.asking() as database:
            try:
                await database["events"].insert_many(documents, ordered=False)
            except BulkWriteError as exc:
                errors = (exc.details or {}).get("writeErrors", [])
                if not errors or any(error.get("code") != _DUPLICATE for error in errors):
                    raise

    async def events(self, run_id: str, *, after: int = -1, limit: int = 1_000) -> Sequence[StoredEvent]:
        """Use the unique index."""
        wanted = {"run_id": run_id, "seq": {"$gt": after}, **self._good()}
        return await self._all(StoredEvent, "events", wanted, [("seq", ASCENDING)], limit)

    # -- helpers

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._now(), UTC)

    def _good(self) -> MongoDocument:
        return {"expires_at": {"$gt": self._moment()}}

    def _contended(self) -> StoreError:
        return StoreError(
            f"{_ATTEMPTS} attempts conflicted with other writers in the store at {self.address}",
            fix="try again",
        )

    async def _insert(self, name: str, model: Model) -> bool:
        document = flatten_model(model)
        check_document_size(self.address, name, document)
        async with self._connection.asking() as database:
            try:
                await database[name].insert_one(document)
            except DuplicateKeyError:
                return False
        return True

    async def _counted(self, name: str, key: MongoDocument, update: MongoDocument) -> MongoDocument:
        """Return the document of a key after an update that the server computes."""
        for _ in range(_ATTEMPTS):
            async with self._connection.asking() as database:
                try:
                    found = await database[name].find_one_and_update(
                        key, [{"$set": update}], upsert=True, return_document=ReturnDocument.AFTER
                    )
                except DuplicateKeyError:
                    continue  # another process inserted it first: now it can be updated
                if found is not None:  # an upsert always finds
                    return found
        raise self._contended()

    async def _replace(
        self, name: str, model: Model, key: tuple[str, ...], *, ttl_s: float | None = None
    ) -> None:
        document = flatten_model(model)
        if ttl_s is not None:
            document["expires_at"] = self._moment() + timedelta(seconds=ttl_s)
        check_document_size(self.address, name, document)
        wanted = {field: document[field] for field in key}
        for _ in range(_ATTEMPTS):
            async with self._connection.asking() as database:
                try:
                    await database[name].replace_one(wanted, document, upsert=True)
                except DuplicateKeyError:
                    continue  # both inserted first: one of them now replaces
                return
        raise self._contended()

    async def _one(self, kind: type[M], name: str, wanted: MongoDocument) -> M | None:
        async with self._connection.asking() as database:
            found = await database[name].find_one(wanted)
        return None if found is None else unflatten_model(kind, found)

    async def _all(
        self, kind: type[M], name: str, wanted: MongoDocument, order: list[tuple[str, int]], limit: int = 0
    ) -> list[M]:
        async with self._connection.asking() as database:
            cursor = database[name].find(wanted).sort(order).limit(limit)
            return [unflatten_model(kind, document) async for document in cursor]
