"""The document store in MongoDB. Leases and pins run by the server's clock, not by the loaders'.

The order of reads and writes below is what keeps readers whole; each place says why. Values are
bound: texts reach pipelines only inside `$literal`, where a leading `$` means nothing.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

from pymongo import ReturnDocument

from kb_store.errors import LeaseLost, LoadConflict, StoreError
from kb_store.mongodb.bodies import unpack
from kb_store.mongodb.connection import Connection, Database, Document, Session
from kb_store.mongodb.layout import (
    DOCUMENTS,
    GENERATIONS,
    LEASES,
    PINS,
    Prepared,
    document_plans,
    missing_indexes,
    prepare,
)
from kb_store.mongodb.records import RecordCollections
from kb_store.ports import Counts, Generation, Health, Lease, Owner, Pin
from kb_store.records import Record

_NOT_OVER = {"$expr": {"$gte": ["$expires", "$$NOW"]}}


class MongoDocumentStore:
    """`DocumentStore` on a `Connection`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._records = RecordCollections(connection, DOCUMENTS)

    @property
    def address(self) -> str:
        """Hosts and database, without credentials."""
        return self.connection.address

    async def prepare(self) -> None:
        """Collections, validators and indexes that are missing."""
        await prepare(self.connection, document_plans())

    async def initialise(self) -> list[Prepared]:
        """As `prepare`, looking at every index too; says what was made or found."""
        return await prepare(self.connection, document_plans(), thorough=True)

    async def close(self) -> None:
        """Close the client."""
        await self.connection.close()

    async def health(self) -> Health:
        """Whether the primary answers, and whether the indexes are there."""
        try:
            detail = await server_version(self.connection)
            missing = await missing_indexes(self.connection, document_plans())
        except StoreError as exc:
            return Health(self.address, ok=False, detail=exc.message)
        return Health(self.address, ok=True, detail=with_missing(detail, missing))

    # -- what is active

    async def websites(self) -> Sequence[Generation]:
        """By website id."""
        async with self.connection.asking() as database:
            cursor = database[GENERATIONS].find({"active_generation": {"$ne": None}}).sort("_id", 1)
            return [_generation(document) for document in await cursor.to_list()]

    async def active(self, website_id: str) -> Generation | None:
        """One document by its id."""
        async with self.connection.asking() as database:
            document = await database[GENERATIONS].find_one({"_id": website_id})
        return _generation(document) if document and document.get("active_generation") is not None else None

    # -- loading

    async def begin(
        self, website_id: str, owner: Owner, *, ttl: float, instead_of: str | None = None
    ) -> Lease:
        """One transaction: look, count on, take. Two at once both count on, so one of them begins again."""
        token = secrets.token_hex(16)

        async def work(database: Database, session: Session) -> Lease:
            held = await _held(database, website_id, session)
            if held is not None and held.token != instead_of:
                raise LoadConflict(website_id, str(held.owner), free_in=held.expires_in)
            counted: Any = await database[GENERATIONS].find_one_and_update(
                {"_id": website_id},
                {"$inc": {"last_generation": 1}},
                upsert=True,
                return_document=ReturnDocument.AFTER,
                session=session,
            )
            generation = int(counted["last_generation"])
            taken = {"token": token, "generation": generation, "owner": dataclasses.asdict(owner)}
            await database[LEASES].update_one(
                {"_id": website_id},
                [{"$set": {k: {"$literal": v} for k, v in taken.items()} | {"expires": _in(ttl)}}],
                upsert=True,
                session=session,
            )
            return Lease(website_id, generation, token, owner, ttl)

        return await self.connection.transaction(work)

    async def holder(self, website_id: str) -> Lease | None:
        """A lease that has run out is held by nobody."""
        async with self.connection.asking() as database:
            return await _held(database, website_id, None)

    async def renew(self, lease: Lease, *, ttl: float) -> None:
        """A lease that ran out but that nobody else took is still good."""
        async with self.connection.asking() as database:
            await _hold(database, None, lease, ttl)

    async def put(self, lease: Lease, records: Sequence[Record]) -> None:
        """Renews the lease in the same transaction."""

        async def hold(database: Database, session: Session) -> None:
            await _hold(database, session, lease, lease.expires_in)

        await self._records.put(lease.website_id, lease.generation, records, first=hold)

    async def commit(self, lease: Lease, generation: Generation) -> int | None:
        """The one transaction by which a load becomes visible."""
        fields = {
            "active_generation": lease.generation,
            "loaded_at": generation.loaded_at,
            "schema_version": generation.schema_version,
            "documents": dict(generation.documents),
            "vertices": dict(generation.vertices),
            "edges": dict(generation.edges),
        }

        async def work(database: Database, session: Session) -> int | None:
            mine = {"_id": lease.website_id, "token": lease.token}
            if (await database[LEASES].delete_one(mine, session=session)).deleted_count != 1:
                raise LeaseLost(lease.website_id)
            before: Document | None = await database[GENERATIONS].find_one_and_update(
                {"_id": lease.website_id},
                {"$set": fields, "$max": {"last_generation": lease.generation}},
                upsert=True,
                return_document=ReturnDocument.BEFORE,
                session=session,
            )
            replaced = (before or {}).get("active_generation")
            return None if replaced is None else int(replaced)

        return await self.connection.transaction(work)

    async def release(self, lease: Lease) -> None:
        """Only one's own."""
        async with self.connection.asking() as database:
            await database[LEASES].delete_one({"_id": lease.website_id, "token": lease.token})

    # -- reading

    async def pin(self, website_id: str, *, ttl: float) -> Pin | None:
        """Pins what is active, then looks whether it still is.

        A collector asks what is active first and for pins last (`in_use`): where the second look
        finds the generation still active, every later collector finds the pin.
        """
        token = secrets.token_hex(16)
        active = await self.active(website_id)
        while active is not None:
            pin = Pin(website_id, active.generation, token)
            await self._pin(pin, ttl)
            active = await self.active(website_id)
            if active is not None and active.generation == pin.generation:
                return pin
            await self.unpin(pin)
        return None

    async def _pin(self, pin: Pin, ttl: float) -> None:
        held = {"website_id": pin.website_id, "generation": pin.generation}
        update = [{"$set": {k: {"$literal": v} for k, v in held.items()} | {"expires": _in(ttl)}}]
        async with self.connection.asking() as database:
            await database[PINS].update_one({"_id": pin.token}, update, upsert=True)

    async def unpin(self, pin: Pin) -> None:
        """Only one's own."""
        async with self.connection.asking() as database:
            await database[PINS].delete_one({"_id": pin.token})

    async def records(self, website_id: str, generation: int) -> AsyncIterator[Record]:
        """In pages, by kind and id."""
        async for kind, document in self._records.stored(website_id, generation):
            yield Record(kind, document["_id"]["local_id"], unpack(document))

    async def count(self, website_id: str, generation: int) -> Counts:
        """By kind."""
        return await self._records.count(website_id, generation)

    # -- collecting

    async def generations(self, website_id: str) -> frozenset[int]:
        """Of which there is a document."""
        return await self._records.generations(website_id)

    async def in_use(self, website_id: str) -> frozenset[int]:
        """The lease first, then what is active, pins last: whatever moves on is met where it arrives.

        A load that commits in between is found by its lease or as active; a reader that pins what
        is active is found by its pin, or what it pins is active still.
        """
        async with self.connection.asking() as database:
            lease = await _held(database, website_id, None)
            active = await database[GENERATIONS].find_one({"_id": website_id}, ["active_generation"])
            pins = database[PINS].find({"website_id": website_id, **_NOT_OVER}, ["generation"])
            pinned = [pin["generation"] async for pin in pins]
        found = {*pinned, (active or {}).get("active_generation"), lease.generation if lease else None}
        return frozenset(generation for generation in found if generation is not None)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Kind by kind."""
        await self._records.drop(website_id, generations)


async def server_version(connection: Connection) -> str:
    """Version and replica set of the server that answers."""
    async with connection.asking() as database:
        info = await database.client.server_info()
        hello = await database.command("hello")
    member = hello.get("setName") or ("sharded" if hello.get("msg") == "isdbgrid" else None)
    alone = "no replica set: loads need one, start mongod with --replSet"
    return f"MongoDB {info['version']}, {f'replica set {member}' if member else alone}"


def with_missing(detail: str, missing: Sequence[str]) -> str:
    """`detail`, and which indexes are not there."""
    if not missing:
        return f"{detail}, indexes complete"
    return f"{detail}, indexes missing: {', '.join(missing)} (`periplus kb init` makes them)"


async def _held(database: Database, website_id: str, session: Session | None) -> Lease | None:
    pipeline: list[dict[str, Any]] = [
        {"$match": {"_id": website_id, **_NOT_OVER}},
        {"$set": {"left": {"$subtract": ["$expires", "$$NOW"]}}},
    ]
    async for found in await database[LEASES].aggregate(pipeline, session=session):
        owner = Owner(**found["owner"])
        return Lease(website_id, int(found["generation"]), found["token"], owner, found["left"] / 1000)
    return None


async def _hold(database: Database, session: Session | None, lease: Lease, ttl: float) -> None:
    """Renew a lease that is still its holder's. Raises `LeaseLost`."""
    mine = {"_id": lease.website_id, "token": lease.token}
    renewed = await database[LEASES].update_one(mine, [{"$set": {"expires": _in(ttl)}}], session=session)
    if renewed.matched_count != 1:
        raise LeaseLost(lease.website_id)


def _in(seconds: float) -> dict[str, Any]:
    """The server's clock, and `seconds`."""
    return {"$add": ["$$NOW", int(seconds * 1000)]}


def _generation(document: Document) -> Generation:
    return Generation(
        document["_id"],
        int(document["active_generation"]),
        document["loaded_at"],
        int(document["schema_version"]),
        document["documents"],
        document["vertices"],
        document["edges"],
    )
