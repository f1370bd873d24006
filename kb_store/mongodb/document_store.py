"""The document store in MongoDB. Leases and pins run by the server's clock, not by the loaders'.

The order of reads and writes keeps readers consistent; comments give the reasons. Values are bound: texts
reach pipelines only inside `$literal`, where a leading `$` has no meaning.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from pymongo import ReturnDocument

from kb_store.errors import LeaseLost, LoadConflict, StoreError
from kb_store.knowledge_records import KnowledgeRecord
from kb_store.mongodb import change_stream
from kb_store.mongodb.connection import MongoConnection, MongoDatabase, MongoDocument, MongoSession
from kb_store.mongodb.database_schema import (
    DOCUMENTS,
    EDGES,
    GENERATIONS,
    PINS,
    VERTICES,
    CollectionPlan,
    document_plans,
    missing_indexes,
    prepare,
)
from kb_store.mongodb.record_codec import decode_body
from kb_store.mongodb.record_collections import (
    RecordCollections,
    change_records,
    local_id,
    record_id,
    split_raw,
)
from kb_store.ports import Counts, Generation, GenerationPin, GraphStore, LeaseOwner, LoadLease, StoreHealth
from kb_store.record_changes import CHANGED_REMEMBERED, RecordChanges, RecordKey
from kb_store.store_setup import CollectionSetup
from kb_store.stored_contents import RawRecord, RawRecords

_WHOLE = {**DOCUMENTS, "screen_group": VERTICES["screen_group"], **EDGES}
"""Kind -> the collection that has its whole documents."""


class _BaseMoved(Exception):
    """Another generation became active, or the lease was lost."""


NAMED = 3
"""The most missing indexes that a message names."""

_NOT_OVER = {"$expr": {"$gte": ["$expires", "$$NOW"]}}


class MongoDocumentStore:
    """`DocumentStore` on a `MongoConnection`."""

    def __init__(self, connection: MongoConnection) -> None:
        self.connection = connection
        self._records = RecordCollections(connection, DOCUMENTS)

    @property
    def address(self) -> str:
        """Hosts and database, without credentials."""
        return self.connection.address

    async def prepare(self) -> None:
        """Create missing collections, validators and indexes."""
        await prepare(self.connection, document_plans())

    async def initialise(self) -> list[CollectionSetup]:
        """Like `prepare`, but check every index too; report what was created or found."""
        return await prepare(self.connection, document_plans(), thorough=True)

    async def close(self) -> None:
        """Close the client."""
        await self.connection.close()

    async def health(self) -> StoreHealth:
        """Return whether the primary answers and the indexes exist."""
        return await health_of(self.connection, document_plans())

    # -- active generations

    async def websites(self) -> Sequence[Generation]:
        """Return the generations by website id."""
        async with self.connection.asking() as database:
            cursor = database[GENERATIONS].find({"active_generation": {"$ne": None}}).sort("_id", 1)
            return [_generation(document) for document in await cursor.to_list()]

    async def active(self, website_id: str) -> Generation | None:
        """Read one document by its id."""
        async with self.connection.asking() as database:
            document = await database[GENERATIONS].find_one({"_id": website_id})
        return _generation(document) if document and document.get("active_generation") is not None else None

    def changes(self) -> AsyncIterator[str]:
        """Yield changes from a change stream (see `kb_store.generation_watch`)."""
        return change_stream.changes(self.connection)

    # -- loading

    async def begin(
        self, website_id: str, owner: LeaseOwner, *, ttl: float, instead_of: str | None = None
    ) -> LoadLease:
        """Take the lease in one statement, which matches the website's document only if the lease is
        available.
        """
        free: list[dict[str, Any]] = [{"lease": None}, {"$expr": {"$lt": ["$lease.expires", "$$NOW"]}}]
        if instead_of is not None:
            free.append({"lease.token": instead_of})
        generation = {"$add": ["$last_generation", 1]}
        taken: dict[str, Any] = {"token": secrets.token_hex(16), "owner": dataclasses.asdict(owner)}
        lease = {k: {"$literal": v} for k, v in taken.items()} | {
            "generation": generation,
            "expires": _in(ttl),
        }
        while True:
            async with self.connection.asking() as database:
                first = {"$setOnInsert": {"last_generation": 0}}
                await database[GENERATIONS].update_one({"_id": website_id}, first, upsert=True)
                found = await database[GENERATIONS].find_one_and_update(
                    {"_id": website_id, "$or": free},
                    [{"$set": {"last_generation": generation, "lease": lease}}],
                    return_document=ReturnDocument.AFTER,
                )
                if found is not None:
                    return LoadLease(website_id, int(found["last_generation"]), taken["token"], owner, ttl)
                held = await _held(database, website_id)
            if held is not None:  # otherwise it was released just now
                raise LoadConflict(website_id, str(held.owner), free_in=held.expires_in)

    async def holder(self, website_id: str) -> LoadLease | None:
        """Return the lease; an expired one has no holder."""
        async with self.connection.asking() as database:
            return await _held(database, website_id)

    async def renew(self, lease: LoadLease, *, ttl: float) -> None:
        """Renew the lease. One that expired but was not taken is still valid."""
        async with self.connection.asking() as database:
            expires = [{"$set": {"lease.expires": _in(ttl)}}]
            renewed = await database[GENERATIONS].update_one(_mine(lease), expires)
        if renewed.matched_count != 1:
            raise LeaseLost(lease.website_id)

    async def put(self, lease: LoadLease, records: Sequence[KnowledgeRecord]) -> None:
        """Renew the lease, then write in one transaction that begins by reading the lease.

        The transaction only reads the website's document: one that a killed loader leaves open (MongoDB ends
        it after a minute) must not keep the next loader from taking the lease. Its late writes belong to a
        generation that no reader will use.
        """
        await self.renew(lease, ttl=lease.expires_in)

        async def hold(database: MongoDatabase, session: MongoSession) -> None:
            if await database[GENERATIONS].find_one(_mine(lease), ["_id"], session=session) is None:
                raise LeaseLost(lease.website_id)

        await self._records.put(lease.website_id, lease.generation, records, first=hold)

    async def commit(self, lease: LoadLease, generation: Generation) -> int | None:
        """Make the load visible in one statement."""
        async with self.connection.asking() as database:
            before = await database[GENERATIONS].find_one_and_update(
                _mine(lease), _activation(lease, generation), return_document=ReturnDocument.BEFORE
            )
        if before is None:
            raise LeaseLost(lease.website_id)
        replaced = before.get("active_generation")
        return None if replaced is None else int(replaced)

    # -- changing records in place (`kb_store.record_changes`)

    def keeps_graph(self, graph: GraphStore) -> bool:
        """Return whether the graph is in this database."""
        return getattr(graph, "connection", None) is self.connection

    async def find_records(
        self, website_id: str, stored: int, keys: Collection[RecordKey]
    ) -> list[KnowledgeRecord]:
        """Read each kind by its ids."""
        ids: dict[str, list[dict[str, Any]]] = {}
        for kind, name in sorted(keys):
            ids.setdefault(kind, []).append(record_id(website_id, stored, name))
        found = []
        async with self.connection.asking() as database:
            for kind, wanted in ids.items():
                cursor = database[_WHOLE[kind]].find({"_id": {"$in": wanted}})
                found += [KnowledgeRecord(kind, local_id(each), decode_body(each)) async for each in cursor]
        return found

    async def change(
        self, lease: LoadLease, base: Generation, changes: RecordChanges, generation: Generation
    ) -> bool:
        """Change the records and make the generation visible in one transaction.

        The website's document is written last: a loader that is killed before leaves nothing that the next one must wait for.
        """
        await self.renew(lease, ttl=lease.expires_in)
        remembered = {**_last_changes(await self._website(lease.website_id)), base.stored: lease.generation}
        latest = dict(sorted(remembered.items())[-CHANGED_REMEMBERED:])
        update = _activation(lease, generation)
        update["$set"] |= {"changed": {str(number): last for number, last in latest.items()}}
        of_base = {"active_generation": base.generation, "records_under": base.records_under}

        async def activate(database: MongoDatabase, session: MongoSession) -> None:
            done = await database[GENERATIONS].update_one(
                {**_mine(lease), **of_base}, update, session=session
            )
            if done.matched_count != 1:
                raise _BaseMoved

        parts = (
            (self._records, changes.documents),
            (RecordCollections(self.connection, VERTICES), changes.vertices),
            (RecordCollections(self.connection, EDGES), changes.edges),
        )
        try:
            await change_records(
                self.connection, lease.website_id, base.stored, parts, changes.gone, activate
            )
        except _BaseMoved:
            if await self._is_mine(lease):
                return False
            raise LeaseLost(lease.website_id) from None
        return True

    async def _website(self, website_id: str) -> MongoDocument:
        async with self.connection.asking() as database:
            return await database[GENERATIONS].find_one({"_id": website_id}) or {}

    async def _is_mine(self, lease: LoadLease) -> bool:
        async with self.connection.asking() as database:
            return await database[GENERATIONS].find_one(_mine(lease), ["_id"]) is not None

    async def release(self, lease: LoadLease) -> None:
        """Release only the own lease."""
        async with self.connection.asking() as database:
            await database[GENERATIONS].update_one(_mine(lease), {"$unset": {"lease": ""}})

    # -- reading

    async def pin(self, website_id: str, *, ttl: float) -> GenerationPin | None:
        """Pin the active generation, then check that it is still active.

        A collector reads the active generation first and the pins last (`in_use`): if the second read finds
        the generation still active, every later collector finds the pin.
        """
        token = secrets.token_hex(16)
        active = await self.active(website_id)
        while active is not None:
            pin = GenerationPin(website_id, active.generation, token, active.records_under)
            await self._pin(pin, ttl)
            active = await self.active(website_id)
            if active is not None and active.generation == pin.generation:
                return pin
            await self.unpin(pin)
        return None

    async def _pin(self, pin: GenerationPin, ttl: float) -> None:
        held = {"website_id": pin.website_id, "generation": pin.generation, "stored": pin.stored}
        update = [{"$set": {k: {"$literal": v} for k, v in held.items()} | {"expires": _in(ttl)}}]
        async with self.connection.asking() as database:
            await database[PINS].update_one({"_id": pin.token}, update, upsert=True)

    async def unpin(self, pin: GenerationPin) -> None:
        """Delete only the own pin."""
        async with self.connection.asking() as database:
            await database[PINS].delete_one({"_id": pin.token})

    async def holds(self, pin: GenerationPin) -> bool:
        """Read the pin, then the website's document: a change that comes later does not matter to what was read before."""
        async with self.connection.asking() as database:
            pinned = await database[PINS].find_one({"_id": pin.token, **_NOT_OVER}, ["_id"]) is not None
        website = await self._website(pin.website_id)
        last_change = _last_changes(website).get(pin.stored, 0)
        return last_change <= pin.generation and (
            pinned or website.get("active_generation") == pin.generation
        )

    async def records(self, website_id: str, generation: int) -> AsyncIterator[KnowledgeRecord]:
        """Read in pages, by kind and id."""
        async for kind, document in self._records.stored(website_id, generation):
            yield KnowledgeRecord(kind, local_id(document), decode_body(document))

    async def raw_records(self, website_id: str, generation: int) -> RawRecords:
        """Read kind by kind."""
        return await self._records.raw(website_id, generation)

    def split(self, raw: RawRecord) -> tuple[str, Mapping[str, Any]]:
        """Read the BSON."""
        return split_raw(raw)

    async def count(self, website_id: str, generation: int) -> Counts:
        """Count by kind."""
        return await self._records.count(website_id, generation)

    # -- deleting

    async def generations(self, website_id: str) -> frozenset[int]:
        """Return the generations that have a document."""
        return await self._records.generations(website_id)

    async def in_use(self, website_id: str) -> frozenset[int]:
        """Read lease and active generation from one document, and pins afterwards: `pin` relies on that
        order.
        """
        leased = {"$cond": [{"$gte": ["$lease.expires", "$$NOW"]}, "$lease.generation", None]}
        pipeline: list[dict[str, Any]] = [
            {"$match": {"_id": website_id}},
            {"$project": {"used": ["$active_generation", {"$ifNull": ["$records_under", None]}, leased]}},
        ]
        async with self.connection.asking() as database:
            found = [
                used
                async for each in await database[GENERATIONS].aggregate(pipeline)
                for used in each["used"]
            ]
            pins = database[PINS].find({"website_id": website_id, **_NOT_OVER}, ["generation", "stored"])
            found += [number async for pin in pins for number in (pin["generation"], pin.get("stored"))]
        return frozenset(int(generation) for generation in found if generation is not None)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete kind by kind."""
        await self._records.drop(website_id, generations)


async def health_of(connection: MongoConnection, plans: Sequence[CollectionPlan]) -> StoreHealth:
    """Return whether the primary answers and the indexes of these collections exist."""
    try:
        detail = await server_version(connection)
        missing = await missing_indexes(connection, plans)
    except StoreError as exc:
        return StoreHealth.down(connection.address, exc)
    return StoreHealth(connection.address, ok=True, detail=with_missing(detail, missing))


async def server_version(connection: MongoConnection) -> str:
    """Return version and replica set of the server."""
    async with connection.asking() as database:
        info = await database.client.server_info()
        hello = await database.command("hello")
    member = hello.get("setName") or ("sharded" if hello.get("msg") == "isdbgrid" else None)
    alone = "no replica set: loads need one, start mongod with --replSet"
    return f"MongoDB {info['version']}, {f'replica set {member}' if member else alone}"


def with_missing(detail: str, missing: Sequence[str]) -> str:
    """Return `detail` and the missing indexes."""
    if not missing:
        return f"{detail}, indexes complete"
    named = ", ".join(missing[:NAMED]) + (f" and {len(missing) - NAMED} more" if len(missing) > NAMED else "")
    return f"{detail}, indexes missing: {named} (`periplus kb init` makes them)"


async def _held(database: MongoDatabase, website_id: str) -> LoadLease | None:
    pipeline: list[dict[str, Any]] = [
        {"$match": {"_id": website_id, "lease": {"$ne": None}}},
        {"$replaceWith": {"$mergeObjects": ["$lease", {"left": {"$subtract": ["$lease.expires", "$$NOW"]}}]}},
        {"$match": {"left": {"$gte": 0}}},
    ]
    async for found in await database[GENERATIONS].aggregate(pipeline):
        owner = LeaseOwner(**found["owner"])
        return LoadLease(website_id, int(found["generation"]), found["token"], owner, found["left"] / 1000)
    return None


def _mine(lease: LoadLease) -> dict[str, Any]:
    """Match the website's document while its lease belongs to this holder."""
    return {"_id": lease.website_id, "lease.token": lease.token}


def _in(seconds: float) -> dict[str, Any]:
    """Return the server's time plus `seconds`."""
    return {"$add": ["$$NOW", int(seconds * 1000)]}


def _activation(lease: LoadLease, generation: Generation) -> dict[str, dict[str, Any]]:
    """Return the update that makes a generation the active one, and releases the lease."""
    fields = {
        "active_generation": lease.generation,
        "records_under": generation.records_under,
        "loaded_at": generation.loaded_at,
        "schema_version": generation.schema_version,
        "documents": dict(generation.documents),
        "vertices": dict(generation.vertices),
        "edges": dict(generation.edges),
    }
    return {"$set": fields, "$unset": {"lease": ""}}


def _last_changes(website: MongoDocument) -> dict[int, int]:
    """Return generation of records -> the last generation that changed them in place."""
    return {int(number): int(last) for number, last in (website.get("changed") or {}).items()}


def _generation(document: MongoDocument) -> Generation:
    return Generation(
        document["_id"],
        int(document["active_generation"]),
        document["loaded_at"],
        int(document["schema_version"]),
        document["documents"],
        document["vertices"],
        document["edges"],
        document.get("records_under"),
    )
