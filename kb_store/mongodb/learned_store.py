"""Learned numbers in MongoDB: an outcome's id and its count in one transaction, the count in one update.

The update is a pipeline that the server runs on the document as it is: nothing is read here and written back.
The website's tickets and its revision are not in that transaction, because all outcomes of a website would
wait for each other: a ticket is taken before it (`kb_store.learned.change_cursor`), and returned with a
higher revision after it. If the process dies in between, no number is lost, and servers see it with the next
outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, IndexModel, ReplaceOne, ReturnDocument
from pymongo.errors import BulkWriteError

from kb_schema.observed_outcomes import (
    ElementStats,
    ElementUse,
    ObservedStats,
    Outcome,
    RecoveryStats,
    TransitionStats,
)
from kb_store.learned.change_cursor import TICKET_SECONDS, ChangeCursor, find_settled_ticket
from kb_store.learned.learned_numbers import (
    DEFAULT_POLICY,
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
    new_origin,
    recovery_stats,
    subject_of,
    tally_of,
    transition_stats,
    utc_now,
)
from kb_store.learned.origin_shares import add_shares, from_json, to_json
from kb_store.mongodb.connection import MongoConnection, MongoDatabase, MongoSession, counts_by
from kb_store.mongodb.database_schema import plan_collections, prepare
from kb_store.mongodb.document_store import health_of
from kb_store.ports import StoreHealth
from kb_store.store_setup import CollectionSetup

NUMBERS, OUTCOMES, REVISIONS = "learned", "learned_outcomes", "learned_revisions"

PAGE = 500
"""The number of documents that iterators fetch at a time."""

_DUPLICATE = 11000

_INDEXES = {
    NUMBERS: [
        IndexModel([("_id.website_id", ASCENDING), ("_id.kind", ASCENDING)], name="website_kind"),
        IndexModel([("_id.website_id", ASCENDING), ("revision", ASCENDING)], name="website_revision"),
    ],
    OUTCOMES: [
        IndexModel([("expires", ASCENDING)], name="expiry", expireAfterSeconds=0),
        IndexModel([("_id.website_id", ASCENDING)], name="website"),
    ],
    REVISIONS: [],
}


class MongoLearnedStore:
    """`LearnedStore` on a `MongoConnection`, usually the one the documents are reached by."""

    def __init__(
        self,
        connection: MongoConnection,
        *,
        policy: DecayPolicy = DEFAULT_POLICY,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._connection = connection
        self._policy = policy
        self._now = now
        self._ready = False
        self._turn = asyncio.Lock()

    @property
    def address(self) -> str:
        """Hosts and database, without credentials."""
        return self._connection.address

    async def prepare(self) -> None:
        """Create collections and indexes before writing: transactions need both."""
        if not self._ready:
            await self.initialise()

    async def initialise(self) -> list[CollectionSetup]:
        """Like `prepare`, but check everything; report what was created or found."""
        done = await prepare(self._connection, plan_collections(_INDEXES), thorough=True)
        self._ready = True
        return done

    async def health(self) -> StoreHealth:
        """Return whether the server answers and the indexes exist."""
        return await health_of(self._connection, plan_collections(_INDEXES))

    async def record(self, outcomes: Sequence[Outcome]) -> OutcomeReceipt:
        """Count each outcome in its own transaction: what was counted before an error stays counted."""
        await self.prepare()
        receipt: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        # One call after the other: concurrent transactions on one document mostly abort each other.
        async with self._turn, AsyncExitStack() as stack:
            tickets: dict[str, _MongoTicket] = {}
            for outcome in outcomes:
                if not is_countable(outcome, self._now()):
                    receipt["untimely"].append(outcome.outcome_id)
                    continue
                website_id = outcome.website_id
                if website_id not in tickets:
                    tickets[website_id] = await stack.enter_async_context(self._ticket(website_id))
                counted = await self._record(outcome, tickets[website_id])
                receipt["counted" if counted else "repeated"].append(outcome.outcome_id)
        return OutcomeReceipt(*(tuple(ids) for ids in receipt.values()))

    async def revision(self, website_id: str) -> str:
        """Read one document by its id; the day is included because numbers change by decay."""
        async with self._connection.asking() as database:
            found = await database[REVISIONS].find_one({"_id": website_id}, ["raised"])
        return f"{found.get('raised', 0) if found else 0}@{day_of(self._now())}"

    async def read(self, website_id: str, since: str | None = None) -> LearnedNumbers:
        """Read the mark first, then by an index what changed after it."""
        now = self._now()
        mark = await self._mark(website_id, now)
        after = mark.since(since)
        wanted: dict[str, Any] = {
            "_id.website_id": website_id,
            "_id.kind": {"$in": ["transition", "recovery"]},
        }
        if after is not None:
            wanted["revision"] = {"$gt": after}
        found: dict[str, dict[str, ObservedStats]] = {"transition": {}, "recovery": {}}
        async with self._connection.asking() as database:
            async for document in database[NUMBERS].find(wanted):
                key = document["_id"]
                found[key["kind"]][key["name"]] = compute_observed(_tally(document), now, self._policy)
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
        """Count by the index of websites and kinds."""
        async with self._connection.asking() as database:
            return await counts_by(database[NUMBERS], {"_id.website_id": website_id}, "_id.kind")

    async def forget(self, website_id: str, subjects: Collection[LearnedSubject]) -> None:
        """Delete all of them in one command."""
        async with self._connection.asking() as database:
            keys = [_key(website_id, subject) for subject in subjects]
            await database[NUMBERS].delete_many({"_id": {"$in": keys}})
            more = {"$inc": {"raised": 1, "forgotten": 1}}
            await database[REVISIONS].update_one({"_id": website_id}, more, upsert=True)

    # -- copying

    async def tallies(self, website_id: str) -> AsyncIterator[StoredTally]:
        """Read by kind and name."""
        async with self._connection.asking() as database:
            found = database[NUMBERS].find({"_id.website_id": website_id}).sort("_id", ASCENDING)
            page = await found.to_list(PAGE)
        while page:
            for document in page:
                yield _kept(document)
            async with self._connection.asking():
                page = await found.to_list(PAGE)

    async def counted_ids(self, website_id: str) -> AsyncIterator[CountedId]:
        """Read by an index on the website."""
        wanted = {"_id.website_id": website_id, "expires": {"$gt": self._now()}}
        async with self._connection.asking() as database:
            found = database[OUTCOMES].find(wanted).sort("_id", ASCENDING)
            page = await found.to_list(PAGE)
        while page:
            for document in page:
                yield CountedId(document["_id"]["outcome_id"], document["expires"])
            async with self._connection.asking():
                page = await found.to_list(PAGE)

    async def remember(self, website_id: str, ids: Sequence[CountedId]) -> int:
        """Insert; existing documents stay."""
        await self.prepare()
        documents = [
            {"_id": {"website_id": website_id, "outcome_id": each.outcome_id}, "expires": each.expires}
            for each in ids
        ]
        if not documents:
            return 0
        async with self._connection.asking() as database:
            try:
                await database[OUTCOMES].insert_many(documents, ordered=False)
            except BulkWriteError as exc:
                details = exc.details or {}
                errors = details.get("writeErrors", [])
                if not errors or any(error.get("code") != _DUPLICATE for error in errors):
                    raise
                return int(details.get("nInserted", 0))
        return len(documents)

    async def carry(self, website_id: str, shares: Mapping[LearnedSubject, OriginShares]) -> int:
        """Change all of them in one transaction, which a concurrent change repeats."""
        await self.prepare()
        keys = {subject: _key(website_id, subject) for subject in shares}
        async with self._ticket(website_id) as ticket:

            async def work(database: MongoDatabase, session: MongoSession) -> int:
                found = database[NUMBERS].find({"_id": {"$in": list(keys.values())}}, session=session)
                there = {kept.subject: kept async for kept in (_kept(each) async for each in found)}
                changes = [
                    ReplaceOne({"_id": keys[subject]}, _document(new, ticket.number), upsert=True)
                    for subject, given in shares.items()
                    if (new := add_shares(subject, there.get(subject), given, self._policy)) is not None
                ]
                if changes:
                    await database[NUMBERS].bulk_write(changes, session=session)
                return len(changes)

            changed = await self._connection.transaction(work)
            ticket.used = changed > 0
        return changed

    # -- helpers

    async def _record(self, outcome: Outcome, ticket: _MongoTicket) -> bool:
        now = self._now()
        key = {"website_id": outcome.website_id, "outcome_id": outcome.outcome_id}
        subject, tally = subject_of(outcome), tally_of(outcome, now)
        adding = _adding(tally, ticket.number, new_origin(), self._policy)

        async def work(database: MongoDatabase, session: MongoSession) -> bool:
            # Looked for first: a duplicate key would end the transaction.
            if await database[OUTCOMES].find_one({"_id": key}, session=session):
                return False
            document = {"_id": key, "expires": get_expiry(outcome, now)}
            await database[OUTCOMES].insert_one(document, session=session)
            await database[NUMBERS].update_one(
                {"_id": _key(outcome.website_id, subject)}, adding, upsert=True, session=session
            )
            return True

        # If two insert one id at once, the server lets one try again, which then finds the id.
        used_before, ticket.used = ticket.used, True  # an error may occur after the server has counted
        counted = await self._connection.transaction(work)
        ticket.used = used_before or counted
        return counted

    @asynccontextmanager
    async def _ticket(self, website_id: str) -> AsyncIterator[_MongoTicket]:
        """Take a ticket before anything is written under it; return it once that is visible, or will not be."""
        ticket = _MongoTicket(await self._draw(website_id))
        try:
            yield ticket
        finally:
            back: dict[str, Any] = {"$pull": {"out": {"ticket": ticket.number}}}
            if ticket.used:
                back["$inc"] = {"raised": 1}
            async with self._connection.asking() as database:
                await database[REVISIONS].update_one({"_id": website_id}, back)

    async def _draw(self, website_id: str) -> int:
        """Take a ticket in one statement, which also removes the tickets of dead writers."""
        number = {"$add": [{"$ifNull": ["$revision", 0]}, 1]}
        until = {"$add": ["$$NOW", int(TICKET_SECONDS * 1000)]}
        others = {"$filter": {"input": {"$ifNull": ["$out", []]}, "cond": {"$gt": ["$$this.until", "$$NOW"]}}}
        mine = [{"ticket": number, "until": until}]
        update = [{"$set": {"revision": number, "out": {"$concatArrays": [others, mine]}}}]
        async with self._connection.asking() as database:
            found = await database[REVISIONS].find_one_and_update(
                {"_id": website_id}, update, upsert=True, return_document=ReturnDocument.AFTER
            )
        return int(found["revision"]) if found else 0  # an upsert always finds

    async def _mark(self, website_id: str, now: datetime) -> ChangeCursor:
        """Read the mark from one document. A ticket counts as out until it expires by the server's clock."""
        out = {"$filter": {"input": {"$ifNull": ["$out", []]}, "cond": {"$gt": ["$$this.until", "$$NOW"]}}}
        pipeline: list[Mapping[str, Any]] = [
            {"$match": {"_id": website_id}},
            {"$project": {"revision": 1, "forgotten": 1, "out": out}},
        ]
        async with self._connection.asking() as database:
            async for found in await database[REVISIONS].aggregate(pipeline):
                drawn = int(found.get("revision", 0))
                low = find_settled_ticket(drawn, (int(each["ticket"]) for each in found["out"]))
                return ChangeCursor(low, int(found.get("forgotten", 0)), day_of(now))
        return ChangeCursor(0, 0, day_of(now))

    async def _observed(self, website_id: str, kind: SubjectKind) -> dict[str, ObservedStats]:
        now = self._now()
        async with self._connection.asking() as database:
            found = database[NUMBERS].find({"_id.website_id": website_id, "_id.kind": kind})
            return {
                document["_id"]["name"]: compute_observed(_tally(document), now, self._policy)
                async for document in found
            }


