"""The graph store in ArangoDB: one collection per kind, the generation in every key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from typing import cast

from arango.collection import StandardCollection
from arango.database import StandardDatabase, TransactionDatabase
from arango.exceptions import ArangoServerError

from kb_schema.graph import DEFAULT_PRIORITY
from kb_store.arangodb import aql
from kb_store.arangodb.address import ArangoAddress
from kb_store.arangodb.connection import NO_SUCH_DATABASE, Connection, query
from kb_store.arangodb.keys import COLLECTION_OF_EDGE, COLLECTION_OF_VERTEX, id_of, key_of
from kb_store.arangodb.layout import COLLECTIONS, GRAPHS
from kb_store.arangodb.rows import Row, edge_row, to_edge, to_record, vertex_row
from kb_store.arangodb.weights import ENOUGH_DURATIONS, LEAST_RELIABILITY, NO_RECOVERY_MS, PRIOR_OUTCOMES
from kb_store.errors import StoreError
from kb_store.ports import Counts, Health
from kb_store.records import EdgeRecord, Record

PAGE = 500
"""Rows fetched at a time."""

DUPLICATE_NAME, DUPLICATE_GRAPH = 1207, 1925
"""What creating something again is answered with."""


class ArangoGraphStore:
    """`GraphStore` on a database of an ArangoDB 3.12, given as `http(s)://user:password@host:8529/db`."""

    def __init__(self, url: str) -> None:
        self.connection = Connection(ArangoAddress.of(url))

    @property
    def address(self) -> str:
        """The host and the database."""
        return self.connection.address

    async def prepare(self) -> None:
        """Create the database, collections, validators, indexes and graphs that are missing."""
        if not await self.connection.run(_database_exists):
            name = self.connection.where.database
            await self.connection.run(lambda _: _unless_there(self.connection.system().create_database, name))
        await self.connection.run(_create_missing)

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        await self.connection.close()

    async def health(self) -> Health:
        """Whether the server answers, and its version."""
        try:
            version = await self.connection.run(lambda db: str(db.version()))
            if not await self.connection.run(_database_exists):
                return Health(self.address, ok=False, detail="no such database; run `periplus kb init`")
        except StoreError as exc:
            return Health(self.address, ok=False, detail=str(exc))
        return Health(self.address, ok=True, detail=f"ArangoDB {version}")

    # -- writing

    async def put_vertices(self, website_id: str, generation: int, records: Sequence[Record]) -> None:
        """One stream transaction."""
        rows: dict[str, list[Row]] = defaultdict(list)
        for record in records:
            rows[COLLECTION_OF_VERTEX[record.kind]].append(vertex_row(website_id, generation, record))
        if rows:
            await self.connection.transact(sorted(rows), [], lambda db: _replace(db, rows))

    async def put_edges(self, website_id: str, generation: int, records: Sequence[EdgeRecord]) -> None:
        """One stream transaction, weights included. Groups must have been written before."""
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
            touched = screens | set(_screens_of(db, groups))
            if touched:
                weigh(db, touched)

        write = sorted({COLLECTION_OF_EDGE[r.kind] for r in records} | {"transitions"})
        read = sorted(
            {"screen_groups", "group_membership", "global_recovery", "learned_transitions"} - {*write}
        )
        await self.connection.transact(write, read, work)

    # -- reading

    async def vertices(self, website_id: str, generation: int) -> AsyncIterator[Record]:
        """In pages."""
        for _, collection in sorted(COLLECTION_OF_VERTEX.items()):
            async for row in self._pages(collection, website_id, generation):
                yield to_record(self.address, row)

    async def edges(self, website_id: str, generation: int) -> AsyncIterator[EdgeRecord]:
        """In pages."""
        for _, collection in sorted(COLLECTION_OF_EDGE.items()):
            async for row in self._pages(collection, website_id, generation):
                yield to_edge(self.address, row)

    async def count(self, website_id: str, generation: int) -> tuple[Counts, Counts]:
        """One collection after the other: a generation that is read does not change."""
        vertices = await self._counted(COLLECTION_OF_VERTEX.items(), website_id, generation)
        return vertices, await self._counted(COLLECTION_OF_EDGE.items(), website_id, generation)

    async def generations(self, website_id: str) -> frozenset[int]:
        """Of vertices and edges."""
        found: set[int] = set()
        for collection in (*COLLECTION_OF_VERTEX.values(), *COLLECTION_OF_EDGE.values()):
            found |= set(
                await self.connection.query(aql.GENERATIONS, c_collection=collection, website=website_id)
            )
        return frozenset(found)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Edges first: a vertex without edges is found again by the next collection."""
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
                aql.PAGE, c_collection=collection, website=website_id, generation=generation, after=after,
                page=PAGE,
            )  # fmt: skip
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return
            after = rows[-1]["sort_key"]


