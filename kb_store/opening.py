"""Which stores a configuration asks for. New implementations are chosen here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kb_store.embedded import Database, EmbeddedDocumentStore, EmbeddedGraphStore
from kb_store.ports import DocumentStore, GraphStore


@dataclass(frozen=True, slots=True)
class Stores:
    """The two stores that belong together."""

    documents: DocumentStore
    graph: GraphStore

    async def close(self) -> None:
        """Close both."""
        await self.graph.close()
        await self.documents.close()


@asynccontextmanager
async def open_stores(data_dir: Path) -> AsyncIterator[Stores]:
    """The embedded stores of a data directory, made ready, closed at the end.

    Raises `StoreUnavailable` where the file cannot be opened or written.
    """
    database = Database(data_dir / "knowledge.sqlite3")
    stores = Stores(EmbeddedDocumentStore(database), EmbeddedGraphStore(database))
    try:
        await stores.documents.prepare()
        await stores.graph.prepare()
        yield stores
    finally:
        await stores.close()
