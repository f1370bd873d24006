"""Learned numbers in SQLite: an outcome's id and its count in one transaction, the count in one statement."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

from kb_store.learned.change_cursor import ChangeCursor
from kb_store.learned.learned_numbers import (
    DEFAULT_POLICY,
    SUBJECT_KINDS,
    CountedId,
    DecayPolicy,
    LearnedNumbers,
    LearnedSubject,
    OriginShares,
    OutcomeReceipt,
    StoredTally,
    SubjectKind,
    Tally,
    compute_observed,
    day_of,
    element_stats,
    get_expiry,
    is_countable,
    merge_buckets,
    new_origin,
    recovery_stats,
    subject_of,
    tally_of,
    transition_stats,
    utc_now,
)
from kb_store.learned.origin_shares import add_shares, from_json, to_json
from kb_store.sqlite.database import SqliteDatabase, list_missing_columns, to_text
from kb_store.sqlite.document_store import health_of

if TYPE_CHECKING:
    from kb_schema.observed_outcomes import (
        ElementStats,
        ElementUse,
        ObservedStats,
        Outcome,
        RecoveryStats,
        TransitionStats,
    )
    from kb_store.ports import StoreHealth

PAGE = 500
"""The number of rows that iterators fetch at a time."""

_FORGET_IDS = "DELETE FROM learned_outcomes WHERE expires < ?"

_ONCE = (
    "INSERT INTO learned_outcomes (website_id, outcome_id, expires) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
)

_COUNT = """
INSERT INTO learned (website_id, kind, name, day, succeeded, failed, seen, timed, timed_weight, timed_sum, buckets,
                     revision, origin)
VALUES (:website_id, :kind, :name, :day, :succeeded, :failed, :seen, :timed, :timed_weight, :timed_sum, :buckets,
        :revision, :origin)
ON CONFLICT (website_id, kind, name) DO UPDATE SET
    day = max(day, excluded.day),
    succeeded = succeeded * decay(excluded.day - day) + excluded.succeeded * decay(day - excluded.day),
    failed = failed * decay(excluded.day - day) + excluded.failed * decay(day - excluded.day),
    seen = seen + excluded.seen,
    timed = timed + excluded.timed,
    timed_weight = timed_weight * decay(excluded.day - day) + excluded.timed_weight * decay(day - excluded.day),
    timed_sum = timed_sum * decay(excluded.day - day) + excluded.timed_sum * decay(day - excluded.day),
    buckets = merge_buckets(buckets, decay(excluded.day - day), excluded.buckets, decay(day - excluded.day)),
    revision = excluded.revision
"""

_PUT = """
INSERT INTO learned (website_id, kind, name, day, succeeded, failed, seen, timed, timed_weight, timed_sum, buckets,
                     revision, origin, copied)
VALUES (:website_id, :kind, :name, :day, :succeeded, :failed, :seen, :timed, :timed_weight, :timed_sum, :buckets,
        :revision, :origin, :copied)
ON CONFLICT (website_id, kind, name) DO UPDATE SET
    day = excluded.day, succeeded = excluded.succeeded, failed = excluded.failed, seen = excluded.seen,
    timed = excluded.timed, timed_weight = excluded.timed_weight, timed_sum = excluded.timed_sum,
    buckets = excluded.buckets, revision = excluded.revision, copied = excluded.copied
