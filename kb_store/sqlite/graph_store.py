"""The graph store in SQLite: vertices and edges as rows. Paths are searched in a compiled view."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_store.knowledge_records import EdgeEnd, EdgeRecord, KnowledgeRecord, StoredBody, body_text
from kb_store.sqlite.database import PAGE, SqliteDatabase
from kb_store.sqlite.document_store import health_of, raw_rows, split_row
from kb_store.sqlite.record_changes import WRITE_EDGE, edge_row

if TYPE_CHECKING:
    from kb_store.ports import Counts, StoreHealth
    from kb_store.stored_contents import RawRecord, RawRecords


class SqliteGraphStore:
    """`GraphStore` on a `SqliteDatabase`, usually the one the documents are in."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database

    @property
    def address(self) -> str:
        """The path of the file."""
        return self.database.address

    async def prepare(self) -> None:
        """Open the file, which creates it and its tables."""
        await self.database.read(lambda _: None)

    async def close(self) -> None:
        """Close the file."""
        await self.database.close()

    async def health(self) -> StoreHealth:
        """Return whether the file can be read."""
        return await health_of(self.database)

    async def put_vertices(
        self, website_id: str, generation: int, records: Sequence[KnowledgeRecord]
    ) -> None:
        """Run one transaction."""
        rows = [(website_id, generation, r.kind, r.local_id, body_text(r.body)) for r in records]
        query = "INSERT OR REPLACE INTO vertices VALUES (?, ?, ?, ?, ?)"
        await self.database.execute_many(query, rows)

    async def put_edges(self, website_id: str, generation: int, records: Sequence[EdgeRecord]) -> None:
        """Run one transaction."""
        rows = [edge_row(website_id, generation, record) for record in records]
        await self.database.execute_many(WRITE_EDGE, rows)

    async def vertices(self, website_id: str, generation: int) -> AsyncIterator[KnowledgeRecord]:
        """Read in pages."""
        query = (
            "SELECT kind, local_id, body FROM vertices WHERE website_id = ? AND generation = ? "
            "AND (kind, local_id) > (?, ?) ORDER BY kind, local_id LIMIT ?"
        )
        async for kind, local_id, body in self._pages(query, website_id, generation):
            yield KnowledgeRecord(kind, local_id, StoredBody(body))

    async def edges(self, website_id: str, generation: int) -> AsyncIterator[EdgeRecord]:
        """Read in pages."""
        query = (
            "SELECT kind, local_id, source_kind, source_id, target_kind, target_id, body FROM edges "
            "WHERE website_id = ? AND generation = ? AND (kind, local_id) > (?, ?) "
            "ORDER BY kind, local_id LIMIT ?"
        )
        async for kind, local_id, *ends, body in self._pages(query, website_id, generation):
            source_kind, source, target_kind, target = ends
            yield EdgeRecord(
                kind, local_id, EdgeEnd(source_kind, source), EdgeEnd(target_kind, target), StoredBody(body)
            )

    async def raw_records(self, website_id: str, generation: int) -> RawRecords:
        """Read all in one transaction."""

        def work(db: sqlite3.Connection) -> RawRecords:
            return {
                **raw_rows(db, "vertices", website_id, generation),
                **raw_rows(db, "edges", website_id, generation),
            }

        return await self.database.read(work)

    def split(self, raw: RawRecord) -> tuple[str, Mapping[str, Any]]:
        """Cut at the first line break; the JSON is parsed when it is asked for."""
        return split_row(raw)

    async def count(self, website_id: str, generation: int) -> tuple[Counts, Counts]:
        """Count both in one consistent view."""

        def work(db: sqlite3.Connection) -> tuple[Counts, Counts]:
            values = (website_id, generation)
            vertices = (
                "SELECT kind, count(*) FROM vertices WHERE website_id = ? AND generation = ? GROUP BY kind"
            )
            edges = "SELECT kind, count(*) FROM edges WHERE website_id = ? AND generation = ? GROUP BY kind"
            return dict(db.execute(vertices, values)), dict(db.execute(edges, values))

        return await self.database.read(work)

    async def generations(self, website_id: str) -> frozenset[int]:
        """Return the generations of vertices and edges."""
        query = (
            "SELECT generation FROM vertices WHERE website_id = :website "
            "UNION SELECT generation FROM edges WHERE website_id = :website"
        )
        rows = await self.database.rows(query, {"website": website_id})
        return frozenset(row[0] for row in rows)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete edges first: the next collection still finds a vertex without edges."""
        for generation in generations:
            values = (website_id, generation)
            for query in (
                "DELETE FROM edges WHERE website_id = ? AND generation = ?",
                "DELETE FROM vertices WHERE website_id = ? AND generation = ?",
            ):
                await self.database.execute(query, values)

    async def _pages(self, query: str, website_id: str, generation: int) -> AsyncIterator[tuple[Any, ...]]:
        after = ("", "")
        while True:
            rows = await self.database.rows(query, (website_id, generation, *after, PAGE))
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return
            after = rows[-1][:2]
