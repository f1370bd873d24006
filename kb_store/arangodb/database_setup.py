"""Creates what `database_schema.py` defines and the database lacks; safe to repeat and to run concurrently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from arango.collection import StandardCollection
from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError

from kb_store.arangodb.connection import NO_SUCH_DATABASE, ArangoConnection
from kb_store.arangodb.database_schema import COLLECTIONS, GRAPHS
from kb_store.errors import StoreError
from kb_store.ports import StoreHealth

DUPLICATE_NAME, DUPLICATE_GRAPH = 1207, 1925
"""The answers for something that exists already."""

Row = dict[str, Any]
"""The driver's description of a collection or a graph."""


async def create_missing(connection: ArangoConnection) -> None:
    """Create the database, collections with validators, indexes and graphs. Raises `StoreUnavailable`."""
    if not await connection.run(database_exists):
        name = connection.where.database
        await connection.run(lambda _: _create_if_missing(connection.system().create_database, name))
    await connection.run(_create_missing)


async def health_of(connection: ArangoConnection) -> StoreHealth:
    """Return whether the server answers, its version, and whether everything is created."""
    try:
        version = await connection.run(lambda db: str(db.version()))
        if not await connection.run(database_exists):
            return StoreHealth(
                connection.address, ok=False, detail="no such database; run `periplus kb init`"
            )
        present = await connection.run(lambda db: {str(each["name"]) for each in _list(db.collections())})
    except StoreError as exc:
        return StoreHealth.down(connection.address, exc)
    missing = sorted({each.name for each in COLLECTIONS} - present)
    if missing:
        detail = f"ArangoDB {version}, collections missing: {', '.join(missing)}; run `periplus kb init`"
        return StoreHealth(connection.address, ok=False, detail=detail)
    return StoreHealth(connection.address, ok=True, detail=f"ArangoDB {version}")


def database_exists(db: StandardDatabase) -> bool:
    """Return whether the connection's database exists."""
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
            _create_if_missing(db.create_collection, wanted.name, edge=wanted.edge, schema=wanted.schema)
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
            _create_if_missing(db.create_graph, graph.name, edge_definitions=[definition])


def _renew_validator(collection: StandardCollection, schema: Row) -> None:
    properties = collection.properties()
    if isinstance(properties, dict) and properties.get("schema") != schema:
        collection.configure(schema=schema)


def _create_if_missing(create: Callable[..., object], *values: object, **options: object) -> None:
    """Create it, unless another process did so in the meantime."""
    try:
        create(*values, **options)
    except ArangoServerError as exc:
        if exc.error_code not in {DUPLICATE_NAME, DUPLICATE_GRAPH}:
            raise


def _list(answer: object) -> list[Row]:
    """Narrow the driver's types: they include its job queues, which return jobs."""
    return cast("list[Row]", answer)