"""

_CHANGED = (
    "INSERT INTO learned_revisions (website_id, revision) VALUES (?, 1) "
    "ON CONFLICT (website_id) DO UPDATE SET revision = revision + 1 RETURNING revision"
)

_FORGOTTEN = "UPDATE learned_revisions SET forgotten = forgotten + 1 WHERE website_id = ?"

_STATE = "SELECT revision, forgotten FROM learned_revisions WHERE website_id = ?"

_NUMBERS = "name, day, succeeded, failed, seen, timed, timed_weight, timed_sum, buckets"

_TALLIES = f"SELECT {_NUMBERS} FROM learned WHERE website_id = ? AND kind = ? ORDER BY name"  # noqa: S608 - ours

_COUNTS = "SELECT kind, count(*) FROM learned WHERE website_id = ? GROUP BY kind"

_CHANGES = (
    f"SELECT kind, {_NUMBERS} FROM learned WHERE website_id = ? AND kind IN ('transition', 'recovery') "  # noqa: S608
    "AND revision > ? ORDER BY name"
)

_KEPT = (
    f"SELECT {_NUMBERS}, origin, copied FROM learned WHERE website_id = ? AND kind = ? AND name > ? "  # noqa: S608
    "ORDER BY name LIMIT ?"
)

_ONE = f"SELECT {_NUMBERS}, origin, copied FROM learned WHERE website_id = ? AND kind = ? AND name = ?"  # noqa: S608

_IDS = (
    "SELECT outcome_id, expires FROM learned_outcomes WHERE website_id = ? AND expires > ? "
    "AND outcome_id > ? ORDER BY outcome_id LIMIT ?"
)

_ADDED = {
    "learned": {
        "revision": "ALTER TABLE learned ADD COLUMN revision INTEGER NOT NULL DEFAULT 0",
        "origin": "ALTER TABLE learned ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
        "copied": "ALTER TABLE learned ADD COLUMN copied TEXT NOT NULL DEFAULT '{}'",
    },
    "learned_revisions": {
        "forgotten": "ALTER TABLE learned_revisions ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0",
    },
}
"""Columns that files of older versions lack."""


class SqliteLearnedStore:
    """`LearnedStore` on a `SqliteDatabase`, usually the one the documents are in."""

    def __init__(
        self,
        database: SqliteDatabase,
        *,
        policy: DecayPolicy = DEFAULT_POLICY,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._policy = policy
        self._now = now
        self._ready = False

    @property
    def address(self) -> str:
        """The path of the file."""
        return self._database.address

    async def prepare(self) -> None:
        """Create the tables. Every method calls it, so a new store can be used at once."""
        if not self._ready:
            await self._database.write(_create)
            self._ready = True

    async def health(self) -> StoreHealth:
        """Return whether the file can be read."""
        return await health_of(self._database)

    async def record(self, outcomes: Sequence[Outcome]) -> OutcomeReceipt:
        """Do all of them in one transaction."""
        await self.prepare()
        return await self._database.write(lambda db: self._record(db, outcomes))

    async def revision(self, website_id: str) -> str:
        """Read one indexed row; the day is included because numbers change by decay."""
        await self.prepare()
        rows = await self._database.rows(_STATE, (website_id,))
        return f"{rows[0][0] if rows else 0}@{day_of(self._now())}"

    async def read(self, website_id: str, since: str | None = None) -> LearnedNumbers:
        """Read mark and rows from one view of the file, the rows by an index."""
        await self.prepare()
        now = self._now()

        def work(db: sqlite3.Connection) -> tuple[ChangeCursor, int | None, list[tuple[Any, ...]]]:
            revision, forgotten = db.execute(_STATE, (website_id,)).fetchone() or (0, 0)
            mark = ChangeCursor(revision, forgotten, day_of(now))
            after = mark.since(since)
            rows = db.execute(_CHANGES, (website_id, -1 if after is None else after)).fetchall()
            return mark, after, rows

        mark, after, rows = await self._database.read(work)
        found: dict[SubjectKind, dict[str, ObservedStats]] = {"transition": {}, "recovery": {}}
        for kind, name, *numbers in rows:
            found[kind][name] = compute_observed(_tally(numbers), now, self._policy)
        return LearnedNumbers(
            str(mark), after is None, transition_stats(found["transition"]), recovery_stats(found["recovery"])
        )

    async def transition_stats(self, website_id: str) -> Mapping[str, TransitionStats]:
        """See `LearnedStore`."""
        return transition_stats(await self._observed(website_id, "transition"))

    async def recovery_stats(self, website_id: str) -> Mapping[str, RecoveryStats]:
        """See `LearnedStore`."""
        return recovery_stats(await self._observed(website_id, "recovery"))

    async def element_stats(self, website_id: str) -> Mapping[ElementUse, ElementStats]:
        """See `LearnedStore`."""
        return element_stats(await self._observed(website_id, "element"))

    async def counts(self, website_id: str) -> Mapping[SubjectKind, int]:
        """Count by an index, without creating tables."""
        return await self._database.counts("learned", _COUNTS, (website_id,))

    async def forget(self, website_id: str, subjects: Collection[LearnedSubject]) -> None:
        """Do all of them in one transaction."""
        await self.prepare()
        rows = [(website_id, subject.kind, subject.name) for subject in subjects]

        def work(db: sqlite3.Connection) -> None:
            db.executemany("DELETE FROM learned WHERE website_id = ? AND kind = ? AND name = ?", rows).close()
            _draw(db, website_id)
            db.execute(_FORGOTTEN, (website_id,)).close()

        await self._database.write(work)

    # -- copying

    async def tallies(self, website_id: str) -> AsyncIterator[StoredTally]:
        """Read in pages, by kind and name."""
        await self.prepare()
        for kind in SUBJECT_KINDS:
            after = ""
            while page := await self._database.rows(_KEPT, (website_id, kind, after, PAGE)):
                for name, *numbers in page:
                    yield _kept(LearnedSubject(kind, name), numbers)
                after = page[-1][0]

    async def counted_ids(self, website_id: str) -> AsyncIterator[CountedId]:
        """Read in pages, by id."""
        await self.prepare()
        now, after = self._now().timestamp(), ""
        while page := await self._database.rows(_IDS, (website_id, now, after, PAGE)):
            for outcome_id, until in page:
                yield CountedId(outcome_id, datetime.fromtimestamp(until, UTC))
            after = page[-1][0]

    async def remember(self, website_id: str, ids: Sequence[CountedId]) -> int:
        """Do all of them in one transaction."""
        await self.prepare()
        rows = [(website_id, each.outcome_id, each.expires.timestamp()) for each in ids]
        return await self._database.write(lambda db: db.executemany(_ONCE, rows).rowcount)

    async def carry(self, website_id: str, shares: Mapping[LearnedSubject, OriginShares]) -> int:
        """Change all of them in one transaction, the only one that writes."""
        await self.prepare()

        def work(db: sqlite3.Connection) -> int:
            changed: list[StoredTally] = []
            for subject, given in shares.items():
                row = db.execute(_ONE, (website_id, subject.kind, subject.name)).fetchone()
                there = None if row is None else _kept(subject, row[1:])
                new = add_shares(subject, there, given, self._policy)
                if new is not None:
                    changed.append(new)
            revision = _draw(db, website_id) if changed else 0
            for kept in changed:
                values = _values(website_id, kept.subject, kept.tally, revision, kept.origin)
                values["copied"] = to_text({name: to_json(each) for name, each in kept.copied.items()})
                db.execute(_PUT, values).close()
            return len(changed)

        return await self._database.write(work)

    # -- helpers

    def _record(self, db: sqlite3.Connection, outcomes: Sequence[Outcome]) -> OutcomeReceipt:
        now = self._now()
        db.create_function("decay", 1, self._policy.decay, deterministic=True)
        db.create_function("merge_buckets", 4, _merged, deterministic=True)
        db.execute(_FORGET_IDS, (now.timestamp(),)).close()
        receipt: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        revisions: dict[str, int] = {}
        for outcome in outcomes:
            receipt[_count(db, outcome, now, revisions)].append(outcome.outcome_id)
        return OutcomeReceipt(*(tuple(ids) for ids in receipt.values()))

    async def _observed(self, website_id: str, kind: SubjectKind) -> dict[str, ObservedStats]:
        await self.prepare()
        now = self._now()
        return {
            name: compute_observed(_tally(numbers), now, self._policy)
            for name, *numbers in await self._database.rows(_TALLIES, (website_id, kind))
        }


def _create(db: sqlite3.Connection) -> None:
    """Create tables statement by statement: `executescript` would end the transaction.

    Columns come before indexes.
    """
    for statement in list_missing_columns(db, _ADDED):
        db.execute(statement).close()
    script = resources.files("kb_store.sqlite").joinpath("learned.sql").read_text(encoding="utf-8")
    statements = "\n".join(line.partition("--")[0] for line in script.splitlines()).split(";")
    for statement in statements:
        db.execute(statement).close()


def _draw(db: sqlite3.Connection, website_id: str) -> int:
    """Return the website's next revision: write transactions run one after the other."""
    return int(db.execute(_CHANGED, (website_id,)).fetchone()[0])


