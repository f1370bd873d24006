"""Which stores a configuration asks for. New implementations are chosen here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kb_store.embedded import Database, EmbeddedDocumentStore, EmbeddedGraphStore
from kb_store.embedded.learned import EmbeddedLearnedStore
from kb_store.embedded.proposals import EmbeddedProposalStore
from kb_store.errors import StoreUnavailable
from kb_store.graph_queries import GraphQueries
from kb_store.learned import LearnedStore
from kb_store.ports import DocumentStore, GraphStore
from kb_store.proposals import ProposalStore

DRIVERS = "pip install 'periplus[mongo-arango]'"


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores that belong together."""

    documents: DocumentStore
    graph: GraphStore
    learned: LearnedStore
    """Beside the edges, whose weights rest on it, and closed with them."""
    proposals: ProposalStore
    """Beside the documents, and closed with them."""
    queries: GraphQueries | None = None
    """What the graph's own server answers by itself; None: it is no graph database."""

    async def close(self) -> None:
        """Close both."""
        await self.graph.close()
        await self.documents.close()


@asynccontextmanager
async def open_stores(
    data_dir: Path, *, mongodb_url: str | None = None, arangodb_url: str | None = None
) -> AsyncIterator[Stores]:
    """The stores of a configuration, made ready, closed at the end.

    Documents are in MongoDB where it is named, else in the data directory's file; the graph is in
    ArangoDB where that is named, else beside the documents; learned numbers are where the graph is
    (DESIGN 4: weights that queries sort by are recomputed with the count). The URLs may hold passwords: they are
    kept out of every message. Raises `StoreUnavailable` where a store cannot be reached or written.
    """
    stores = choose_stores(data_dir, mongodb_url=mongodb_url, arangodb_url=arangodb_url)
    try:
        await stores.documents.prepare()
        await stores.graph.prepare()
        yield stores
    finally:
        await stores.close()


def choose_stores(
    data_dir: Path, *, mongodb_url: str | None = None, arangodb_url: str | None = None
) -> Stores:
    """As `open_stores`, not yet made ready; the caller closes them."""
    stores = _in_mongodb(mongodb_url) if mongodb_url else _embedded(data_dir)
    if not arangodb_url:
        return stores
    graph, learned, queries = _in_arangodb(arangodb_url)
    return replace(stores, graph=graph, learned=learned, queries=queries)


def _embedded(data_dir: Path) -> Stores:
    database = Database(data_dir / "knowledge.sqlite3")
    return Stores(
        EmbeddedDocumentStore(database),
        EmbeddedGraphStore(database),
        EmbeddedLearnedStore(database),
        EmbeddedProposalStore(database),
    )


def _in_mongodb(url: str) -> Stores:
    try:
        from kb_store.mongodb import Connection, MongoDocumentStore, MongoGraphStore  # noqa: PLC0415 - an extra
        from kb_store.mongodb.learned import MongoLearnedStore  # noqa: PLC0415
        from kb_store.mongodb.proposals import MongoProposalStore  # noqa: PLC0415
    except ImportError as exc:
        raise StoreUnavailable(
            "mongodb://...", f"its driver is not installed ({exc.name})", fix=DRIVERS
        ) from exc
    connection = Connection(url)
    return Stores(
        MongoDocumentStore(connection),
        MongoGraphStore(connection),
        MongoLearnedStore(connection),
        MongoProposalStore(connection),
    )


def _in_arangodb(url: str) -> tuple[GraphStore, LearnedStore, GraphQueries]:
    try:
        from kb_store.arangodb import ArangoGraphStore, ArangoLearnedStore, ArangoQueries  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise StoreUnavailable("arangodb", f"its driver is not installed ({exc.name})", fix=DRIVERS) from exc
    graph = ArangoGraphStore(url)
    return graph, ArangoLearnedStore(graph.connection), ArangoQueries(graph.connection)
