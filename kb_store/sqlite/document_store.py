"""The document store in SQLite: records, leases, pins and active generations."""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kb_store.errors import LeaseLost, LoadConflict, StoreError
from kb_store.knowledge_records import KnowledgeRecord, StoredBody, body_text
from kb_store.ports import Counts, Generation, GenerationPin, LeaseOwner, LoadLease, StoreHealth
from kb_store.sqlite.database import PAGE, SqliteDatabase, to_text
from kb_store.sqlite.record_changes import find_rows, with_change, write_changes

if TYPE_CHECKING:
    from kb_store.ports import GraphStore
    from kb_store.record_changes import RecordChanges, RecordKey
    from kb_store.stored_contents import RawRecord, RawRecords

_ACTIVE = (
    "SELECT website_id, active_generation, loaded_at, schema_version, counts, records_under FROM websites "
    "WHERE active_generation IS NOT NULL"
)


class SqliteDocumentStore:
    """`DocumentStore` on a `SqliteDatabase`. `now` gives seconds since the epoch."""

    def __init__(self, database: SqliteDatabase, *, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    @property
    def address(self) -> str:
        """The path of the file."""
        return self._database.address

    async def prepare(self) -> None:
        """Open the file, which creates it and its tables."""
        await self._database.read(lambda _: None)

    async def close(self) -> None:
        """Close the file."""
        await self._database.close()

    async def health(self) -> StoreHealth:
        """Return whether the file can be read."""
        return await health_of(self._database)

    # -- active generations

    async def websites(self) -> Sequence[Generation]:
        """Read by website id."""
        return [_generation(*row) for row in await self._database.rows(_ACTIVE + " ORDER BY website_id")]

    async def active(self, website_id: str) -> Generation | None:
        """Read one indexed row."""
        rows = await self._database.rows(_ACTIVE + " AND website_id = ?", (website_id,))
        return _generation(*rows[0]) if rows else None

    # -- loading

    async def begin(
        self, website_id: str, owner: LeaseOwner, *, ttl: float, instead_of: str | None = None
    ) -> LoadLease:
        """Check and take the lease in one transaction."""
        token = secrets.token_hex(16)

        def work(db: sqlite3.Connection) -> LoadLease:
            now = self._now()
            held = _held(db, website_id, now)
            if held is not None and held.token != instead_of:
                raise LoadConflict(website_id, str(held.owner), free_in=held.expires_in)
            (generation,) = db.execute(
                "INSERT INTO websites (website_id, last_generation) VALUES (?, 1) "
                "ON CONFLICT (website_id) DO UPDATE SET last_generation = last_generation + 1 "
                "RETURNING last_generation",
                (website_id,),
            ).fetchone()
            db.execute(
                "UPDATE websites SET lease_token = ?, lease_generation = ?, lease_owner = ?, lease_expires = ? "
                "WHERE website_id = ?",
                (token, generation, to_text(dataclasses.asdict(owner)), now + ttl, website_id),
            )
            return LoadLease(website_id, generation, token, owner, ttl)

        return await self._database.write(work)

    async def holder(self, website_id: str) -> LoadLease | None:
        """Return the lease; an expired one has no holder."""
        return await self._database.read(lambda db: _held(db, website_id, self._now()))

    async def renew(self, lease: LoadLease, *, ttl: float) -> None:
        """Renew the lease. One that expired but was not taken is still valid."""
        await self._database.write(lambda db: self._hold(db, lease, ttl))

    async def put(self, lease: LoadLease, records: Sequence[KnowledgeRecord]) -> None:
        """Write, and renew the lease, in one transaction."""
        rows = [(lease.website_id, lease.generation, r.kind, r.local_id, body_text(r.body)) for r in records]

        def work(db: sqlite3.Connection) -> None:
            self._hold(db, lease, lease.expires_in)
            db.executemany("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)", rows)

        await self._database.write(work)

    async def commit(self, lease: LoadLease, generation: Generation) -> int | None:
        """Make the load visible in one statement."""

        def work(db: sqlite3.Connection) -> int | None:
            self._hold(db, lease, lease.expires_in)
            query = "SELECT active_generation FROM websites WHERE website_id = ?"
            (replaced,) = db.execute(query, (lease.website_id,)).fetchone()
            _activate(db, lease, generation)
            return None if replaced is None else int(replaced)

        return await self._database.write(work)

    # -- changing records in place (`kb_store.record_changes`)

    def keeps_graph(self, graph: GraphStore) -> bool:
        """Return whether the graph is in this file."""
        return getattr(graph, "database", None) is self._database

    async def find_records(
        self, website_id: str, stored: int, keys: Collection[RecordKey]
    ) -> list[KnowledgeRecord]:
        """Read all in one consistent view."""
        return await self._database.read(lambda db: find_rows(db, website_id, stored, keys))

    async def change(
        self, lease: LoadLease, base: Generation, changes: RecordChanges, generation: Generation
    ) -> bool:
        """Change the records and make the generation visible in one transaction."""

        def work(db: sqlite3.Connection) -> bool:
            self._hold(db, lease, lease.expires_in)
            active, under, changed = db.execute(
                "SELECT active_generation, records_under, changed FROM websites WHERE website_id = ?",
                (lease.website_id,),
            ).fetchone()
            if (active, under) != (base.generation, base.records_under):
                return False
            write_changes(db, lease.website_id, base.stored, changes)
            _activate(db, lease, generation)
            latest = to_text(with_change(changed, base.stored, lease.generation))
            db.execute("UPDATE websites SET changed = ? WHERE website_id = ?", (latest, lease.website_id))
            return True

        return await self._database.write(work)

    async def release(self, lease: LoadLease) -> None:
        """Delete only the own one."""
        query = (
            "UPDATE websites SET lease_token = NULL, lease_generation = NULL, lease_owner = NULL, "
            "lease_expires = NULL WHERE website_id = ? AND lease_token = ?"
        )
        await self._database.execute(query, (lease.website_id, lease.token))

    def _hold(self, db: sqlite3.Connection, lease: LoadLease, ttl: float) -> None:
        renewed = db.execute(
            "UPDATE websites SET lease_expires = ? WHERE website_id = ? AND lease_token = ?",
            (self._now() + ttl, lease.website_id, lease.token),
        )
        if renewed.rowcount != 1:
            raise LeaseLost(lease.website_id)

    # -- reading

    async def pin(self, website_id: str, *, ttl: float) -> GenerationPin | None:
        """Read and pin in one transaction, which also deletes expired pins."""
        token = secrets.token_hex(16)

        def work(db: sqlite3.Connection) -> GenerationPin | None:
            now = self._now()
            db.execute("DELETE FROM pins WHERE expires < ?", (now,))
            row = db.execute(
                "INSERT INTO pins SELECT ?, website_id, active_generation, ?, records_under FROM websites "
                "WHERE website_id = ? AND active_generation IS NOT NULL RETURNING generation, records_under",
                (token, now + ttl, website_id),
            ).fetchone()
            return None if row is None else GenerationPin(website_id, row[0], token, row[1])

        return await self._database.write(work)

    async def unpin(self, pin: GenerationPin) -> None:
        """Delete only the own one."""
        await self._database.execute("DELETE FROM pins WHERE token = ?", (pin.token,))

    async def holds(self, pin: GenerationPin) -> bool:
        """Read the active generation, the pin and what was changed from one consistent view."""
        query = (
            "SELECT active_generation, changed, EXISTS (SELECT 1 FROM pins WHERE token = ? AND expires >= ?) "
            "FROM websites WHERE website_id = ?"
        )
        rows = await self._database.rows(query, (pin.token, self._now(), pin.website_id))
        if not rows:
            return False
        active, changed, pinned = rows[0]
        last_change = json.loads(changed or "{}").get(str(pin.stored), 0)
        return bool(last_change <= pin.generation and (pinned or active == pin.generation))

    async def records(self, website_id: str, generation: int) -> AsyncIterator[KnowledgeRecord]:
        """Read in pages, each from its own consistent view: a committed generation does not change."""
        query = (
            "SELECT kind, local_id, body FROM documents WHERE website_id = ? AND generation = ? "
            "AND (kind, local_id) > (?, ?) ORDER BY kind, local_id LIMIT ?"
        )
        after = ("", "")
        while True:
            rows = await self._database.rows(query, (website_id, generation, *after, PAGE))
            for kind, local_id, body in rows:
                yield KnowledgeRecord(kind, local_id, StoredBody(body))
            if len(rows) < PAGE:
                return
            after = rows[-1][:2]

    async def raw_records(self, website_id: str, generation: int) -> RawRecords:
        """Read all in one transaction."""
        return await self._database.read(lambda db: raw_rows(db, "documents", website_id, generation))

    def split(self, raw: RawRecord) -> tuple[str, Mapping[str, Any]]:
        """Cut at the first line break; the JSON is parsed when it is asked for."""
        return split_row(raw)

    async def count(self, website_id: str, generation: int) -> Counts:
        """Use the primary key's index."""
        query = "SELECT kind, count(*) FROM documents WHERE website_id = ? AND generation = ? GROUP BY kind"
        rows = await self._database.rows(query, (website_id, generation))
        return dict(rows)

    # -- deleting

    async def generations(self, website_id: str) -> frozenset[int]:
        """Use the primary key's index."""
        query = "SELECT DISTINCT generation FROM documents WHERE website_id = ?"
        rows = await self._database.rows(query, (website_id,))
        return frozenset(row[0] for row in rows)

    async def in_use(self, website_id: str) -> frozenset[int]:
        """Read active generation, lease and pins from one consistent view."""
        query = (
            "SELECT active_generation FROM websites WHERE website_id = :website "
            "UNION SELECT records_under FROM websites WHERE website_id = :website "
            "UNION SELECT lease_generation FROM websites WHERE website_id = :website AND lease_expires >= :now "
            "UNION SELECT generation FROM pins WHERE website_id = :website AND expires >= :now "
            "UNION SELECT records_under FROM pins WHERE website_id = :website AND expires >= :now"
        )
        values = {"website": website_id, "now": self._now()}
        rows = await self._database.rows(query, values)
        return frozenset(row[0] for row in rows if row[0] is not None)

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete each in one transaction."""
        query = "DELETE FROM documents WHERE website_id = ? AND generation = ?"
        for generation in generations:
            await self._database.execute(query, (website_id, generation))


def raw_rows(
    db: sqlite3.Connection, table: str, website_id: str, generation: int
) -> dict[str, list[RawRecord]]:
    """Return the rows of a table, which is one of ours, by kind: id, line break, JSON."""
    where = f"FROM {table} WHERE website_id = ? AND generation = ?"
    kinds = db.execute(f"SELECT DISTINCT kind {where}", (website_id, generation)).fetchall()
    query = f"SELECT local_id || char(10) || body {where} AND kind = ? ORDER BY local_id"
    return {
        kind: list(map(itemgetter(0), db.execute(query, (website_id, generation, kind)))) for (kind,) in kinds
    }


def split_row(raw: RawRecord) -> tuple[str, StoredBody]:
    """Return id and body of a row that `raw_rows` gave."""
    local_id, _, text = str(raw).partition("\n")
    return local_id, StoredBody(text)


async def health_of(database: SqliteDatabase) -> StoreHealth:
    """Return whether the file can be opened and read."""
    try:
        detail = await database.read(_engine)
    except StoreError as exc:
        return StoreHealth.down(database.address, exc)
    return StoreHealth(database.address, ok=True, detail=detail)


def _engine(db: sqlite3.Connection) -> str:
    (mode,) = db.execute("PRAGMA journal_mode").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return f"SQLite {sqlite3.sqlite_version}, journal {mode}, format {version}"


def _held(db: sqlite3.Connection, website_id: str, now: float) -> LoadLease | None:
    row = db.execute(
        "SELECT lease_generation, lease_token, lease_owner, lease_expires FROM websites "
        "WHERE website_id = ? AND lease_expires >= ?",
        (website_id, now),
    ).fetchone()
    if row is None:
        return None
    generation, token, owner, expires = row
    return LoadLease(website_id, generation, token, LeaseOwner(**json.loads(owner)), expires - now)


def _activate(db: sqlite3.Connection, lease: LoadLease, generation: Generation) -> None:
    """Make a generation the active one, and release the lease."""
    counts = {"documents": generation.documents, "vertices": generation.vertices, "edges": generation.edges}
    db.execute(
        "UPDATE websites SET active_generation = ?, records_under = ?, loaded_at = ?, schema_version = ?, counts = ?, "
        "lease_token = NULL, lease_generation = NULL, lease_owner = NULL, lease_expires = NULL "
        "WHERE website_id = ?",
        (
            lease.generation,
            generation.records_under,
            generation.loaded_at.isoformat(),
            generation.schema_version,
            to_text(counts),
            lease.website_id,
        ),
    )


def _generation(
    website_id: str, generation: int, loaded_at: str, schema_version: int, counts: str, under: int | None
) -> Generation:
    loaded = datetime.fromisoformat(loaded_at)
    return Generation(
        website_id, generation, loaded, schema_version, **json.loads(counts), records_under=under
    )
