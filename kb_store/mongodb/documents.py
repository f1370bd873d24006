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
from kb_store.initialising import Prepared
from kb_store.mongodb import watch
from kb_store.mongodb.bodies import unpack
from kb_store.mongodb.connection import Connection, Database, Document, Session
from kb_store.mongodb.layout import (
    DOCUMENTS,
    GENERATIONS,
    PINS,
    CollectionPlan,
    document_plans,
    missing_indexes,
    prepare,
)
from kb_store.mongodb.records import RecordCollections, local_id
from kb_store.ports import Counts, Generation, Health, Lease, Owner, Pin
from kb_store.records import Record

NAMED = 3
"""How many missing indexes are named."""

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
        return await health_of(self.connection, document_plans())

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

    def changes(self) -> AsyncIterator[str]:
        """From a change stream (see `kb_store.changes`)."""
        return watch.changes(self.connection)

    # -- loading

    async def begin(
        self, website_id: str, owner: Owner, *, ttl: float, instead_of: str | None = None
    ) -> Lease:
        """One statement takes it: it matches the website's document only where the lease may be had."""
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
                    return Lease(website_id, int(found["last_generation"]), taken["token"], owner, ttl)
                held = await _held(database, website_id)
            if held is not None:  # else it was given back just now
                raise LoadConflict(website_id, str(held.owner), free_in=held.expires_in)

    async def holder(self, website_id: str) -> Lease | None:
        """A lease that has run out is held by nobody."""
        async with self.connection.asking() as database:
            return await _held(database, website_id)

    async def renew(self, lease: Lease, *, ttl: float) -> None:
        """A lease that ran out but that nobody else took is still good."""
        async with self.connection.asking() as database:
            expires = [{"$set": {"lease.expires": _in(ttl)}}]
            renewed = await database[GENERATIONS].update_one(_mine(lease), expires)
        if renewed.matched_count != 1:
            raise LeaseLost(lease.website_id)

    async def put(self, lease: Lease, records: Sequence[Record]) -> None:
        """Renews the lease, then writes in one transaction that begins by looking for the lease.

        The transaction only reads the website's document: one that a killed loader leaves open
        (MongoDB ends it after a minute) must not keep the next loader from taking the lease. What
        it writes late is of a generation that nobody will ever name.
        """
        await self.renew(lease, ttl=lease.expires_in)

        async def hold(database: Database, session: Session) -> None:
            if await database[GENERATIONS].find_one(_mine(lease), ["_id"], session=session) is None:
                raise LeaseLost(lease.website_id)

        await self._records.put(lease.website_id, lease.generation, records, first=hold)

    async def commit(self, lease: Lease, generation: Generation) -> int | None:
        """The one statement by which a load becomes visible."""
        fields = {
            "active_generation": lease.generation,
            "loaded_at": generation.loaded_at,
            "schema_version": generation.schema_version,
            "documents": dict(generation.documents),
            "vertices": dict(generation.vertices),
            "edges": dict(generation.edges),
        }
        async with self.connection.asking() as database:
            before = await database[GENERATIONS].find_one_and_update(
                _mine(lease), {"$set": fields, "$unset": {"lease": ""}}, return_document=ReturnDocument.BEFORE
            )
        if before is None:
            raise LeaseLost(lease.website_id)
        replaced = before.get("active_generation")
        return None if replaced is None else int(replaced)

    async def release(self, lease: Lease) -> None:
        """Only one's own."""
        async with self.connection.asking() as database:
            await database[GENERATIONS].update_one(_mine(lease), {"$unset": {"lease": ""}})

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
            yield Record(kind, local_id(document), unpack(document))

    async def count(self, website_id: str, generation: int) -> Counts:
        """By kind."""
        return await self._records.count(website_id, generation)

    # -- collecting

    async def generations(self, website_id: str) -> frozenset[int]:
        """Of which there is a document."""
        return await self._records.generations(website_id)

    async def in_use(self, website_id: str) -> frozenset[int]:
        """Lease and active generation from one document, pins after it: `pin` relies on that order."""
        leased = {"$cond": [{"$gte": ["$lease.expires", "$$NOW"]}, "$lease.generation", None]}
        pipeline: list[dict[str, Any]] = [
            {"$match": {"_id": website_id}},
            {"$project": {"used": ["$active_generation", leased]}},
        ]
        async with self.connection.asking() as database:
            found = [
                used
                async for each in await database[GENERATIONS].aggregate(pipeline)
                for used in each["used"]
            ]
            pins = database[PINS].find({"website_id": website_id, **_NOT_OVER}, ["generation"])
            found += [pin["generation"] async for pin in pins]
        return frozenset(int(generation) for generation in found if generation is not None)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Kind by kind."""
        await self._records.drop(website_id, generations)


async def health_of(connection: Connection, plans: Sequence[CollectionPlan]) -> Health:
    """Whether the primary answers, and whether the indexes of these collections are there."""
    try:
        detail = await server_version(connection)
        missing = await missing_indexes(connection, plans)
    except StoreError as exc:
        return Health.down(connection.address, exc)
    return Health(connection.address, ok=True, detail=with_missing(detail, missing))


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
    named = ", ".join(missing[:NAMED]) + (f" and {len(missing) - NAMED} more" if len(missing) > NAMED else "")
    return f"{detail}, indexes missing: {named} (`periplus kb init` makes them)"


async def _held(database: Database, website_id: str) -> Lease | None:
    pipeline: list[dict[str, Any]] = [
        {"$match": {"_id": website_id, "lease": {"$ne": None}}},
        {"$replaceWith": {"$mergeObjects": ["$lease", {"left": {"$subtract": ["$lease.expires", "$$NOW"]}}]}},
        {"$match": {"left": {"$gte": 0}}},
    ]
    async for found in await database[GENERATIONS].aggregate(pipeline):
        owner = Owner(**found["owner"])
        return Lease(website_id, int(found["generation"]), found["token"], owner, found["left"] / 1000)
    return None


def _mine(lease: Lease) -> dict[str, Any]:
    """The website's document, as long as the lease is still its holder's."""
    return {"_id": lease.website_id, "lease.token": lease.token}


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
