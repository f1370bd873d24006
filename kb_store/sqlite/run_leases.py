"""The leases of runs in SQLite: table `run_leases` of `runs.sql`."""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

from kb_store.ports import LeaseOwner
from kb_store.runs.run_leases import FORGOTTEN_AFTER_S, RunLease, RunLeaseConflict

if TYPE_CHECKING:
    from kb_store.sqlite.database import SqliteDatabase


class SqliteRunLeases:
    """`RunLeases` on a `SqliteDatabase`. `now` gives seconds since the epoch."""

    def __init__(self, database: SqliteDatabase, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def take(
        self, run_id: str, owner: LeaseOwner, *, ttl: float, instead_of: str | None = None
    ) -> RunLease:
        """Check and take the lease in one transaction."""
        token = secrets.token_hex(16)

        def work(db: sqlite3.Connection) -> RunLease:
            now = self._now()
            held = _held(db, run_id, now)
            if held is not None and held.token != instead_of:
                raise RunLeaseConflict(run_id, str(held.owner), free_in=held.expires_in)
            db.execute("DELETE FROM run_leases WHERE expires < ?", (now - FORGOTTEN_AFTER_S,))
            db.execute(
                "INSERT OR REPLACE INTO run_leases (run_id, token, owner, expires) VALUES (?, ?, ?, ?)",
                (run_id, token, json.dumps(dataclasses.asdict(owner)), now + ttl),
            )
            return RunLease(run_id, token, owner, ttl)

        return await self._database.write(work)

    async def holder(self, run_id: str) -> RunLease | None:
        """Return the lease; an expired one has no holder."""
        return await self._database.read(lambda db: _held(db, run_id, self._now()))

    async def renew(self, lease: RunLease, *, ttl: float) -> None:
        """Run one statement."""

        def work(db: sqlite3.Connection) -> None:
            now = self._now()
            renewed = db.execute(
                "UPDATE run_leases SET expires = ? WHERE run_id = ? AND token = ?",
                (now + ttl, lease.run_id, lease.token),
            )
            if renewed.rowcount != 1:
                held = _held(db, lease.run_id, now)
                holder = "another process, which took over" if held is None else str(held.owner)
                raise RunLeaseConflict(lease.run_id, holder, free_in=0 if held is None else held.expires_in)

        await self._database.write(work)

    async def release(self, lease: RunLease) -> None:
        """Delete only the own one."""
        query = "DELETE FROM run_leases WHERE run_id = ? AND token = ?"
        await self._database.execute(query, (lease.run_id, lease.token))


def _held(db: sqlite3.Connection, run_id: str, now: float) -> RunLease | None:
    query = "SELECT token, owner, expires FROM run_leases WHERE run_id = ? AND expires >= ?"
    row = db.execute(query, (run_id, now)).fetchone()
    if row is None:
        return None
    token, owner, expires = row
    return RunLease(run_id, token, LeaseOwner(**json.loads(owner)), expires - now)
