"""The graph store in MongoDB, for installations without ArangoDB. Paths are searched in a compiled view."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from kb_store.knowledge_records import EdgeEnd, EdgeRecord, KnowledgeRecord
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.database_schema import EDGES, VERTICES, graph_plans, prepare
from kb_store.mongodb.document_store import health_of
from kb_store.mongodb.record_codec import decode_body
from kb_store.mongodb.record_collections import RecordCollections, local_id, split_raw
from kb_store.ports import Counts, StoreHealth
from kb_store.store_setup import CollectionSetup
from kb_store.stored_contents import RawRecord, RawRecords


class MongoGraphStore:
    """`GraphStore` on a `MongoConnection`, usually the one the documents are in."""

    def __init__(self, connection: MongoConnection) -> None:
        self.connection = connection
        self._vertices = RecordCollections(connection, VERTICES)
        self._edges = RecordCollections(connection, EDGES)

    @property
    def address(self) -> str:
        """Hosts and database, without credentials."""
        return self.connection.address

    async def prepare(self) -> None:
        """Create missing collections, validators and indexes."""
        await prepare(self.connection, graph_plans())

    async def initialise(self) -> list[CollectionSetup]:
        """Like `prepare`, but check every index too; report what was created or found."""
        return await prepare(self.connection, graph_plans(), thorough=True)

    async def close(self) -> None:
        """Close the client."""
        await self.connection.close()

    async def health(self) -> StoreHealth:
        """Return whether the primary answers and the indexes exist."""
        return await health_of(self.connection, graph_plans())

    async def put_vertices(
        self, website_id: str, generation: int, records: Sequence[KnowledgeRecord]
    ) -> None:
        """Run one transaction."""
        await self._vertices.put(website_id, generation, records)

    async def put_edges(self, website_id: str, generation: int, records: Sequence[EdgeRecord]) -> None:
        """Run one transaction."""
        await self._edges.put(website_id, generation, records)

    async def vertices(self, website_id: str, generation: int) -> AsyncIterator[KnowledgeRecord]:
        """Read in pages, by kind and id."""
        async for kind, document in self._vertices.stored(website_id, generation):
            yield KnowledgeRecord(kind, local_id(document), decode_body(document))

    async def edges(self, website_id: str, generation: int) -> AsyncIterator[EdgeRecord]:
        """Read in pages, by kind and id."""
        async for kind, document in self._edges.stored(website_id, generation):
            source, target = (_node(document.get(end)) for end in ("source", "target"))
            yield EdgeRecord(kind, local_id(document), source, target, decode_body(document))

    async def raw_records(self, website_id: str, generation: int) -> RawRecords:
        """Read kind by kind."""
        vertices = await self._vertices.raw(website_id, generation)
        return {**vertices, **await self._edges.raw(website_id, generation)}

    def split(self, raw: RawRecord) -> tuple[str, Mapping[str, Any]]:
        """Read the BSON."""
        return split_raw(raw)

    async def count(self, website_id: str, generation: int) -> tuple[Counts, Counts]:
        """Count vertices and edges, by kind."""
        return (
            await self._vertices.count(website_id, generation),
            await self._edges.count(website_id, generation),
        )

    async def generations(self, website_id: str) -> frozenset[int]:
        """Return the generations of vertices and edges."""
        return await self._vertices.generations(website_id) | await self._edges.generations(website_id)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete edges first: the next collection still finds a vertex without edges."""
        await self._edges.drop(website_id, generations)
        await self._vertices.drop(website_id, generations)


def _node(stored: Any) -> EdgeEnd:
    """Return one end of an edge; manual editing may have left anything in its place."""
    ends = stored if isinstance(stored, Mapping) else {}
    return EdgeEnd(str(ends.get("kind", "")), str(ends.get("local_id", "")))
