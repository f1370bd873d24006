"""Learned numbers: the port of their stores, and the mathematics that all stores share.

An outcome changes one *tally*. Tallies add up (`merge`), so that writers are independent and no store
reads before it writes:

- **Decay.** Outcomes count half after `HALF_LIFE_DAYS`; time goes in whole days, and a tally is kept
  as of its newest day. Within a day all weights are 1, so that counts are exact and the order in which
  outcomes arrive does not matter; across days it changes only the last bits of a float. Decay is by
  time and not by the number of observations, because websites change over time and because only then
  do outcomes commute.
- **Duration.** Sum and weight for the mean; for quantiles a histogram whose buckets grow by
  `GROWTH`, as DDSketch (Masson et al. 2019) has it: at most 194 buckets from 1 ms to a day, each
  value within (g - 1) / (g + 1) = 4.8 % of the exact one.
- **Reliability.** `posterior`: the authored value is a prior worth `PRIOR_WEIGHT` observations, kept
  apart from what was observed.

`mcp_server.knowledge.learned_weights` applies the numbers to knowledge, `change_cursor` finds changed
ones, and `origin_shares` copies them between stores.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol

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

HALF_LIFE_DAYS = 30.0
"""The number of days after which an outcome counts half."""

KEPT_DAYS = 30
"""How many days an `outcome_id` is remembered. Older outcomes are not counted, so none counts twice."""

LEEWAY = timedelta(days=1)
"""How far in the future an outcome's time may be: clocks differ."""

PRIOR_WEIGHT = 10.0
"""The number of observations that an authored reliability is worth."""

ENOUGH_TIMED = 5
"""The number of observations from which the observed mean is used."""

GROWTH = 1.1
"""The ratio of the upper bounds of neighbouring buckets of the duration histogram."""

SKETCH_ERROR = (GROWTH - 1) / (GROWTH + 1)
"""The largest relative error of a quantile, for durations of a millisecond and more."""

LEAST_WEIGHT = 1e-9
"""The total weight below which durations are dropped."""

SubjectKind = Literal["transition", "recovery", "element"]
SUBJECT_KINDS: tuple[SubjectKind, ...] = ("element", "recovery", "transition")


@dataclass(frozen=True, slots=True)
class LearnedSubject:
    """What numbers are kept of, within one website."""

    kind: SubjectKind
    name: str
    """A transition's or recovery edge's id, or `screen/element/strategy`; none of the parts has a slash."""


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """How fast learned numbers decay. Stores that share numbers must share it."""

    half_life_days: float = HALF_LIFE_DAYS

    def decay(self, days: int) -> float:
        """Return the weight that is left after some days; 1 for none and for negative ones."""
        return 1.0 if days <= 0 else math.pow(2.0, -days / self.half_life_days)


DEFAULT_POLICY = DecayPolicy()


@dataclass(frozen=True, slots=True)
class Tally:
    """The outcomes of one subject, added up, as of `day`."""

    day: int
    """Days since the epoch, in UTC."""
    succeeded: float = 0.0
    failed: float = 0.0
    seen: int = 0
    timed: int = 0
    timed_weight: float = 0.0
    timed_sum: float = 0.0
    """Milliseconds times weight."""
    buckets: Mapping[int, float] = field(default_factory=dict)
    """Bucket -> weight."""


OriginShares = Mapping[str, Tally]
"""One subject's numbers by the origin that counted them."""


@dataclass(frozen=True, slots=True)
class OutcomeReceipt:
    """What happened to reported outcomes, by outcome id."""

    counted: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    """Counted before."""
    untimely: tuple[str, ...] = ()
    """Too old, or from the future."""


