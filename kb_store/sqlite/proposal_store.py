"""Proposals in SQLite: a proposal and a run's support in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING

from kb_store.proposals.proposal_store import in_order, parse_stored_proposal, with_supports
from kb_store.sqlite.database import SqliteDatabase, to_text

if TYPE_CHECKING:
    from kb_schema.fingerprints import Fingerprint
    from kb_schema.proposals import Proposal, ProposalStatus, Support

_MAKE = (
    "INSERT INTO proposals (website_id, proposal_id, status, decided_at, body) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_SAY = (
    "INSERT INTO proposal_supports (website_id, proposal_id, run_id, body) SELECT ?1, ?2, ?3, ?4 WHERE "
    "(SELECT count(*) FROM proposal_supports WHERE website_id = ?1 AND proposal_id = ?2) < ?5 "
    "ON CONFLICT DO NOTHING"
)
_DECIDE = "UPDATE proposals SET status = ?, decided_at = ? WHERE website_id = ? AND proposal_id = ?"
_KNOW = (
    "INSERT INTO element_fingerprints (website_id, screen_id, element_id, body) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (website_id, screen_id, element_id) DO UPDATE SET body = excluded.body "
    "WHERE element_fingerprints.body <> excluded.body"
)
_KNOWN = "SELECT screen_id, element_id, body FROM element_fingerprints WHERE website_id = ?"
_CHANGED = (
    "INSERT INTO proposal_revisions (website_id, revision) VALUES (?, 1) "
    "ON CONFLICT (website_id) DO UPDATE SET revision = revision + 1"
)
_WHERE = "WHERE (:website_id IS NULL OR website_id = :website_id) AND (:id IS NULL OR proposal_id = :id)"
_PROPOSALS = f"SELECT website_id, proposal_id, status, decided_at, body FROM proposals {_WHERE}"  # noqa: S608 - our own text
_COUNTS = "SELECT status, count(*) FROM proposals WHERE website_id = ? GROUP BY status"
_SUPPORTS = f"SELECT website_id, proposal_id, body FROM proposal_supports {_WHERE}"  # noqa: S608 - our own text


class SqliteProposalStore:
    """`ProposalStore` on a `SqliteDatabase`, usually the one the documents are in."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._ready = False

    async def prepare(self) -> None:
        """Create the tables. Every method calls it, so a new store can be used at once."""
        if not self._ready:
            await self._database.write(_create)
            self._ready = True

    async def support(self, proposal: Proposal, support: Support | None) -> bool:
        """See `ProposalStore`."""
        from kb_schema.proposals import MAX_SUPPORTS  # noqa: PLC0415 - decision 0140

        await self.prepare()
        key = (proposal.website_id, proposal.proposal_id)
        body = proposal.model_dump(mode="json", by_alias=True, exclude={"supports"})
        row = (*key, proposal.status, body["decided_at"], to_text(body))

        def work(db: sqlite3.Connection) -> bool:
            made = db.execute(_MAKE, row).rowcount
            inserted = 0
            if support is not None:
                values = (*key, support.run_id, to_text(support.model_dump(mode="json")), MAX_SUPPORTS)
                inserted = db.execute(_SAY, values).rowcount
            if made or inserted:
                db.execute(_CHANGED, key[:1]).close()
            return bool(inserted)

        return await self._database.write(work)

    async def decide(self, website_id: str, proposal_id: str, status: ProposalStatus, at: datetime) -> bool:
        """See `ProposalStore`."""
        await self.prepare()

        def work(db: sqlite3.Connection) -> bool:
            done = db.execute(_DECIDE, (status, at.isoformat(), website_id, proposal_id)).rowcount
            if done:
                db.execute(_CHANGED, (website_id,)).close()
            return bool(done)

        return await self._database.write(work)

    async def proposal(self, website_id: str, proposal_id: str) -> Proposal | None:
        """See `ProposalStore`."""
        found = await self._read(website_id, proposal_id)
        return found[0] if found else None

    async def proposals(self, website_id: str | None = None) -> Sequence[Proposal]:
        """See `ProposalStore`."""
        return in_order(await self._read(website_id, None))

    async def counts(self, website_id: str) -> Mapping[ProposalStatus, int]:
        """Count by the primary key, without creating tables."""
        return await self._database.counts("proposals", _COUNTS, (website_id,))

    async def put_fingerprint(
        self, website_id: str, screen_id: str, element_id: str, fingerprint: Fingerprint
    ) -> bool:
        """See `ProposalStore`."""
        await self.prepare()
        row = (website_id, screen_id, element_id, to_text(fingerprint.to_json()))

        def work(db: sqlite3.Connection) -> bool:
            done = db.execute(_KNOW, row).rowcount
            if done:
                db.execute(_CHANGED, row[:1]).close()
            return bool(done)

        return await self._database.write(work)

    async def fingerprints(self, website_id: str) -> Mapping[tuple[str, str], Fingerprint]:
        """See `ProposalStore`."""
        from kb_schema.fingerprints import Fingerprint  # noqa: PLC0415 - decision 0140

        await self.prepare()
        rows = await self._database.rows(_KNOWN, (website_id,))
        return {(screen, element): Fingerprint.model_validate_json(body) for screen, element, body in rows}

    async def revision(self, website_id: str) -> str:
        """Read one indexed row."""
        await self.prepare()
        query = "SELECT revision FROM proposal_revisions WHERE website_id = ?"
        rows = await self._database.rows(query, (website_id,))
        return str(rows[0][0]) if rows else "0"

    async def _read(self, website_id: str | None, proposal_id: str | None) -> list[Proposal]:
        from kb_schema.proposals import Support  # noqa: PLC0415 - decision 0140

        await self.prepare()
        values = {"website_id": website_id, "id": proposal_id}
        rows, support_rows = await self._database.read(
            lambda db: (db.execute(_PROPOSALS, values).fetchall(), db.execute(_SUPPORTS, values).fetchall())
        )
        supports: defaultdict[tuple[str, str], list[Support]] = defaultdict(list)
        for website, own_id, body in support_rows:
            supports[website, own_id].append(Support.model_validate_json(body))
        return [
            with_supports(
                parse_stored_proposal(json.loads(body) | {"status": status, "decided_at": decided_at}),
                supports[website, own_id],
            )
            for website, own_id, status, decided_at, body in rows
        ]


def _create(db: sqlite3.Connection) -> None:
    """Create tables statement by statement: `executescript` would end the transaction."""
    script = resources.files("kb_store.sqlite").joinpath("proposals.sql").read_text(encoding="utf-8")
    statements = "\n".join(line.partition("--")[0] for line in script.splitlines()).split(";")
    for statement in statements:
        db.execute(statement).close()
