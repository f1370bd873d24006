"""Learned numbers in ArangoDB: an outcome, its count and the dependent weights in one transaction.

The count is one AQL statement (`aql.COUNT_OUTCOME`), which does what `learned_numbers.merge` does. Weights
decay only when an outcome is counted or a load happens: between two outcomes of a screen's edges they are as
of the earlier one. Returned statistics are always as of now.

Tickets (`kb_store.learned.change_cursor`) are taken and returned outside that transaction; otherwise all
outcomes of a website would wait for each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from arango.database import TransactionDatabase
from arango.exceptions import ArangoServerError

from kb_schema.observed_outcomes import (
    ElementStats,
    ElementUse,
    ObservedStats,
    Outcome,
    RecoveryStats,
    TransitionStats,
)
from kb_store.arangodb import aql
from kb_store.arangodb.connection import ArangoConnection, query
from kb_store.arangodb.database_setup import create_missing, health_of
from kb_store.arangodb.document_keys import lasting_key, learned_key, sort_key
from kb_store.arangodb.edge_weights import READ_TO_WEIGH, WEIGHED, update_edge_weights
from kb_store.errors import StoreCorrupt
from kb_store.learned.change_cursor import TICKET_SECONDS, ChangeCursor, find_settled_ticket
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
    new_origin,
    recovery_stats,
    subject_of,
    tally_of,
    transition_stats,
    utc_now,
)
from kb_store.learned.origin_shares import add_shares, from_json, to_json
from kb_store.ports import StoreHealth

T = TypeVar("T")

PAGE = 500
"""The number of rows that iterators fetch at a time."""

DUPLICATE = 1210
"""`ERROR_ARANGO_UNIQUE_CONSTRAINT_VIOLATED`."""

_WRITTEN = sorted({"learned", "learned_outcomes", *WEIGHED})
_READ = sorted({*READ_TO_WEIGH} - {*_WRITTEN})


class ArangoLearnedStore:
    """`LearnedStore` on a `ArangoConnection`, usually the graph store's."""

    def __init__(
        self,
        connection: ArangoConnection,
        *,
        policy: DecayPolicy = DEFAULT_POLICY,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._connection = connection
        self._policy = policy
        self._now = now

    @property
    def address(self) -> str:
        """The host and the database."""
        return self._connection.address

    async def prepare(self) -> None:
        """Create missing collections, validators and indexes, and the graph's."""
        await create_missing(self._connection)

    async def health(self) -> StoreHealth:
        """Return whether the server answers, and its version."""
        return await health_of(self._connection)

    async def record(self, outcomes: Sequence[Outcome]) -> OutcomeReceipt:
        """Count each outcome in its own transaction: what was counted before an error stays counted."""
        receipt: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        async with AsyncExitStack() as stack:
            tickets: dict[str, _ArangoTicket] = {}
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
        """Read one document by its key; the day is included because numbers change by decay."""
        found = await self._tickets(website_id)
        return f"{found['raised'] if found else 0}@{day_of(self._now())}"

    async def read(self, website_id: str, since: str | None = None) -> LearnedNumbers:
        """Read the mark first, then by an index what changed after it."""
        now, found = self._now(), await self._tickets(website_id)
        mark = ChangeCursor(0, 0, day_of(now))
        if found:
            mark = ChangeCursor(
                find_settled_ticket(found["drawn"], found["out"]), found["forgotten"], day_of(now)
            )
        after = mark.since(since)
        rows = await self._connection.query(
            aql.LEARNED_SINCE, c_learned="learned", website=website_id, ticket=-1 if after is None else after
        )
        observed = self._by_kind(website_id, rows)
        return LearnedNumbers(
            str(mark),
            after is None,
            transition_stats(observed["transition"]),
            recovery_stats(observed["recovery"]),
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
        """Count in one query."""
        rows = await self._connection.query(aql.LEARNED_COUNTS, c_learned="learned", website=website_id)
        return {row["kind"]: row["rows"] for row in rows}

    async def forget(self, website_id: str, subjects: Collection[LearnedSubject]) -> None:
        """Delete all of them in one transaction."""
        keys = sorted(learned_key(website_id, each.kind, each.name) for each in subjects)

        def work(db: TransactionDatabase) -> None:
            query(db, aql.FORGET, c_learned="learned", keys=keys)
            self._weigh(db, website_id, subjects)

        await self._connection.transact(_WRITTEN, _READ, work)
        key = await self._begin_tickets(website_id)
        await self._write(aql.COUNT_FORGETTING, key=key)

    # -- copying

    async def tallies(self, website_id: str) -> AsyncIterator[StoredTally]:
        """Read in pages, by key."""
        async for row in self._pages(aql.KEPT, website_id, c_learned="learned"):
            yield self._checked(website_id, row, _kept)

    async def counted_ids(self, website_id: str) -> AsyncIterator[CountedId]:
        """Read in pages, by key."""
        now = self._now().timestamp()
        async for row in self._pages(aql.COUNTED_IDS, website_id, c_outcomes="learned_outcomes", now=now):
            yield self._checked(website_id, row, _counted_id)

    async def remember(self, website_id: str, ids: Sequence[CountedId]) -> int:
        """Insert in bulk; existing documents stay."""
        rows = [
            {
                "_key": lasting_key(website_id, each.outcome_id),
                "website_id": website_id,
                "outcome_id": each.outcome_id,
                "expires_at": each.expires.timestamp(),
            }
            for each in ids
        ]

        def work(db: TransactionDatabase) -> int:
            keys = [row["_key"] for row in rows]
            known = query(db, aql.KNOWN_KEYS, c_collection="learned_outcomes", keys=keys)
            db.collection("learned_outcomes").insert_many(
                rows, overwrite_mode="ignore", raise_on_document_error=True
            )
            return len({*keys} - {*known})

        return await self._connection.transact(["learned_outcomes"], [], work) if rows else 0

    async def carry(self, website_id: str, shares: Mapping[LearnedSubject, OriginShares]) -> int:
        """Change all of them in one transaction, weights included; a concurrent change repeats it."""
        keys = {learned_key(website_id, each.kind, each.name): each for each in shares}
        async with self._ticket(website_id) as ticket:

            def work(db: TransactionDatabase) -> int:
                found = query(db, aql.KEPT_OF, c_learned="learned", keys=sorted(keys))
                there = {row["_key"]: self._checked(website_id, row, _kept) for row in found}
                new = {
                    key: kept
                    for key, subject in keys.items()
                    if (kept := add_shares(subject, there.get(key), shares[subject], self._policy))
                }
                rows = [_row(website_id, key, kept, ticket.number) for key, kept in new.items()]
                if rows:
                    db.collection("learned").insert_many(
                        rows, overwrite_mode="replace", raise_on_document_error=True
                    )
                    self._weigh(db, website_id, [kept.subject for kept in new.values()])
                return len(rows)

            ticket.used = True  # an error may come after the server has done it
            changed = await self._connection.transact(_WRITTEN, _READ, work)
            ticket.used = changed > 0
        return changed

    # -- helpers

    async def _record(self, outcome: Outcome, ticket: _ArangoTicket) -> bool:
        now = self._now()
        subject, tally = subject_of(outcome), tally_of(outcome, now)

        def work(db: TransactionDatabase) -> None:
            self._count(db, outcome, subject, tally, get_expiry(outcome, now), ticket.number)
            self._weigh(db, outcome.website_id, [subject])

        used_before, ticket.used = ticket.used, True  # an error may occur after the server has counted
        try:
            await self._connection.transact(_WRITTEN, _READ, work)
        except _OutcomeAlreadyCounted:
            ticket.used = used_before
            return False
        return True

    def _count(
        self,
        db: TransactionDatabase,
        outcome: Outcome,
        subject: LearnedSubject,
        tally: Tally,
        until: datetime,
        ticket: int,
    ) -> None:
        website_id = outcome.website_id
        key = learned_key(website_id, subject.kind, subject.name)
        query(
            db,
            aql.BEGIN_LEARNING,
            c_learned="learned",
            key=key,
            website=website_id,
            kind=subject.kind,
            name=subject.name,
            day=tally.day,
            origin=new_origin(),
        )
        try:
            query(
                db,
                aql.COUNT_OUTCOME,
                c_learned="learned",
                c_outcomes="learned_outcomes",
                key=key,
                website=website_id,
                outcome=lasting_key(website_id, outcome.outcome_id),
                outcome_id=outcome.outcome_id,
                expires_at=until.timestamp(),
                day=tally.day,
                half_life_days=self._policy.half_life_days,
                succeeded=tally.succeeded,
                failed=tally.failed,
                timed=tally.timed,
                ms=tally.timed_sum,
                bucket=next(iter(tally.buckets), None),
                ticket=ticket,
            )
        except ArangoServerError as exc:
            if exc.error_code == DUPLICATE:
                raise _OutcomeAlreadyCounted from exc
            raise

    def _weigh(self, db: TransactionDatabase, website_id: str, subjects: Collection[LearnedSubject]) -> None:
        """Update the edges of these numbers, in every generation."""

        def starts(kind: SubjectKind, collection: str) -> list[str]:
            names = [sort_key(each.name) for each in subjects if each.kind == kind]
            if not names:
                return []
            return query(db, aql.STARTS_OF_EDGES, c_edges=collection, website=website_id, names=names)

        update_edge_weights(
            db,
            screens=starts("transition", "transitions"),
            groups=starts("recovery", "global_recovery"),
            policy=self._policy,
            today=day_of(self._now()),
        )

    @asynccontextmanager
    async def _ticket(self, website_id: str) -> AsyncIterator[_ArangoTicket]:
        """Take a ticket before anything is written under it; return it once that is visible, or will not be."""
        key = await self._begin_tickets(website_id)
        (number,) = await self._write(aql.DRAW_TICKET, key=key, lifetime_ms=TICKET_SECONDS * 1000)
        ticket = _ArangoTicket(int(number))
        try:
            yield ticket
        finally:
            raised = int(ticket.used)
            await self._write(aql.HAND_BACK_TICKET, key=key, ticket=ticket.number, raised=raised)

    async def _begin_tickets(self, website_id: str) -> str:
        """Create the website's tickets if they are missing, and return their key."""
        key = lasting_key(website_id)
        await self._write(aql.BEGIN_TICKETS, key=key, website=website_id)
        return key

    async def _write(self, text: str, **values: Any) -> list[Any]:
        return await self._connection.write(
            lambda db: query(db, text, c_revisions="learned_revisions", **values)
        )

    async def _tickets(self, website_id: str) -> Mapping[str, Any] | None:
        key = lasting_key(website_id)
        found = await self._connection.query(aql.TICKETS, c_revisions="learned_revisions", key=key)
        return found[0] if found else None

    async def _pages(self, text: str, website_id: str, **values: Any) -> AsyncIterator[Mapping[str, Any]]:
        after = ""
        while rows := await self._connection.query(
            text, website=website_id, after=after, page=PAGE, **values
        ):
            for row in rows:
                yield row
            after = rows[-1]["_key"]

    async def _observed(self, website_id: str, kind: SubjectKind) -> dict[str, ObservedStats]:
        rows = await self._connection.query(aql.LEARNED, c_learned="learned", website=website_id, kind=kind)
        return self._by_kind(website_id, rows)[kind]

    def _by_kind(
        self, website_id: str, rows: Iterable[Mapping[str, Any]]
    ) -> dict[SubjectKind, dict[str, ObservedStats]]:
        now, found = self._now(), {kind: dict[str, ObservedStats]() for kind in SUBJECT_KINDS}
        for kept in (self._checked(website_id, row, _kept) for row in rows):
            found[kept.subject.kind][kept.subject.name] = compute_observed(kept.tally, now, self._policy)
        return {kind: dict(sorted(each.items())) for kind, each in found.items()}

    def _checked(self, website_id: str, row: Mapping[str, Any], read: Callable[[Mapping[str, Any]], T]) -> T:
        try:
            return read(row)
        except (KeyError, TypeError, ValueError) as exc:
            raise StoreCorrupt(
                self._connection.address, f"learned numbers of {website_id!r}: {exc!r}"
            ) from exc


@dataclass(slots=True)
class _ArangoTicket:
    """A number taken before a change, and whether anything was changed under it."""

    number: int
    used: bool = False


class _OutcomeAlreadyCounted(Exception):
    """The outcome's id is known."""


def _row(website_id: str, key: str, kept: StoredTally, ticket: int) -> dict[str, Any]:
    copied = [{"origin": name, **to_json(share)} for name, share in sorted(kept.copied.items())]
    about = {"_key": key, "website_id": website_id, "kind": kept.subject.kind, "name": kept.subject.name}
    return {**about, **to_json(kept.tally), "ticket": ticket, "origin": kept.origin, "copied": copied}


def _kept(row: Mapping[str, Any]) -> StoredTally:
    copied = {str(each["origin"]): from_json(each) for each in row["copied"]}
    return StoredTally(LearnedSubject(row["kind"], row["name"]), from_json(row), str(row["origin"]), copied)


def _counted_id(row: Mapping[str, Any]) -> CountedId:
    return CountedId(str(row["outcome_id"]), datetime.fromtimestamp(row["expires_at"], UTC))
