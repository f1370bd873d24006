"""Records in collections, one per kind: the common code for documents, vertices and edges."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, cast

import bson
from pymongo import ReplaceOne
from pymongo.errors import BulkWriteError

from kb_store.knowledge_records import EdgeRecord, KnowledgeRecord
from kb_store.mongodb.connection import (
    DocumentRefused,
    MongoConnection,
    MongoDatabase,
    MongoDocument,
    MongoSession,
)
from kb_store.mongodb.record_codec import decode_body, encode_document
from kb_store.ports import Counts
from kb_store.stored_contents import RawRecord

PAGE = 500
"""The number of documents fetched at a time."""

First = Callable[[MongoDatabase, MongoSession], Awaitable[None]]
"""What a transaction does before it writes records."""


_DUPLICATE = 11000
"""The server's code for an existing record."""


class _BatchAlreadyWritten(Exception):
    """The batch was written before: its answer was lost the first time."""


async def _nothing(_database: MongoDatabase, _session: MongoSession) -> None:
    """No first step."""


class RecordCollections:
    """The collections of some kinds, read and deleted by website and generation."""

    def __init__(self, connection: MongoConnection, names: Mapping[str, str]) -> None:
        self._connection = connection
        self.names = names

    async def put(
        self,
        website_id: str,
        generation: int,
        records: Sequence[KnowledgeRecord | EdgeRecord],
        *,
        first: First = _nothing,
    ) -> None:
        """Write all records in one transaction, after `first`; existing ones are replaced.

        If a validator refuses one of them, all are kept as text (see `record_codec`). Raises
        `RecordTooLarge`, and whatever `first` raises.
        """
        try:
            await self._put(self._documents(website_id, generation, records), first)
        except DocumentRefused:
            await self._put(self._documents(website_id, generation, records, as_text=True), first)

    async def _put(self, documents: Mapping[str, Sequence[MongoDocument]], first: First) -> None:
        """Insert the records, which nearly always works and is twice as fast; else replace existing ones."""

        async def insert(database: MongoDatabase, session: MongoSession) -> None:
            await first(database, session)
            try:
                for kind, those in documents.items():
                    await database[self.names[kind]].insert_many(those, session=session)
            except BulkWriteError as exc:
                if any(error.get("code") == _DUPLICATE for error in exc.details["writeErrors"]):
                    raise _BatchAlreadyWritten from exc
                raise

        async def replace(database: MongoDatabase, session: MongoSession) -> None:
            await first(database, session)
            for kind, those in documents.items():
                await database[self.names[kind]].bulk_write(_replacing(those), session=session)

        try:
            await self._connection.transaction(insert)
        except _BatchAlreadyWritten:
            await self._connection.transaction(replace)

    def _documents(
        self,
        website_id: str,
        generation: int,
        records: Sequence[KnowledgeRecord | EdgeRecord],
        *,
        as_text: bool = False,
    ) -> dict[str, list[MongoDocument]]:
        found: dict[str, list[MongoDocument]] = {}
        for record in records:
            document = encode_document(
                self._connection.address,
                (record.kind, record.local_id),
                {"_id": record_id(website_id, generation, record.local_id), **_ends(record)},
                record.body,
                as_text=as_text,
            )
            found.setdefault(record.kind, []).append(cast("MongoDocument", document))
        return found

    def replacements(
        self,
        website_id: str,
        generation: int,
        records: Sequence[KnowledgeRecord | EdgeRecord],
        *,
        as_text: bool,
    ) -> Iterator[tuple[str, list[ReplaceOne[MongoDocument]]]]:
        """Yield each collection, and the requests that write these records, whether or not they exist."""
        made = self._documents(website_id, generation, records, as_text=as_text)
        for kind, documents in made.items():
            yield self.names[kind], _replacing(documents)

    async def stored(self, website_id: str, generation: int) -> AsyncIterator[tuple[str, MongoDocument]]:
        """Yield kind and document, by kind and local id, in pages: a committed generation does not change."""
        for kind in sorted(self.names):
            after: dict[str, Any] = {}
            while True:
                page = await self._page(kind, website_id, generation, after)
                for document in page:
                    yield kind, document
                if len(page) < PAGE:
                    break
                after = {"$gt": page[-1]["_id"].get("local_id")}

    async def raw(self, website_id: str, generation: int) -> dict[str, list[RawRecord]]:
        """Return the bodies as BSON, by kind, in the order of local ids; without what differs between generations."""
        found: dict[str, list[RawRecord]] = {}
        only = {"_id": 0, "body": 1, "text": 1, "local_id": "$_id.local_id"}
        for kind, name in sorted(self.names.items()):
            async with self._connection.asking() as database:
                cursor = database[name].find_raw_batches(_of(website_id, generation), only)
                batches = [cast("bytes", each) async for each in cursor.sort("_id.local_id", 1)]
            own: list[RawRecord] = [each for batch in batches for each in _split(batch)]
            if own:
                found[kind] = own
        return found

    async def count(self, website_id: str, generation: int) -> Counts:
        """Count by kind, from the index."""
        query = _of(website_id, generation)
        async with self._connection.asking() as database:
            numbers = await asyncio.gather(
                *(database[name].count_documents(query) for name in self.names.values())
            )
        return {kind: number for kind, number in zip(self.names, numbers, strict=True) if number}

    async def generations(self, website_id: str) -> frozenset[int]:
        """Return the generations with at least one record."""
        async with self._connection.asking() as database:
            found: Iterable[list[Any]] = await asyncio.gather(
                *(
                    database[name].distinct("_id.generation", {"_id.website_id": website_id})
                    for name in self.names.values()
                )
            )
        return frozenset(generation for each in found for generation in each)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete one kind after the other: no reader uses them any more."""
        for generation in generations:
            for name in self.names.values():
                async with self._connection.asking() as database:
                    await database[name].delete_many(_of(website_id, generation))

    async def _page(
        self, kind: str, website_id: str, generation: int, after: Mapping[str, Any]
    ) -> list[MongoDocument]:
        query = _of(website_id, generation) | ({"_id.local_id": after} if after else {})
        async with self._connection.asking() as database:
            cursor = database[self.names[kind]].find(query).sort("_id.local_id", 1).limit(PAGE)
            return await cursor.to_list()


async def change_records(
    connection: MongoConnection,
    website_id: str,
    generation: int,
    parts: Iterable[tuple[RecordCollections, Sequence[KnowledgeRecord | EdgeRecord]]],
    gone: Iterable[tuple[str, str]],
    last: First,
) -> None:
    """Write records and delete those of `gone` (kind and local id) in one transaction, and do `last` at its end.

    What a validator refuses is kept as text, as with `put`. Raises `RecordTooLarge`, and whatever `last` raises.
    """
    parts, doomed = list(parts), [(kind, record_id(website_id, generation, name)) for kind, name in gone]

    async def run(*, as_text: bool) -> None:
        async def work(database: MongoDatabase, session: MongoSession) -> None:
            for collections, records in parts:
                made = collections.replacements(website_id, generation, records, as_text=as_text)
                for name, requests in made:
                    await database[name].bulk_write(requests, session=session)
                for kind, key in doomed:
                    if kind in collections.names:
                        await database[collections.names[kind]].delete_one({"_id": key}, session=session)
            await last(database, session)

        await connection.transaction(work)

    try:
        await run(as_text=False)
    except DocumentRefused:
        await run(as_text=True)


def _replacing(documents: Sequence[MongoDocument]) -> list[ReplaceOne[MongoDocument]]:
    """Return the requests that write documents whether or not they exist."""
    return [ReplaceOne({"_id": each["_id"]}, each, upsert=True) for each in documents]


def record_id(website_id: str, generation: int, name: str) -> dict[str, Any]:
    """Return the `_id` of a record, in the order in which MongoDB compares it."""
    return {"website_id": website_id, "generation": generation, "local_id": name}


def _split(batch: bytes) -> Iterator[bytes]:
    """Yield the documents of a batch: each begins with its length."""
    start = 0
    while start < len(batch):
        end = start + int.from_bytes(batch[start : start + 4], "little")
        yield batch[start:end]
        start = end


def split_raw(raw: RawRecord) -> tuple[str, Mapping[str, Any]]:
    """Return id and body of a record that `raw` gave."""
    document: Mapping[str, Any] = bson.decode(raw if isinstance(raw, bytes) else raw.encode())
    return str(document.get("local_id", "")), decode_body(document)


def local_id(document: MongoDocument) -> str:
    """Return the local id of a stored document; manual editing may have left anything in its place."""
    return str(document["_id"].get("local_id", ""))


def _of(website_id: str, generation: int) -> dict[str, Any]:
    return {"_id.website_id": website_id, "_id.generation": generation}


def _ends(record: KnowledgeRecord | EdgeRecord) -> dict[str, dict[str, str]]:
    if isinstance(record, KnowledgeRecord):
        return {}
    source, target = record.source, record.target
    return {
        "source": {"kind": source.kind, "local_id": source.local_id},
        "target": {"kind": target.kind, "local_id": target.local_id},
    }
