"""The graph store in MongoDB, for set-ups without ArangoDB. Ways are found in a compiled view."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from kb_store.initialising import Prepared
from kb_store.mongodb.bodies import unpack
from kb_store.mongodb.connection import Connection
from kb_store.mongodb.documents import health_of
from kb_store.mongodb.layout import EDGES, VERTICES, graph_plans, prepare
from kb_store.mongodb.records import RecordCollections, local_id
from kb_store.ports import Counts, Health
from kb_store.records import EdgeRecord, Node, Record


class MongoGraphStore:
    """`GraphStore` on a `Connection`, usually the one the documents are in."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._vertices = RecordCollections(connection, VERTICES)
        self._edges = RecordCollections(connection, EDGES)

    @property
    def address(self) -> str:
        """Hosts and database, without credentials."""
        return self.connection.address

    async def prepare(self) -> None:
        """Collections, validators and indexes that are missing."""
        await prepare(self.connection, graph_plans())

    async def initialise(self) -> list[Prepared]:
        """As `prepare`, looking at every index too; says what was made or found."""
        return await prepare(self.connection, graph_plans(), thorough=True)

    async def close(self) -> None:
        """Close the client."""
        await self.connection.close()

    async def health(self) -> Health:
        """Whether the primary answers, and whether the indexes are there."""
        return await health_of(self.connection, graph_plans())

    async def put_vertices(self, website_id: str, generation: int, records: Sequence[Record]) -> None:
        """One transaction."""
        await self._vertices.put(website_id, generation, records)

    async def put_edges(self, website_id: str, generation: int, records: Sequence[EdgeRecord]) -> None:
        """One transaction."""
        await self._edges.put(website_id, generation, records)

    async def vertices(self, website_id: str, generation: int) -> AsyncIterator[Record]:
        """In pages, by kind and id."""
        async for kind, document in self._vertices.stored(website_id, generation):
            yield Record(kind, local_id(document), unpack(document))

    async def edges(self, website_id: str, generation: int) -> AsyncIterator[EdgeRecord]:
        """In pages, by kind and id."""
        async for kind, document in self._edges.stored(website_id, generation):
            source, target = (_node(document.get(end)) for end in ("source", "target"))
            yield EdgeRecord(kind, local_id(document), source, target, unpack(document))

    async def count(self, website_id: str, generation: int) -> tuple[Counts, Counts]:
        """Vertices and edges, by kind."""
        return (
            await self._vertices.count(website_id, generation),
            await self._edges.count(website_id, generation),
        )

    async def generations(self, website_id: str) -> frozenset[int]:
        """Of vertices and edges."""
        return await self._vertices.generations(website_id) | await self._edges.generations(website_id)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Edges first: a vertex without edges is found again by the next collection."""
        await self._edges.drop(website_id, generations)
        await self._vertices.drop(website_id, generations)


def _node(stored: Any) -> Node:
    """One end of an edge; a hand may have left anything in its place."""
    ends = stored if isinstance(stored, Mapping) else {}
    return Node(str(ends.get("kind", "")), str(ends.get("local_id", "")))