def _count(db: sqlite3.Connection, outcome: Outcome, now: datetime, revisions: dict[str, int]) -> str:
    """Count one outcome. `revisions`: those taken by this transaction, by website."""
    if not is_countable(outcome, now):
        return "untimely"
    website_id = outcome.website_id
    key = (website_id, outcome.outcome_id, get_expiry(outcome, now).timestamp())
    if db.execute(_ONCE, key).rowcount == 0:
        return "repeated"
    if website_id not in revisions:
        revisions[website_id] = _draw(db, website_id)
    subject, tally = subject_of(outcome), tally_of(outcome, now)
    db.execute(_COUNT, _values(website_id, subject, tally, revisions[website_id], new_origin())).close()
    return "counted"


def _values(
    website_id: str, subject: LearnedSubject, tally: Tally, revision: int, origin: str
) -> dict[str, Any]:
    return {
        "website_id": website_id,
        "kind": subject.kind,
        "name": subject.name,
        "day": tally.day,
        "succeeded": tally.succeeded,
        "failed": tally.failed,
        "seen": tally.seen,
        "timed": tally.timed,
        "timed_weight": tally.timed_weight,
        "timed_sum": tally.timed_sum,
        "buckets": to_text(tally.buckets),
        "revision": revision,
        "origin": origin,
    }


def _kept(subject: LearnedSubject, numbers: Sequence[Any]) -> StoredTally:
    *tally, origin, copied = numbers
    shares = {name: from_json(each) for name, each in json.loads(copied).items()}
    return StoredTally(subject, _tally(tally), origin, shares)


def _tally(numbers: Sequence[Any]) -> Tally:
    day, succeeded, failed, seen, timed, timed_weight, timed_sum, buckets = numbers
    return Tally(day, succeeded, failed, seen, timed, timed_weight, timed_sum, _buckets(buckets))


def _merged(one: str, a: float, other: str, b: float) -> str:
    return to_text(merge_buckets(_buckets(one), a, _buckets(other), b))


def _buckets(text: str) -> dict[int, float]:
    return {int(bucket): weight for bucket, weight in json.loads(text).items()}
