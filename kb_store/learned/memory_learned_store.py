"""`MemoryLearnedStore`: learned numbers that end with the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kb_schema.observed_outcomes import (
    ElementStats,
    ElementUse,
    ObservedStats,
    Outcome,
    RecoveryStats,
    TransitionStats,
)
from kb_store.learned.change_cursor import ChangeCursor
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
    compute_observed,
    day_of,
    element_stats,
    get_expiry,
    is_countable,
    merge,
    new_origin,
    recovery_stats,
    subject_of,
    tally_of,
    transition_stats,
    utc_now,
)
from kb_store.learned.origin_shares import add_shares
from kb_store.ports import StoreHealth


class MemoryLearnedStore:
    """A `LearnedStore` for tests and for servers without a store; the simplest one."""

    def __init__(self, policy: DecayPolicy = DEFAULT_POLICY) -> None:
        self._policy = policy
        self._ids: dict[str, dict[str, CountedId]] = {}
        self._kept: dict[str, dict[LearnedSubject, StoredTally]] = {}
        self._changed: dict[str, dict[LearnedSubject, int]] = {}
        self._revisions: dict[str, int] = {}
        self._forgotten: dict[str, int] = {}

    @property
    def address(self) -> str:
        """A constant: it has no address."""
        return "memory"

    async def prepare(self) -> None:
        """Do nothing."""

    async def health(self) -> StoreHealth:
        """Return that it answers."""
        return StoreHealth(self.address, ok=True)

    async def record(self, outcomes: Iterable[Outcome]) -> OutcomeReceipt:
        """See `LearnedStore`."""
        receipt: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        for outcome in outcomes:
            receipt[self._record(outcome)].append(outcome.outcome_id)
        return OutcomeReceipt(*(tuple(ids) for ids in receipt.values()))

    def _record(self, outcome: Outcome) -> str:
        now, ids = utc_now(), self._ids.setdefault(outcome.website_id, {})
        if not is_countable(outcome, now):
            return "untimely"
        if outcome.outcome_id in ids:
            return "repeated"
        ids[outcome.outcome_id] = CountedId(outcome.outcome_id, get_expiry(outcome, now))
        subject, new = subject_of(outcome), tally_of(outcome, now)
        old = self._kept.get(outcome.website_id, {}).get(subject)
        if old is None:
            self._put(outcome.website_id, StoredTally(subject, new, new_origin()))
        else:
            self._put(outcome.website_id, replace(old, tally=merge(old.tally, new, self._policy)))
        return "counted"

    def _put(self, website_id: str, kept: StoredTally) -> None:
        self._revisions[website_id] = revision = self._revisions.get(website_id, 0) + 1
        self._kept.setdefault(website_id, {})[kept.subject] = kept
        self._changed.setdefault(website_id, {})[kept.subject] = revision

    async def revision(self, website_id: str) -> str:
        """See `LearnedStore`."""
        return f"{self._revisions.get(website_id, 0)}@{day_of(utc_now())}"

    async def read(self, website_id: str, since: str | None = None) -> LearnedNumbers:
        """See `LearnedStore`."""
        mark = ChangeCursor(
            self._revisions.get(website_id, 0), self._forgotten.get(website_id, 0), day_of(utc_now())
        )
        after = mark.since(since)
        return LearnedNumbers(
            str(mark),
            after is None,
            transition_stats(self._observed(website_id, "transition", after)),
            recovery_stats(self._observed(website_id, "recovery", after)),
        )

    async def transition_stats(self, website_id: str) -> Mapping[str, TransitionStats]:
        """See `LearnedStore`."""
        return transition_stats(self._observed(website_id, "transition"))

    async def recovery_stats(self, website_id: str) -> Mapping[str, RecoveryStats]:
        """See `LearnedStore`."""
        return recovery_stats(self._observed(website_id, "recovery"))

    async def element_stats(self, website_id: str) -> Mapping[ElementUse, ElementStats]:
        """See `LearnedStore`."""
        return element_stats(self._observed(website_id, "element"))

    async def counts(self, website_id: str) -> Mapping[SubjectKind, int]:
        """See `LearnedStore`."""
        return Counter(subject.kind for subject in self._kept.get(website_id, {}))

    async def forget(self, website_id: str, subjects: Collection[LearnedSubject]) -> None:
        """See `LearnedStore`."""
        for subject in subjects:
            if self._kept.get(website_id, {}).pop(subject, None) is not None:
                self._revisions[website_id] += 1
                self._forgotten[website_id] = self._forgotten.get(website_id, 0) + 1

    async def tallies(self, website_id: str) -> AsyncIterator[StoredTally]:
        """See `LearnedStore`."""
        for subject in sorted(self._kept.get(website_id, {}), key=lambda each: (each.kind, each.name)):
            yield self._kept[website_id][subject]

    async def counted_ids(self, website_id: str) -> AsyncIterator[CountedId]:
        """See `LearnedStore`."""
        now = utc_now()
        for each in list(self._ids.get(website_id, {}).values()):
            if each.expires > now:
                yield each

    async def remember(self, website_id: str, ids: Sequence[CountedId]) -> int:
        """See `LearnedStore`."""
        known = self._ids.setdefault(website_id, {})
        before = len(known)
        for each in ids:
            known.setdefault(each.outcome_id, each)
        return len(known) - before

    async def carry(self, website_id: str, shares: Mapping[LearnedSubject, OriginShares]) -> int:
        """See `LearnedStore`."""
        there, changed = self._kept.get(website_id, {}), 0
        for subject, given in shares.items():
            new = add_shares(subject, there.get(subject), given, self._policy)
            if new is not None:
                self._put(website_id, new)
                changed += 1
        return changed

    def _observed(
        self, website_id: str, kind: SubjectKind, after: int | None = None
    ) -> dict[str, ObservedStats]:
        now, changed = utc_now(), self._changed.get(website_id, {})
        return {
            subject.name: compute_observed(kept.tally, now, self._policy)
            for subject, kept in sorted(self._kept.get(website_id, {}).items(), key=lambda i: i[0].name)
            if subject.kind == kind and (after is None or changed[subject] > after)
        }
