"""Every store of learned numbers, opened by name: in memory, in SQLite, in MongoDB, beside edges in ArangoDB."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kb_store.arangodb import ArangoGraphStore, ArangoLearnedStore
from kb_store.learned.memory_learned_store import MemoryLearnedStore
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.learned_store import MongoLearnedStore
from kb_store.sqlite import SqliteDatabase
from kb_store.sqlite.learned_store import SqliteLearnedStore
from tests.support.arango_loopback import loopback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest

    from kb_store.learned.learned_numbers import LearnedStore

NAMES = ("memory", "embedded", "mongodb", "arangodb-loopback")


@asynccontextmanager
async def opened(
    name: str, request: pytest.FixtureRequest, folder: Path, **options: object
) -> AsyncIterator[LearnedStore]:
    """An empty store of that name. `options` are its class's own, but for the one in memory."""
    if name == "memory":
        yield MemoryLearnedStore()
    elif name == "embedded":
        database = SqliteDatabase(folder / "knowledge.sqlite3")
        yield SqliteLearnedStore(database, **options)
        await database.close()
    elif name == "mongodb":
        connection = MongoConnection(request.getfixturevalue("emptied_mongodb_url"))
        yield MongoLearnedStore(connection, **options)
        await connection.close()
    else:
        with loopback() as server:
            graph = ArangoGraphStore(server.url())
            await graph.prepare()
            yield ArangoLearnedStore(graph.connection, **options)
            await graph.close()
