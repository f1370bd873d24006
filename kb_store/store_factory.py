"""Opens the stores that a configuration names. A new implementation is chosen here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kb_store.errors import StoreUnavailable
from kb_store.runs.audited_runs import AuditedRuns
from kb_store.sqlite import SqliteDatabase, SqliteDocumentStore, SqliteGraphStore
from kb_store.sqlite.learned_store import SqliteLearnedStore
from kb_store.sqlite.proposal_store import SqliteProposalStore

if TYPE_CHECKING:
    from kb_store.graph_queries import GraphQueries
    from kb_store.learned.learned_numbers import LearnedStore
    from kb_store.ports import DocumentStore, GraphStore
    from kb_store.proposals.proposal_store import ProposalStore
    from kb_store.runs.run_store import RunStore

DRIVERS = "pip install 'periplus[mongo-arango]'"


@dataclass(frozen=True, slots=True)
class Stores:
    """The knowledge stores of one configuration."""

    documents: DocumentStore
    graph: GraphStore
    learned: LearnedStore
    """In the database of the graph, whose edge weights depend on it; closed with it."""
    proposals: ProposalStore
    """In the database of the documents; closed with it."""
    queries: GraphQueries | None = None
    """Queries that the graph's server answers itself; None if it is not a graph database."""
    views_folder: Path | None = None
    """Where servers on these stores keep compiled views; in the data directory."""
    shared: dict[Hashable, object] = field(default_factory=dict, repr=False, compare=False)
    """What sessions on these stores have in common in this process; it ends with them."""

    async def close(self) -> None:
        """Close both databases."""
        await self.graph.close()
        await self.documents.close()


@asynccontextmanager
async def open_stores(
    data_dir: Path, *, mongodb_url: str | None = None, arangodb_url: str | None = None
) -> AsyncIterator[Stores]:
    """Yield the configured stores, prepared, and close them at the end.

    Documents are in MongoDB if its URL is given, else in a file of the data directory. The graph is in
    ArangoDB if its URL is given, else with the documents. Learned numbers are with the graph, because a
    count and the edge weights computed from it are written together. No message contains the URLs, which
    may hold passwords. Raises `StoreUnavailable` if a store cannot be reached or written.
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
    """Return the configured stores, not prepared. The caller closes them."""
    stores = _choose_mongodb(mongodb_url) if mongodb_url else _choose_sqlite(data_dir)
    stores = replace(stores, views_folder=data_dir / "views")
    if not arangodb_url:
        return stores
    graph, learned, queries = _choose_arangodb(arangodb_url)
    return replace(stores, graph=graph, learned=learned, queries=queries)


def _choose_sqlite(data_dir: Path) -> Stores:
    database = SqliteDatabase(data_dir / "knowledge.sqlite3")
    return Stores(
        SqliteDocumentStore(database),
        SqliteGraphStore(database),
        SqliteLearnedStore(database),
        SqliteProposalStore(database),
    )


def _choose_mongodb(url: str) -> Stores:
    try:
        from kb_store.mongodb import MongoConnection, MongoDocumentStore, MongoGraphStore  # noqa: PLC0415 - an extra
        from kb_store.mongodb.learned_store import MongoLearnedStore  # noqa: PLC0415
        from kb_store.mongodb.proposal_store import MongoProposalStore  # noqa: PLC0415
    except ImportError as exc:
        raise _missing_driver("mongodb://...", exc) from exc
    connection = MongoConnection(url)
    return Stores(
        MongoDocumentStore(connection),
        MongoGraphStore(connection),
        MongoLearnedStore(connection),
        MongoProposalStore(connection),
    )


def _choose_arangodb(url: str) -> tuple[GraphStore, LearnedStore, GraphQueries]:
    try:
        from kb_store.arangodb import ArangoGraphStore, ArangoLearnedStore, ArangoQueries  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise _missing_driver("arangodb", exc) from exc
    graph = ArangoGraphStore(url)
    return graph, ArangoLearnedStore(graph.connection), ArangoQueries(graph.connection)


@asynccontextmanager
async def open_runs(
    data_dir: Path, mongodb_url: str | None = None, *, audited: bool = True
) -> AsyncIterator[RunStore]:
    """Yield the configured run store, prepared, and close it at the end.

    `audited`: the audit log names new and ended runs. Raises `StoreUnavailable` if the store does not answer.
    """
    store = choose_runs(data_dir, mongodb_url)
    try:
        await store.prepare()
        yield cast("RunStore", AuditedRuns(store)) if audited else store
    finally:
        await store.close()


def choose_runs(data_dir: Path, mongodb_url: str | None = None) -> RunStore:
    """Return the configured run store, not prepared. The caller closes it."""
    if mongodb_url is None:
        from kb_store.sqlite.run_store import SqliteRunStore  # noqa: PLC0415 - decision 0140

        return SqliteRunStore(SqliteDatabase(data_dir / "knowledge.sqlite3"))
    try:
        from kb_store.mongodb.connection import MongoConnection  # noqa: PLC0415 - an extra
        from kb_store.mongodb.run_store import MongoRunStore  # noqa: PLC0415
    except ImportError as exc:
        raise _missing_driver("mongodb://...", exc) from exc
    return MongoRunStore(MongoConnection(mongodb_url))


def _missing_driver(address: str, error: ImportError) -> StoreUnavailable:
    return StoreUnavailable(address, f"its driver is not installed ({error.name})", fix=DRIVERS)
