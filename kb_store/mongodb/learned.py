"""Learned numbers in MongoDB: an outcome's id and its count in one transaction, the count in one update.

The update is a pipeline that the server runs on the document as it finds it: nothing is read here
and written back. Not in that transaction is the website's revision, or all outcomes of a website
would wait for each other: it is raised afterwards. A process that dies in between has lost no
number; running servers see it with the next outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, IndexModel
from pymongo.errors import CollectionInvalid, OperationFailure

from kb_schema.learned import ElementStats, ElementUse, Observed, Outcome, RecoveryStats, TransitionStats
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
from kb_store.mongodb.connection import Connection, Database, Session

NUMBERS, OUTCOMES, REVISIONS = "learned", "learned_outcomes", "learned_revisions"

_EXISTS = 48
"""The server's code where somebody else was quicker to create a collection."""

_INDEXES = {
    NUMBERS: [IndexModel([("_id.website_id", ASCENDING), ("_id.kind", ASCENDING)], name="website_kind")],
    OUTCOMES: [IndexModel([("expires", ASCENDING)], name="expiry", expireAfterSeconds=0)],
    REVISIONS: [],
}


class MongoLearnedStore:
    """`LearnedStore` on a `Connection`, usually the one the documents are reached by."""

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
        self._ready = False
        self._turn = asyncio.Lock()

    async def prepare(self) -> None:
        """Create collections and indexes. Called before writing: transactions need both."""
        if self._ready:
            return
        async with self._connection.asking() as database:
            there = await database.list_collection_names(filter={"name": {"$in": list(_INDEXES)}})
            for name, indexes in _INDEXES.items():
                if name not in there:
                    await _create(database, name)
                if indexes:
                    await database[name].create_indexes(indexes)
        self._ready = True

    async def record(self, outcomes: Sequence[Outcome]) -> Recorded:
        """Each in a transaction of its own: what was counted before an error stays counted, once."""
        await self.prepare()
        told: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        changed: set[str] = set()
        try:
            for outcome in outcomes:
                # One after the other: transactions on one document, all at once, mostly undo each other.
                async with self._turn:
                    how = await self._record(outcome)
                told[how].append(outcome.outcome_id)
                if how == "counted":
                    changed.add(outcome.website_id)
        finally:
            for website_id in sorted(changed):
                await self._raise_revision(website_id)
        return Recorded(*(tuple(ids) for ids in told.values()))

    async def revision(self, website_id: str) -> str:
        """One document by its id, and the day: waiting changes numbers too."""
        async with self._connection.asking() as database:
            found = await database[REVISIONS].find_one({"_id": website_id})
        return f"{found['revision'] if found else 0}@{day_of(self._now())}"

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
        """One command for all of them."""
        async with self._connection.asking() as database:
            keys = [_key(website_id, subject) for subject in subjects]
            await database[NUMBERS].delete_many({"_id": {"$in": keys}})
        await self._raise_revision(website_id)

    async def _record(self, outcome: Outcome) -> str:
        now = self._now()
        if not is_timely(outcome, now):
            return "untimely"
        key = {"website_id": outcome.website_id, "outcome_id": outcome.outcome_id}
        subject, tally = subject_of(outcome), tally_of(outcome, now)

        async def work(database: Database, session: Session) -> bool:
            # Looked for first: a duplicate key would end the transaction.
            if await database[OUTCOMES].find_one({"_id": key}, session=session):
                return False
            document = {"_id": key, "expires": expires(outcome, now)}
            await database[OUTCOMES].insert_one(document, session=session)
            await database[NUMBERS].update_one(
                {"_id": _key(outcome.website_id, subject)}, _adding(tally, self._policy),
                upsert=True, session=session,
            )  # fmt: skip
            return True

        # Of two that insert one id at once, the server lets one try again: it then finds the id.
        return "counted" if await self._connection.transaction(work) else "repeated"

    async def _raise_revision(self, website_id: str) -> None:
        async with self._connection.asking() as database:
            await database[REVISIONS].update_one({"_id": website_id}, {"$inc": {"revision": 1}}, upsert=True)

    async def _observed(self, website_id: str, kind: Kind) -> dict[str, Observed]:
        now = self._now()
        async with self._connection.asking() as database:
            found = database[NUMBERS].find({"_id.website_id": website_id, "_id.kind": kind})
            return {
                document["_id"]["name"]: observed(_tally(document), now, self._policy)
                async for document in found
            }