@dataclass(frozen=True, slots=True)
class LearnedNumbers:
    """A website's numbers, or those that changed since an earlier reading."""

    mark: str
    """The value for `since` the next time."""
    whole: bool
    """True: these numbers replace all that was read before. False: only the changed ones."""
    transitions: Mapping[str, TransitionStats] = field(default_factory=dict)
    recoveries: Mapping[str, RecoveryStats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredTally:
    """One subject's numbers as a store keeps them."""

    subject: LearnedSubject
    tally: Tally
    """All of them."""
    origin: str = ""
    """The name of these counts in other stores; created with the first of them."""
    copied: Mapping[str, Tally] = field(default_factory=dict)
    """The part of `tally` that was copied from other stores, by origin."""


@dataclass(frozen=True, slots=True)
class CountedId:
    """The id of a counted outcome, and until when it must be remembered."""

    outcome_id: str
    expires: datetime


class LearnedStore(Protocol):
    """Tallies by website and subject, of no generation. Every method may raise `StoreUnavailable`.

    An outcome id counts once per website, however often and by however many it is sent; id and
    count are written in one transaction, the count in one statement that reads nothing back.
    Nothing is forgotten when knowledge drops what it is about: `forget` is for people to ask for.
    Implementations: `kb_store.sqlite`, `kb_store.mongodb`, `kb_store.arangodb` (beside the edges,
    whose weights follow), and `kb_store.learned.memory_learned_store`.
    """

    @property
    def address(self) -> str:
        """The address of the store for messages, without credentials."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""

    async def health(self) -> StoreHealth:
        """Return whether the store answers. Raises nothing."""

    async def record(self, outcomes: Sequence[Outcome]) -> OutcomeReceipt:
        """Count outcomes. Safe to repeat: a counted outcome is not counted again."""

    async def revision(self, website_id: str) -> str:
        """Return a text that changes when any number of the website does; cheap enough to read every second."""

    async def read(self, website_id: str, since: str | None = None) -> LearnedNumbers:
        """Return the numbers that servers weigh edges by: all, or those that changed since `since`.

        Also all if a day ended or numbers were deleted since then, because that changes every number or
        removes some. Numbers counted during the reading may be read twice.
        """

    async def transition_stats(self, website_id: str) -> Mapping[str, TransitionStats]:
        """Return statistics by transition id, as of now; only of observed ones."""

    async def recovery_stats(self, website_id: str) -> Mapping[str, RecoveryStats]:
        """Return statistics by recovery edge id."""

    async def element_stats(self, website_id: str) -> Mapping[ElementUse, ElementStats]:
        """Return statistics by screen, element and strategy."""

    async def counts(self, website_id: str) -> Mapping[SubjectKind, int]:
        """Return how many subjects have numbers, by kind; kinds without any are left out."""

    async def forget(self, website_id: str, subjects: Collection[LearnedSubject]) -> None:
        """Delete the numbers of these subjects. Safe to repeat."""

    # -- copying to another store (`kb_store.store_copy`)

    def tallies(self, website_id: str) -> AsyncIterator[StoredTally]:
        """Yield every subject's numbers."""

    def counted_ids(self, website_id: str) -> AsyncIterator[CountedId]:
        """Yield the ids of outcomes that are still remembered."""

    async def remember(self, website_id: str, ids: Sequence[CountedId]) -> int:
        """Mark outcomes as counted; return how many were unknown. Safe to repeat."""

    async def carry(self, website_id: str, shares: Mapping[LearnedSubject, OriginShares]) -> int:
        """Add what other stores counted; return how many subjects changed. Safe to repeat.

        What an origin counted is added once, however often and by whichever route it arrives.
        """


# -- one outcome ---------------------------------------------------------------------------------


def day_of(at: datetime) -> int:
    """Return the days since the epoch, in UTC."""
    return int(at.timestamp() // 86_400)


def is_countable(outcome: Outcome, now: datetime) -> bool:
    """Return whether an outcome may be counted at `now`."""
    return now - timedelta(days=KEPT_DAYS) <= outcome.at <= now + LEEWAY


def get_expiry(outcome: Outcome, now: datetime) -> datetime:
    """Return until when the outcome's id must be remembered; after that `is_countable` refuses it."""
    return max(outcome.at, now) + timedelta(days=KEPT_DAYS)


def subject_of(outcome: Outcome) -> LearnedSubject:
    """Return the subject of an outcome."""
    if outcome.transition_id is not None:
        return LearnedSubject("transition", outcome.transition_id)
    if outcome.recovery_id is not None:
        return LearnedSubject("recovery", outcome.recovery_id)
    return element_subject(outcome.element) if outcome.element is not None else LearnedSubject("element", "")


def element_subject(use: ElementUse) -> LearnedSubject:
    """Return an element's subject."""
    return LearnedSubject("element", f"{use.screen_id}/{use.element_id}/{use.strategy}")


def element_use(name: str) -> ElementUse:
    """Return the element of a subject's name."""
    from kb_schema.observed_outcomes import ElementUse  # noqa: PLC0415 - decision 0140

    screen_id, element_id, strategy = name.split("/")
    return ElementUse(screen_id=screen_id, element_id=element_id, strategy=strategy)


def tally_of(outcome: Outcome, now: datetime) -> Tally:
    """Return one outcome as a tally; one from the future counts as of now.

    Durations are whole milliseconds, so their sums are exact in any order.
    """
    timed = outcome.succeeded and outcome.duration_ms is not None
    ms = float(round(outcome.duration_ms)) if timed and outcome.duration_ms is not None else 0.0
    return Tally(
        day=day_of(min(outcome.at, now)),
        succeeded=1.0 if outcome.succeeded else 0.0,
        failed=0.0 if outcome.succeeded else 1.0,
        seen=1,
        timed=int(timed),
        timed_weight=float(timed),
        timed_sum=ms,
        buckets={bucket_of(ms): 1.0} if timed else {},
    )


# -- adding up -----------------------------------------------------------------------------------


def merge(one: Tally, other: Tally, policy: DecayPolicy = DEFAULT_POLICY) -> Tally:
    """Return the sum of both tallies, as of the newer one's day.

    The stores implement the same in their languages.
    """
    a, b = policy.decay(other.day - one.day), policy.decay(one.day - other.day)
    return Tally(
        day=max(one.day, other.day),
        succeeded=one.succeeded * a + other.succeeded * b,
        failed=one.failed * a + other.failed * b,
        seen=one.seen + other.seen,
        timed=one.timed + other.timed,
        timed_weight=one.timed_weight * a + other.timed_weight * b,
        timed_sum=one.timed_sum * a + other.timed_sum * b,
        buckets=merge_buckets(one.buckets, a, other.buckets, b),
    )


def merge_buckets(
    one: Mapping[int, float], a: float, other: Mapping[int, float], b: float
) -> dict[int, float]:
    """Return the sum of two scaled histograms."""
    found = {bucket: weight * a for bucket, weight in one.items()}
    for bucket, weight in other.items():
        found[bucket] = found.get(bucket, 0.0) + weight * b
    return found


def compute_observed(tally: Tally, now: datetime, policy: DecayPolicy = DEFAULT_POLICY) -> ObservedStats:
    """Return a tally as of now. Mean and quantile do not change by decay."""
    from kb_schema.observed_outcomes import ObservedStats  # noqa: PLC0415 - decision 0140

    left = policy.decay(day_of(now) - tally.day)
    known = tally.timed_weight * left > LEAST_WEIGHT
    return ObservedStats(
        succeeded=tally.succeeded * left,
        failed=tally.failed * left,
        seen=tally.seen,
        timed=tally.timed,
        mean_ms=tally.timed_sum / tally.timed_weight if known else None,
        p95_ms=quantile(tally.buckets, 0.95) if known else None,
    )


# -- durations -----------------------------------------------------------------------------------


def bucket_of(ms: float) -> int:
    """Return the bucket of a duration: bucket i ends at `GROWTH ** i`; bucket 0 is below 1 ms."""
    return 0 if ms <= 1.0 else math.ceil(math.log(ms) / math.log(GROWTH))


def value_of(bucket: int) -> float:
    """Return the value of a bucket: relatively as far from its lower end as from its upper end."""
    return 2.0 * math.pow(GROWTH, bucket) / (GROWTH + 1.0)


def quantile(buckets: Mapping[int, float], q: float) -> float | None:
    """Return the smallest duration that at least the share `q` of the weight does not exceed."""
    total = math.fsum(buckets.values())
    if total <= 0.0:
        return None
    ordered = sorted(buckets)
    reached = 0.0
    for bucket in ordered:
        reached += buckets[bucket]
        if reached >= q * total * (1.0 - 1e-12):
            return value_of(bucket)
    return value_of(ordered[-1])


# -- estimates -----------------------------------------------------------------------------------


def posterior(authored: float, seen: ObservedStats | None) -> float:
    """Return the estimated reliability: the authored one as ten observations, plus the observed ones."""
    if seen is None:
        return authored
    total = PRIOR_WEIGHT + seen.succeeded + seen.failed
    return min(1.0, max(0.0, (authored * PRIOR_WEIGHT + seen.succeeded) / total))


def expected_ms(authored: float, seen: ObservedStats | None) -> float:
    """Return the estimated duration: the observed mean from five observations on, else the authored one."""
    if seen is None or seen.timed < ENOUGH_TIMED or seen.mean_ms is None:
        return authored
    return seen.mean_ms


# -- statistics as answers -----------------------------------------------------------------------


def transition_stats(tallies: Mapping[str, ObservedStats]) -> dict[str, TransitionStats]:
    """Return observations by name as those of transitions."""
    from kb_schema.observed_outcomes import TransitionStats  # noqa: PLC0415 - decision 0140

    # Built from a checked model: there may be very many, so they are not validated again.
    return {
        name: TransitionStats.model_construct(transition_id=name, **seen.__dict__)
        for name, seen in tallies.items()
    }


def recovery_stats(tallies: Mapping[str, ObservedStats]) -> dict[str, RecoveryStats]:
    """Return observations by name as those of recovery edges."""
    from kb_schema.observed_outcomes import RecoveryStats  # noqa: PLC0415 - decision 0140

    return {name: RecoveryStats(recovery_id=name, **dict(seen)) for name, seen in tallies.items()}


def element_stats(tallies: Mapping[str, ObservedStats]) -> dict[ElementUse, ElementStats]:
    """Return observations by name as those of elements."""
    from kb_schema.observed_outcomes import ElementStats  # noqa: PLC0415 - decision 0140

    uses = {element_use(name): seen for name, seen in tallies.items()}
    return {use: ElementStats(element=use, **dict(seen)) for use, seen in uses.items()}


def new_origin() -> str:
    """Return a name for counts that begin now."""
    return secrets.token_hex(8)


def utc_now() -> datetime:
    """The default clock of stores."""
    return datetime.now(UTC)
