"""Learned numbers that end with the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kb_schema.learned import ElementStats, ElementUse, Observed, Outcome, RecoveryStats, TransitionStats
from kb_store.learned import (
    DEFAULT_POLICY,
    CountedId,
    Kept,
    Kind,
    Policy,
    Reading,
    Recorded,
    Shares,
    Subject,
    day_of,
    element_stats,
    expires,
    is_timely,
    merge,
    new_origin,
    observed,
    recovery_stats,
    subject_of,
    tally_of,
    transition_stats,
    utc_now,
)
from kb_store.learned_marks import Mark
from kb_store.learned_shares import with_shares
from kb_store.ports import Health


class MemoryLearnedStore:
    """A `LearnedStore` for tests and for servers without a store; the plainest of them."""

    def __init__(self, policy: Policy = DEFAULT_POLICY) -> None:
        self._policy = policy
        self._ids: dict[str, dict[str, CountedId]] = {}
        self._kept: dict[str, dict[Subject, Kept]] = {}
        self._changed: dict[str, dict[Subject, int]] = {}
        self._revisions: dict[str, int] = {}
        self._forgotten: dict[str, int] = {}

    @property
    def address(self) -> str:
        """Nowhere."""
        return "memory"

    async def prepare(self) -> None:
        """Nothing is missing."""

    async def health(self) -> Health:
        """It is there."""
        return Health(self.address, ok=True)

    async def record(self, outcomes: Iterable[Outcome]) -> Recorded:
        """See `LearnedStore`."""
        told: dict[str, list[str]] = {"counted": [], "repeated": [], "untimely": []}
        for outcome in outcomes:
            told[self._record(outcome)].append(outcome.outcome_id)
        return Recorded(*(tuple(ids) for ids in told.values()))

    def _record(self, outcome: Outcome) -> str:
        now, ids = utc_now(), self._ids.setdefault(outcome.website_id, {})
        if not is_timely(outcome, now):
            return "untimely"
        if outcome.outcome_id in ids:
            return "repeated"
        ids[outcome.outcome_id] = CountedId(outcome.outcome_id, expires(outcome, now))
        subject, new = subject_of(outcome), tally_of(outcome, now)
        old = self._kept.get(outcome.website_id, {}).get(subject)
        if old is None:
            self._put(outcome.website_id, Kept(subject, new, new_origin()))
        else:
            self._put(outcome.website_id, replace(old, tally=merge(old.tally, new, self._policy)))
        return "counted"

    def _put(self, website_id: str, kept: Kept) -> None:
        self._revisions[website_id] = revision = self._revisions.get(website_id, 0) + 1
        self._kept.setdefault(website_id, {})[kept.subject] = kept
        self._changed.setdefault(website_id, {})[kept.subject] = revision

    async def revision(self, website_id: str) -> str:
        """See `LearnedStore`."""
        return f"{self._revisions.get(website_id, 0)}@{day_of(utc_now())}"

    async def read(self, website_id: str, since: str | None = None) -> Reading:
        """See `LearnedStore`."""
        mark = Mark(self._revisions.get(website_id, 0), self._forgotten.get(website_id, 0), day_of(utc_now()))
        after = mark.since(since)
        return Reading(
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

    async def counts(self, website_id: str) -> Mapping[Kind, int]:
        """See `LearnedStore`."""
        return Counter(subject.kind for subject in self._kept.get(website_id, {}))

    async def forget(self, website_id: str, subjects: Collection[Subject]) -> None:
        """See `LearnedStore`."""
        for subject in subjects:
            if self._kept.get(website_id, {}).pop(subject, None) is not None:
                self._revisions[website_id] += 1
                self._forgotten[website_id] = self._forgotten.get(website_id, 0) + 1

    async def kept(self, website_id: str) -> AsyncIterator[Kept]:
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

    async def carry(self, website_id: str, shares: Mapping[Subject, Shares]) -> int:
        """See `LearnedStore`."""
        there, changed = self._kept.get(website_id, {}), 0
        for subject, given in shares.items():
            new = with_shares(subject, there.get(subject), given, self._policy)
            if new is not None:
                self._put(website_id, new)
                changed += 1
        return changed

    def _observed(self, website_id: str, kind: Kind, after: int | None = None) -> dict[str, Observed]:
        now, changed = utc_now(), self._changed.get(website_id, {})
        return {
            subject.name: observed(kept.tally, now, self._policy)
            for subject, kept in sorted(self._kept.get(website_id, {}).items(), key=lambda i: i[0].name)
            if subject.kind == kind and (after is None or changed[subject] > after)
        }