def weigh(db: TransactionDatabase, screens: Iterable[str]) -> None:
    """Recompute the numbers of every transition that leaves these screens, given by `_id`."""
    query(
        db,
        aql.WEIGH,
        screens=sorted(screens),
        c_transitions="transitions",
        c_memberships="group_membership",
        c_recoveries="global_recovery",
        c_learned="learned_transitions",
        prior=PRIOR_OUTCOMES,
        enough=ENOUGH_DURATIONS,
        least=LEAST_RELIABILITY,
        no_recovery_ms=NO_RECOVERY_MS,
    )


def _replace(db: TransactionDatabase, rows: dict[str, list[Row]]) -> None:
    """Insert or replace; the first document that is refused fails the whole batch."""
    for collection, documents in sorted(rows.items()):
        db.collection(collection).insert_many(
            documents, overwrite_mode="replace", raise_on_document_error=True
        )


def _dropping(collection: str, website_id: str, doomed: list[int]) -> Callable[[StandardDatabase], object]:
    return lambda db: query(db, aql.DROP, c_collection=collection, website=website_id, generations=doomed)


def _priorities(db: TransactionDatabase, groups: Collection[str]) -> dict[str, int]:
    """What each of these groups (by key) gives its recovery edges."""
    if not groups:
        return {}
    found = query(db, aql.GROUP_PRIORITIES, c_groups="screen_groups", keys=sorted(groups))
    return {row["key"]: row["priority"] for row in found}


def _screens_of(db: TransactionDatabase, groups: Collection[str]) -> list[str]:
    """The screens (by id) of these groups (by key)."""
    if not groups:
        return []
    ids = [f"screen_groups/{key}" for key in sorted(groups)]
    return [
        str(found) for found in query(db, aql.SCREENS_OF_GROUPS, c_memberships="group_membership", groups=ids)
    ]


# -- what is created


def _database_exists(db: StandardDatabase) -> bool:
    try:
        db.properties()
    except ArangoServerError as exc:
        if exc.error_code == NO_SUCH_DATABASE:
            return False
        raise
    return True


def _create_missing(db: StandardDatabase) -> None:
    present = {each["name"] for each in _list(db.collections())}
    for wanted in COLLECTIONS:
        if wanted.name not in present:
            _unless_there(db.create_collection, wanted.name, edge=wanted.edge, schema=wanted.schema)
        collection = db.collection(wanted.name)
        if wanted.name in present:
            _renew_validator(collection, wanted.schema)
        for index in wanted.indexes:
            collection.add_index(index.to_json())
    graphs = {each["name"] for each in _list(db.graphs())}
    for graph in GRAPHS:
        if graph.name not in graphs:
            definition = {
                "edge_collection": graph.edges,
                "from_vertex_collections": [graph.source],
                "to_vertex_collections": [graph.target],
            }
            _unless_there(db.create_graph, graph.name, edge_definitions=[definition])


def _renew_validator(collection: StandardCollection, schema: Row) -> None:
    properties = collection.properties()
    if isinstance(properties, dict) and properties.get("schema") != schema:
        collection.configure(schema=schema)


def _unless_there(create: Callable[..., object], *values: object, **options: object) -> None:
    """Create it; somebody who created it in between did what was wanted."""
    try:
        create(*values, **options)
    except ArangoServerError as exc:
        if exc.error_code not in {DUPLICATE_NAME, DUPLICATE_GRAPH}:
            raise


def _list(answer: object) -> list[Row]:
    """The driver's types also speak of its job queues, which answer with jobs; these do not."""
    return cast("list[Row]", answer)