async def _create(database: Database, name: str) -> None:
    try:
        await database.create_collection(name)
    except CollectionInvalid:
        return
    except OperationFailure as exc:
        if exc.code != _EXISTS:
            raise


def _key(website_id: str, subject: Subject) -> dict[str, str]:
    return {"website_id": website_id, "kind": subject.kind, "name": subject.name}


def _adding(tally: Tally, policy: Policy) -> list[Mapping[str, Any]]:
    """`kb_store.learned.merge` as an update: what is there decays to the newer day, the tally is added.

    Only numbers of ours go into it: nothing from outside can be read as an expression.
    """
    day = {"$ifNull": ["$day", tally.day]}
    mine = _decay({"$subtract": [day, tally.day]}, policy)
    theirs = _decay({"$subtract": [tally.day, day]}, policy)

    def added(field: str, value: float) -> Mapping[str, Any]:
        there = {"$ifNull": [f"${field}", 0.0]}
        return {"$add": [{"$multiply": [there, "$$theirs"]}, {"$multiply": [value, "$$mine"]}]}

    buckets = [{"at": bucket, "weight": weight} for bucket, weight in tally.buckets.items()]
    merged: Mapping[str, Any] = {
        "day": {"$max": [day, tally.day]},
        "succeeded": added("succeeded", tally.succeeded),
        "failed": added("failed", tally.failed),
        "seen": {"$add": [{"$ifNull": ["$seen", 0]}, tally.seen]},
        "timed": {"$add": [{"$ifNull": ["$timed", 0]}, tally.timed]},
        "timed_weight": added("timed_weight", tally.timed_weight),
        "timed_sum": added("timed_sum", tally.timed_sum),
        "buckets": _merged_buckets(buckets),
    }
    return [
        {"$replaceWith": {"$let": {
            "vars": {"mine": mine, "theirs": theirs},
            "in": {"$mergeObjects": ["$$ROOT", merged]},
        }}},
    ]  # fmt: skip


def _merged_buckets(new: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The buckets there are, decayed, with the new weights added to those they belong to."""
    old = {"$ifNull": ["$buckets", []]}
    numbers = [bucket["at"] for bucket in new]

    def of_this_bucket(buckets: Any) -> Mapping[str, Any]:
        same = {"$filter": {"input": buckets, "as": "each", "cond": {"$eq": ["$$each.at", "$$bucket.at"]}}}
        return {"$sum": {"$map": {"input": same, "as": "each", "in": "$$each.weight"}}}

    grown = {"$map": {"input": old, "as": "bucket", "in": {
        "at": "$$bucket.at",
        "weight": {"$add": [
            {"$multiply": ["$$bucket.weight", "$$theirs"]},
            {"$multiply": [of_this_bucket(list(new)), "$$mine"]},
        ]},
    }}}  # fmt: skip
    fresh = [
        {"$cond": [{"$in": [number, {"$map": {"input": old, "as": "each", "in": "$$each.at"}}]}, [],
                   [{"at": number, "weight": {"$multiply": [bucket["weight"], "$$mine"]}}]]}
        for number, bucket in zip(numbers, new, strict=True)
    ]  # fmt: skip
    return {"$concatArrays": [grown, *fresh]}


def _decay(days: Mapping[str, Any], policy: Policy) -> Mapping[str, Any]:
    """`Policy.decay` for the server."""
    halvings = {"$divide": [{"$max": [days, 0]}, policy.half_life_days]}
    return {"$pow": [2.0, {"$multiply": [-1.0, halvings]}]}


def _tally(document: Mapping[str, Any]) -> Tally:
    numbers = {name: document[name] for name in Tally.__dataclass_fields__ if name != "buckets"}
    buckets = {int(bucket["at"]): float(bucket["weight"]) for bucket in document["buckets"]}
    return Tally(**numbers, buckets=buckets)
