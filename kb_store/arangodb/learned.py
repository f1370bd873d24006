"""Learned numbers in ArangoDB: an outcome, its count and the weights that rest on it in one transaction.

The count is one AQL statement (`aql.COUNT_OUTCOME`) that says `kb_store.learned.merge` in AQL. Weights
decay when something is counted or loaded, not by themselves: between two outcomes of a screen's edges
they are as of the former. The statistics that are told always are as of now.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from arango.database import TransactionDatabase
from arango.exceptions import ArangoServerError

from kb_schema.learned import ElementStats, ElementUse, Observed, Outcome, RecoveryStats, TransitionStats
from kb_store.arangodb import aql
from kb_store.arangodb.connection import Connection, query
from kb_store.arangodb.keys import lasting_key, learned_key, sort_key
from kb_store.arangodb.setup import create_missing
from kb_store.arangodb.weighing import READ_TO_WEIGH, WEIGHED, weigh
from kb_store.errors import StoreCorrupt
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
    observed,
    recovery_stats,
    subject_of,
    tally_of,
    transition_stats,
    utc_now,
)

DUPLICATE = 1210
"""`ERROR_ARANGO_UNIQUE_CONSTRAINT_VIOLATED`."""

_WRITTEN = sorted({"learned", "learned_outcomes", *WEIGHED})
_READ = sorted({*READ_TO_WEIGH} - {*_WRITTEN})


class ArangoLearnedStore:
    """`LearnedStore` on a `Connection`, usually the graph store's."""

    def __init__(
        self,
        connection: Connection,
        *,
        policy: Policy = DEFAULT_POLICY,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._connection = connection
        self._policy = policy
        self._now = now

    async def prepare(self) -> None:
        """Collections, validators and indexes, the graph's with them."""
        await create_missing(self._connection)

    async def record(self, outcomes: Sequence[Outcome]) -> Recorded:
        """Each in a transaction of its own: what was counted before an error stays counted, once."""
        told: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        changed: set[str] = set()
        try:
            for outcome in outcomes:
                how = await self._record(outcome)
                told[how].append(outcome.outcome_id)
                if how == "counted":
                    changed.add(outcome.website_id)
        finally:
            for website_id in sorted(changed):
                await self._raise_revision(website_id)
        return Recorded(*(tuple(ids) for ids in told.values()))

    async def revision(self, website_id: str) -> str:
        """One document by its key, and the day: waiting changes numbers too."""
        found = await self._connection.query(
            aql.REVISION, c_revisions="learned_revisions", key=lasting_key(website_id)
        )
        return f"{found[0] if found else 0}@{day_of(self._now())}"

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
        keys = sorted(learned_key(website_id, each.kind, each.name) for each in subjects)

        def work(db: TransactionDatabase) -> None:
            query(db, aql.FORGET, c_learned="learned", keys=keys)
            self._weigh(db, website_id, subjects)

        await self._connection.transact(_WRITTEN, _READ, work)
        await self._raise_revision(website_id)

    async def _record(self, outcome: Outcome) -> str:
        now = self._now()
        if not is_timely(outcome, now):
            return "untimely"
        subject, tally = subject_of(outcome), tally_of(outcome, now)

        def work(db: TransactionDatabase) -> None:
            self._count(db, outcome, subject, tally, expires(outcome, now))
            self._weigh(db, outcome.website_id, [subject])

        try:
            await self._connection.transact(_WRITTEN, _READ, work)
        except _CountedBefore:
            return "repeated"
        return "counted"

    def _count(
        self, db: TransactionDatabase, outcome: Outcome, subject: Subject, tally: Tally, until: datetime
    ) -> None:
        website_id = outcome.website_id
        key = learned_key(website_id, subject.kind, subject.name)
        query(
            db, aql.BEGIN_LEARNING, c_learned="learned", key=key, website=website_id, kind=subject.kind,
            name=subject.name, day=tally.day,
        )  # fmt: skip
        try:
            query(
                db, aql.COUNT_OUTCOME, c_learned="learned", c_outcomes="learned_outcomes", key=key,
                website=website_id, outcome=lasting_key(website_id, outcome.outcome_id),
                expires_at=until.timestamp(), day=tally.day, half_life_days=self._policy.half_life_days,
                succeeded=tally.succeeded, failed=tally.failed, timed=tally.timed, ms=tally.timed_sum,
                bucket=next(iter(tally.buckets), None),
            )  # fmt: skip
        except ArangoServerError as exc:
            if exc.error_code == DUPLICATE:
                raise _CountedBefore from exc
            raise

    def _weigh(self, db: TransactionDatabase, website_id: str, subjects: Collection[Subject]) -> None:
        """The edges, of every generation there is, whose numbers these are."""

        def starts(kind: Kind, collection: str) -> list[str]:
            names = [sort_key(each.name) for each in subjects if each.kind == kind]
            if not names:
                return []
            return query(db, aql.STARTS_OF_EDGES, c_edges=collection, website=website_id, names=names)

        weigh(
            db,
            screens=starts("transition", "transitions"),
            groups=starts("recovery", "global_recovery"),
            policy=self._policy,
            today=day_of(self._now()),
        )

    async def _raise_revision(self, website_id: str) -> None:
        """Not in the outcome's transaction, or all outcomes of a website would wait for each other."""
        await self._connection.write(
            lambda db: query(
                db,
                aql.RAISE_REVISION,
                c_revisions="learned_revisions",
                key=lasting_key(website_id),
                website=website_id,
                revision=secrets.token_hex(8),
            )
        )

    async def _observed(self, website_id: str, kind: Kind) -> dict[str, Observed]:
        rows = await self._connection.query(aql.LEARNED, c_learned="learned", website=website_id, kind=kind)
        now = self._now()
        try:
            found = {str(row["name"]): observed(_tally(row), now, self._policy) for row in rows}
        except (KeyError, TypeError, ValueError) as exc:
            raise StoreCorrupt(
                self._connection.address, f"learned numbers of {website_id!r}: {exc!r}"
            ) from exc
        return dict(sorted(found.items()))


class _CountedBefore(Exception):
    """The outcome's id is known."""


def _tally(row: Mapping[str, Any]) -> Tally:
    numbers = {name: row[name] for name in Tally.__dataclass_fields__ if name != "buckets"}
    buckets = {int(bucket["at"]): float(bucket["weight"]) for bucket in row["buckets"]}
    return Tally(**numbers, buckets=buckets)
