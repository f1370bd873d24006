"""Learned numbers in SQLite: an outcome's id and its count in one transaction, the count in one statement."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Any

from kb_schema.learned import ElementStats, ElementUse, Observed, Outcome, RecoveryStats, TransitionStats
from kb_store.embedded.database import Database, to_text
from kb_store.learned import (
    DEFAULT_POLICY,
    Kind,
    Policy,
    Recorded,
    Subject,
    Tally,
    day_of,
    element_stats,
    expires,
    is_timely,
    merge_buckets,
    observed,
    recovery_stats,
    subject_of,
    tally_of,
    transition_stats,
    utc_now,
)

_FORGET_IDS = "DELETE FROM learned_outcomes WHERE expires < ?"

_ONCE = (
    "INSERT INTO learned_outcomes (website_id, outcome_id, expires) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
)

_COUNT = """
INSERT INTO learned (website_id, kind, name, day, succeeded, failed, seen, timed, timed_weight, timed_sum, buckets)
VALUES (:website_id, :kind, :name, :day, :succeeded, :failed, :seen, :timed, :timed_weight, :timed_sum, :buckets)
ON CONFLICT (website_id, kind, name) DO UPDATE SET
    day = max(day, excluded.day),
    succeeded = succeeded * decay(excluded.day - day) + excluded.succeeded * decay(day - excluded.day),
    failed = failed * decay(excluded.day - day) + excluded.failed * decay(day - excluded.day),
    seen = seen + excluded.seen,
    timed = timed + excluded.timed,
    timed_weight = timed_weight * decay(excluded.day - day) + excluded.timed_weight * decay(day - excluded.day),
    timed_sum = timed_sum * decay(excluded.day - day) + excluded.timed_sum * decay(day - excluded.day),
    buckets = merge_buckets(buckets, decay(excluded.day - day), excluded.buckets, decay(day - excluded.day))
"""

_CHANGED = (
    "INSERT INTO learned_revisions (website_id, revision) VALUES (?, 1) "
    "ON CONFLICT (website_id) DO UPDATE SET revision = revision + 1"
)

_TALLIES = (
    "SELECT name, day, succeeded, failed, seen, timed, timed_weight, timed_sum, buckets FROM learned "
    "WHERE website_id = ? AND kind = ? ORDER BY name"
)


class EmbeddedLearnedStore:
    """`LearnedStore` on a `Database`, usually the one the documents are in."""

    def __init__(
        self,
        database: Database,
        *,
        policy: Policy = DEFAULT_POLICY,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._policy = policy
        self._now = now
        self._ready = False

    async def prepare(self) -> None:
        """Create the tables. Called by every method, so that a store may be used as it is made."""
        if not self._ready:
            await self._database.write(_create)
            self._ready = True

    async def record(self, outcomes: Sequence[Outcome]) -> Recorded:
        """All of them in one transaction."""
        await self.prepare()
        return await self._database.write(lambda db: self._record(db, outcomes))

    async def revision(self, website_id: str) -> str:
        """One indexed row, and the day: waiting changes numbers too."""
        await self.prepare()
        query = "SELECT revision FROM learned_revisions WHERE website_id = ?"
        rows = await self._database.rows(query, (website_id,))
        return f"{rows[0][0] if rows else 0}@{day_of(self._now())}"

    async def transition_stats(self, website_id: str) -> Mapping[str, TransitionStats]:
        """See `LearnedStore`."""
        return transition_stats(await self._observed(website_id, "transition"))

    async def recovery_stats(self, website_id: str) -> Mapping[str, RecoveryStats]:
        """See `LearnedStore`."""
        return recovery_stats(await self._observed(website_id, "recovery"))

    async def element_stats(self, website_id: str) -> Mapping[ElementUse, ElementStats]:
        """See `LearnedStore`."""
        return element_stats(await self._observed(website_id, "element"))

    async def forget(self, website_id: str, subjects: Collection[Subject]) -> None:
        """All of them in one transaction."""
        await self.prepare()
        rows = [(website_id, subject.kind, subject.name) for subject in subjects]

        def work(db: sqlite3.Connection) -> None:
            db.executemany("DELETE FROM learned WHERE website_id = ? AND kind = ? AND name = ?", rows).close()
            db.execute(_CHANGED, (website_id,)).close()

        await self._database.write(work)

    def _record(self, db: sqlite3.Connection, outcomes: Sequence[Outcome]) -> Recorded:
        now = self._now()
        db.create_function("decay", 1, self._policy.decay, deterministic=True)
        db.create_function("merge_buckets", 4, _merged, deterministic=True)
        db.execute(_FORGET_IDS, (now.timestamp(),)).close()
        told: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        for outcome in outcomes:
            told[_count(db, outcome, now)].append(outcome.outcome_id)
        for website_id in sorted({o.website_id for o in outcomes}) if told["counted"] else ():
            db.execute(_CHANGED, (website_id,)).close()
        return Recorded(*(tuple(ids) for ids in told.values()))

    async def _observed(self, website_id: str, kind: Kind) -> dict[str, Observed]:
        await self.prepare()
        now = self._now()
        return {
            name: observed(_tally(numbers), now, self._policy)
            for name, *numbers in await self._database.rows(_TALLIES, (website_id, kind))
        }


def _create(db: sqlite3.Connection) -> None:
    """Statement by statement: `executescript` would end the transaction."""
    script = resources.files("kb_store.embedded").joinpath("learned.sql").read_text(encoding="utf-8")
    statements = "\n".join(line.partition("--")[0] for line in script.splitlines()).split(";")
    for statement in statements:
        db.execute(statement).close()


def _count(db: sqlite3.Connection, outcome: Outcome, now: datetime) -> str:
    if not is_timely(outcome, now):
        return "untimely"
    key = (outcome.website_id, outcome.outcome_id, expires(outcome, now).timestamp())
    if db.execute(_ONCE, key).rowcount == 0:
        return "repeated"
    subject, tally = subject_of(outcome), tally_of(outcome, now)
    values = {
        "website_id": outcome.website_id,
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
    }
    db.execute(_COUNT, values).close()
    return "counted"


def _tally(numbers: Sequence[Any]) -> Tally:
    day, succeeded, failed, seen, timed, timed_weight, timed_sum, buckets = numbers
    return Tally(day, succeeded, failed, seen, timed, timed_weight, timed_sum, _buckets(buckets))


def _merged(one: str, a: float, other: str, b: float) -> str:
    return to_text(merge_buckets(_buckets(one), a, _buckets(other), b))


def _buckets(text: str) -> dict[int, float]:
    return {int(bucket): weight for bucket, weight in json.loads(text).items()}
