"""The graph store in ArangoDB: one collection per kind, the generation in every key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence

from arango.database import StandardDatabase, TransactionDatabase

from kb_schema.graph_documents import DEFAULT_PRIORITY
from kb_store.arangodb import aql
from kb_store.arangodb.connection import ArangoConnection, query
from kb_store.arangodb.database_setup import create_missing, health_of
from kb_store.arangodb.document_keys import COLLECTION_OF_EDGE, COLLECTION_OF_VERTEX, id_of, key_of
from kb_store.arangodb.edge_weights import READ_TO_WEIGH, WEIGHED, update_edge_weights
from kb_store.arangodb.record_codec import Row, edge_row, to_edge, to_record, vertex_row
from kb_store.arangodb.server_address import ArangoAddress
from kb_store.knowledge_records import EdgeRecord, KnowledgeRecord
from kb_store.ports import Counts, StoreHealth

PAGE = 500
"""The number of rows fetched at a time."""


class ArangoGraphStore:
    """`GraphStore` on a database of an ArangoDB 3.12, given as `http(s)://user:password@host:8529/db`."""

    def __init__(self, url: str) -> None:
        self.connection = ArangoConnection(ArangoAddress.of(url))

    @property
    def address(self) -> str:
        """The host and the database."""
        return self.connection.address

    async def prepare(self) -> None:
        """Create missing databases, collections, validators, indexes and graphs."""
        await create_missing(self.connection)

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        await self.connection.close()

    async def health(self) -> StoreHealth:
        """Return whether the server answers, and its version."""
        return await health_of(self.connection)

    # -- writing

    async def put_vertices(
        self, website_id: str, generation: int, records: Sequence[KnowledgeRecord]
    ) -> None:
        """Write vertices in one stream transaction."""
        rows: dict[str, list[Row]] = defaultdict(list)
        for record in records:
            rows[COLLECTION_OF_VERTEX[record.kind]].append(vertex_row(website_id, generation, record))
        if rows:
            await self.connection.transact(sorted(rows), [], lambda db: _replace(db, rows))

    async def put_edges(self, website_id: str, generation: int, records: Sequence[EdgeRecord]) -> None:
        """Write edges and their weights in one stream transaction. Groups must have been written before."""
        if not records:
            return
        groups = {
            key_of(website_id, generation, r.source.local_id) for r in records if r.kind == "global_recovery"
        }
        screens = {
            id_of(website_id, generation, r.source)
            for r in records
            if r.kind in {"transition", "group_membership"}
        }

        def work(db: TransactionDatabase) -> None:
            priorities = _priorities(db, groups)
            rows: dict[str, list[Row]] = defaultdict(list)
            for record in records:
                priority = priorities.get(
                    key_of(website_id, generation, record.source.local_id), DEFAULT_PRIORITY
                )
                row = edge_row(website_id, generation, record, priority)
                rows[COLLECTION_OF_EDGE[record.kind]].append(row)
            _replace(db, rows)
            update_edge_weights(db, screens=screens, groups={f"screen_groups/{key}" for key in groups})

        write = sorted({COLLECTION_OF_EDGE[r.kind] for r in records} | {*WEIGHED})
        read = sorted({"screen_groups", *READ_TO_WEIGH} - {*write})
        await self.connection.transact(write, read, work)

    # -- reading

    async def vertices(self, website_id: str, generation: int) -> AsyncIterator[KnowledgeRecord]:
        """Yield vertices, read in pages."""
        for _, collection in sorted(COLLECTION_OF_VERTEX.items()):
            async for row in self._pages(collection, website_id, generation):
                yield to_record(self.address, row)

    async def edges(self, website_id: str, generation: int) -> AsyncIterator[EdgeRecord]:
        """Yield edges, read in pages."""
        for _, collection in sorted(COLLECTION_OF_EDGE.items()):
            async for row in self._pages(collection, website_id, generation):
                yield to_edge(self.address, row)

    async def count(self, website_id: str, generation: int) -> tuple[Counts, Counts]:
        """Count one collection after the other: a generation that is read does not change."""
        vertices = await self._counted(COLLECTION_OF_VERTEX.items(), website_id, generation)
        return vertices, await self._counted(COLLECTION_OF_EDGE.items(), website_id, generation)

    async def generations(self, website_id: str) -> frozenset[int]:
        """Return the generations of vertices and edges."""
        found: set[int] = set()
        for collection in (*COLLECTION_OF_VERTEX.values(), *COLLECTION_OF_EDGE.values()):
            found |= set(
                await self.connection.query(aql.GENERATIONS, c_collection=collection, website=website_id)
            )
        return frozenset(found)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete edges first: the next collection still finds a vertex without edges."""
        doomed = sorted(generations)
        for collection in (*COLLECTION_OF_EDGE.values(), *COLLECTION_OF_VERTEX.values()) if doomed else ():
            await self.connection.write(_dropping(collection, website_id, doomed))

    async def _counted(
        self, kinds: Iterable[tuple[str, str]], website_id: str, generation: int
    ) -> dict[str, int]:
        found = {}
        for kind, collection in sorted(kinds):
            (rows,) = await self.connection.query(
                aql.COUNT, c_collection=collection, website=website_id, generation=generation
            )
            if rows:
                found[kind] = int(rows)
        return found

    async def _pages(self, collection: str, website_id: str, generation: int) -> AsyncIterator[Row]:
        after = ""
        while True:
            rows = await self.connection.query(
                aql.PAGE,
                c_collection=collection,
                website=website_id,
                generation=generation,
                after=after,
                page=PAGE,
            )
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return
            after = rows[-1]["sort_key"]


def _replace(db: TransactionDatabase, rows: dict[str, list[Row]]) -> None:
    """Insert or replace rows; the first refused document fails the whole batch."""
    for collection, documents in sorted(rows.items()):
        db.collection(collection).insert_many(
            documents, overwrite_mode="replace", raise_on_document_error=True
        )


def _dropping(collection: str, website_id: str, doomed: list[int]) -> Callable[[StandardDatabase], object]:
    return lambda db: query(db, aql.DROP, c_collection=collection, website=website_id, generations=doomed)


def _priorities(db: TransactionDatabase, groups: Collection[str]) -> dict[str, int]:
    """Return the priority that each of these groups (by key) gives its recovery edges."""
    if not groups:
        return {}
    found = query(db, aql.GROUP_PRIORITIES, c_groups="screen_groups", keys=sorted(groups))
    return {row["key"]: row["priority"] for row in found}