@dataclass(slots=True)
class _MongoTicket:
    """A number taken before a change, and whether anything was changed under it."""

    number: int
    used: bool = False


def _key(website_id: str, subject: LearnedSubject) -> dict[str, str]:
    return {"website_id": website_id, "kind": subject.kind, "name": subject.name}


def _adding(tally: Tally, ticket: int, origin: str, policy: DecayPolicy) -> list[Mapping[str, Any]]:
    """Return `learned_numbers.merge` as an update pipeline: decay to the newer day, then add the tally.

    It contains only our own numbers and names, so no external text can be read as an expression.
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
        "revision": {"$max": [{"$ifNull": ["$revision", 0]}, ticket]},
        "origin": {"$ifNull": ["$origin", origin]},
    }
    return [
        {
            "$replaceWith": {
                "$let": {
                    "vars": {"mine": mine, "theirs": theirs},
                    "in": {"$mergeObjects": ["$$ROOT", merged]},
                }
            }
        },
    ]


def _merged_buckets(new: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the decayed buckets with the new weights added."""
    old = {"$ifNull": ["$buckets", []]}
    numbers = [bucket["at"] for bucket in new]

    def of_this_bucket(buckets: Any) -> Mapping[str, Any]:
        same = {"$filter": {"input": buckets, "as": "each", "cond": {"$eq": ["$$each.at", "$$bucket.at"]}}}
        return {"$sum": {"$map": {"input": same, "as": "each", "in": "$$each.weight"}}}

    grown = {
        "$map": {
            "input": old,
            "as": "bucket",
            "in": {
                "at": "$$bucket.at",
                "weight": {
                    "$add": [
                        {"$multiply": ["$$bucket.weight", "$$theirs"]},
                        {"$multiply": [of_this_bucket(list(new)), "$$mine"]},
                    ]
                },
            },
        }
    }
    fresh = [
        {
            "$cond": [
                {"$in": [number, {"$map": {"input": old, "as": "each", "in": "$$each.at"}}]},
                [],
                [{"at": number, "weight": {"$multiply": [bucket["weight"], "$$mine"]}}],
            ]
        }
        for number, bucket in zip(numbers, new, strict=True)
    ]
    return {"$concatArrays": [grown, *fresh]}


def _decay(days: Mapping[str, Any], policy: DecayPolicy) -> Mapping[str, Any]:
    """Return `DecayPolicy.decay` as an expression."""
    halvings = {"$divide": [{"$max": [days, 0]}, policy.half_life_days]}
    return {"$pow": [2.0, {"$multiply": [-1.0, halvings]}]}


def _document(kept: StoredTally, revision: int) -> dict[str, Any]:
    """Return a document's fields. Origins are external names, so they are values, not field names."""
    copied = [{"origin": name, **to_json(share)} for name, share in sorted(kept.copied.items())]
    return {**to_json(kept.tally), "revision": revision, "origin": kept.origin, "copied": copied}


def _kept(document: Mapping[str, Any]) -> StoredTally:
    key = document["_id"]
    copied = {str(each["origin"]): from_json(each) for each in document.get("copied", ())}
    return StoredTally(
        LearnedSubject(key["kind"], key["name"]), _tally(document), str(document.get("origin", "")), copied
    )


def _tally(document: Mapping[str, Any]) -> Tally:
    return from_json(document)
