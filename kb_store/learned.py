"""Learned numbers: the port of stores that keep them, and the mathematics all of them share.

An outcome changes one *tally*. Tallies add up (`merge`), so that writers need not know of each other
and no store reads before it writes:

- **Decay.** Outcomes count half after `HALF_LIFE_DAYS`; time goes in whole days, and a tally is kept
  as of its newest day. Within a day all weights are 1, so that counts are exact and the order in which
  outcomes arrive does not matter at all; across days it matters to the last bits of a float only.
  By the calendar and not by the number of observations, because websites change on the calendar and
  because only then do outcomes commute.
- **Duration.** Sum and weight for the mean; for quantiles a histogram whose buckets grow by
  `GROWTH`, as DDSketch (Masson et al. 2019) has it: at most 194 buckets from 1 ms to a day, each
  value within (g - 1) / (g + 1) = 4.8 % of what it stands for.
- **Reliability.** `posterior`: the authored value is a prior worth `PRIOR_WEIGHT` observations, kept
  apart from what was observed.

Not here: which knowledge the numbers belong to, and who uses them (`mcp_server.learning`); how only
what changed is read (`learned_marks`), and how numbers move between stores (`learned_shares`).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from kb_schema.learned import ElementStats, ElementUse, Observed, Outcome, RecoveryStats, TransitionStats
from kb_store.ports import Health

HALF_LIFE_DAYS = 30.0
"""After how many days an outcome counts half."""

KEPT_DAYS = 30
"""How long an `outcome_id` is remembered. Older outcomes are not counted, so that none counts twice."""

LEEWAY = timedelta(days=1)
"""How far in the future an outcome may be said to be: clocks differ."""

PRIOR_WEIGHT = 10.0
"""Observations an authored reliability is worth (DESIGN 5)."""

ENOUGH_TIMED = 5
"""Observations after which the observed mean is believed (DESIGN 5)."""

GROWTH = 1.1
"""Each bucket of the duration histogram ends this much higher than the one before."""

SKETCH_ERROR = (GROWTH - 1) / (GROWTH + 1)
"""The largest relative error of a quantile, for durations of a millisecond and more."""

LEAST_WEIGHT = 1e-9
"""Durations that have decayed below this weight altogether say nothing any more."""

Kind = Literal["transition", "recovery", "element"]
KINDS: tuple[Kind, ...] = ("element", "recovery", "transition")


@dataclass(frozen=True, slots=True)
class Subject:
    """What numbers are kept of, within one website."""

    kind: Kind
    name: str
    """A transition's or recovery edge's id; `screen/element/strategy`: none of them has a slash."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How fast what was learned is forgotten. Stores that share numbers must share it."""

    half_life_days: float = HALF_LIFE_DAYS

    def decay(self, days: int) -> float:
        """What is left of a weight after so many days; 1 for none and for negative ones."""
        return 1.0 if days <= 0 else math.pow(2.0, -days / self.half_life_days)


DEFAULT_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Tally:
    """Outcomes of one subject, added up, as of `day`."""

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


Shares = Mapping[str, Tally]
"""One subject's numbers, taken apart by the origin that counted them."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of outcomes that were sent, by outcome id."""

    counted: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    """Counted before."""
    untimely: tuple[str, ...] = ()
    """Older than ids are remembered, or from the future."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A website's numbers, or what of them changed since an earlier reading."""

    mark: str
    """What to give as `since` the next time."""
    whole: bool
    """Everything there is, in place of whatever was read before; else only what changed."""
    transitions: Mapping[str, TransitionStats] = field(default_factory=dict)
    recoveries: Mapping[str, RecoveryStats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """One subject's numbers as a store keeps them."""

    subject: Subject
    tally: Tally
    """All of them."""
    origin: str = ""
    """What these counts are known as in other stores; made up with the first of them."""
    copied: Mapping[str, Tally] = field(default_factory=dict)
    """What of `tally` was counted elsewhere and copied here, by the origin that counted it."""


@dataclass(frozen=True, slots=True)
class CountedId:
    """The id of an outcome that was counted, and until when it must be remembered."""

    outcome_id: str
    expires: datetime


class LearnedStore(Protocol):
    """Tallies by website and subject, of no generation. Every method may raise `StoreUnavailable`.

    An outcome id counts once per website, however often and by however many it is sent; id and
    count are written in one transaction, the count in one statement that reads nothing back.
    Nothing is forgotten when knowledge drops what it is about: `forget` is for people to ask for.
    Implementations: `kb_store.embedded`, `kb_store.mongodb`, `kb_store.arangodb` (beside the edges,
    whose weights follow), and `kb_store.learned_memory`.
    """

    @property
    def address(self) -> str:
        """Where the store is, for messages: never with credentials."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""

    async def health(self) -> Health:
        """Whether the store answers. Raises nothing."""

    async def record(self, outcomes: Sequence[Outcome]) -> Recorded:
        """Count outcomes. Safe to repeat: what was counted is not counted again."""

    async def revision(self, website_id: str) -> str:
        """A text that changes when any number of the website does; cheap enough to ask every second."""

    async def read(self, website_id: str, since: str | None = None) -> Reading:
        """What servers weigh edges by: all of it, or what changed after the reading marked `since`.

        All of it, too, where a day ended or something was forgotten since then: that changes every
        number, or takes numbers away. What was counted while this is read may be read twice.
        """

    async def transition_stats(self, website_id: str) -> Mapping[str, TransitionStats]:
        """By transition id, as of now; only those something was observed of."""

    async def recovery_stats(self, website_id: str) -> Mapping[str, RecoveryStats]:
        """By recovery edge's id."""

    async def element_stats(self, website_id: str) -> Mapping[ElementUse, ElementStats]:
        """By screen, element and strategy."""

    async def counts(self, website_id: str) -> Mapping[Kind, int]:
        """Of how many subjects something was learned, by kind; kinds without any are left out."""

    async def forget(self, website_id: str, subjects: Collection[Subject]) -> None:
        """Drop what was learned of these. Safe to repeat."""

    # -- moving to another store (`kb_store.copying`)

    def kept(self, website_id: str) -> AsyncIterator[Kept]:
        """Every subject's numbers."""

    def counted_ids(self, website_id: str) -> AsyncIterator[CountedId]:
        """The ids of outcomes that are still remembered."""

    async def remember(self, website_id: str, ids: Sequence[CountedId]) -> int:
        """Count none of these outcomes again; returns how many were not known. Safe to repeat."""

    async def carry(self, website_id: str, shares: Mapping[Subject, Shares]) -> int:
        """Add what was counted elsewhere; returns how many subjects that changed. Safe to repeat.

        What an origin counted is added once, however often and by whichever way it arrives.
        """


# -- one outcome ---------------------------------------------------------------------------------


def day_of(at: datetime) -> int:
    """Days since the epoch, in UTC."""
    return int(at.timestamp() // 86_400)


def is_timely(outcome: Outcome, now: datetime) -> bool:
    """Whether an outcome may be counted at `now` at all."""
    return now - timedelta(days=KEPT_DAYS) <= outcome.at <= now + LEEWAY


def expires(outcome: Outcome, now: datetime) -> datetime:
    """Until when the outcome's id must be remembered: `is_timely` then refuses it instead."""
    return max(outcome.at, now) + timedelta(days=KEPT_DAYS)


def subject_of(outcome: Outcome) -> Subject:
    """What an outcome is about."""
    if outcome.transition_id is not None:
        return Subject("transition", outcome.transition_id)
    if outcome.recovery_id is not None:
        return Subject("recovery", outcome.recovery_id)
    return element_subject(outcome.element) if outcome.element is not None else Subject("element", "")


def element_subject(use: ElementUse) -> Subject:
    """An element's subject."""
    return Subject("element", f"{use.screen_id}/{use.element_id}/{use.strategy}")


def element_use(name: str) -> ElementUse:
    """The element of a subject's name."""
    screen_id, element_id, strategy = name.split("/")
    return ElementUse(screen_id=screen_id, element_id=element_id, strategy=strategy)


def tally_of(outcome: Outcome, now: datetime) -> Tally:
    """One outcome as a tally of its own; one from the future counts as of now.

    Durations are kept in whole milliseconds: sums of them are exact whatever their order.
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


def merge(one: Tally, other: Tally, policy: Policy = DEFAULT_POLICY) -> Tally:
    """Both tallies added up, as of the newer one's day. Stores say the same in their own words."""
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
    """Two histograms, each scaled, added up."""
    found = {bucket: weight * a for bucket, weight in one.items()}
    for bucket, weight in other.items():
        found[bucket] = found.get(bucket, 0.0) + weight * b
    return found


def observed(tally: Tally, now: datetime, policy: Policy = DEFAULT_POLICY) -> Observed:
    """A tally as of now. The mean and the quantile do not change by waiting."""
    left = policy.decay(day_of(now) - tally.day)
    known = tally.timed_weight * left > LEAST_WEIGHT
    return Observed(
        succeeded=tally.succeeded * left,
        failed=tally.failed * left,
        seen=tally.seen,
        timed=tally.timed,
        mean_ms=tally.timed_sum / tally.timed_weight if known else None,
        p95_ms=quantile(tally.buckets, 0.95) if known else None,
    )


# -- durations -----------------------------------------------------------------------------------


def bucket_of(ms: float) -> int:
    """The bucket of a duration: bucket i ends at `GROWTH ** i`; what is below 1 ms is in bucket 0."""
    return 0 if ms <= 1.0 else math.ceil(math.log(ms) / math.log(GROWTH))


def value_of(bucket: int) -> float:
    """What a bucket's durations are told as: as far, relatively, from its one end as from the other."""
    return 2.0 * math.pow(GROWTH, bucket) / (GROWTH + 1.0)


def quantile(buckets: Mapping[int, float], q: float) -> float | None:
    """The smallest duration that at least the share `q` of the weight does not exceed."""
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


# -- what to believe -----------------------------------------------------------------------------


def posterior(authored: float, seen: Observed | None) -> float:
    """The reliability to believe: the authored one as ten observations, and the observed ones."""
    if seen is None:
        return authored
    total = PRIOR_WEIGHT + seen.succeeded + seen.failed
    return min(1.0, max(0.0, (authored * PRIOR_WEIGHT + seen.succeeded) / total))


def expected_ms(authored: float, seen: Observed | None) -> float:
    """The duration to believe: the observed mean after five observations, else the authored one."""
    if seen is None or seen.timed < ENOUGH_TIMED or seen.mean_ms is None:
        return authored
    return seen.mean_ms


# -- as they are told ----------------------------------------------------------------------------


def transition_stats(tallies: Mapping[str, Observed]) -> dict[str, TransitionStats]:
    """Observations by name as transitions'."""
    # Built from a checked model: nothing to check again, and there may be very many.
    return {
        name: TransitionStats.model_construct(transition_id=name, **seen.__dict__)
        for name, seen in tallies.items()
    }


def recovery_stats(tallies: Mapping[str, Observed]) -> dict[str, RecoveryStats]:
    """Observations by name as recovery edges'."""
    return {name: RecoveryStats(recovery_id=name, **dict(seen)) for name, seen in tallies.items()}


def element_stats(tallies: Mapping[str, Observed]) -> dict[ElementUse, ElementStats]:
    """Observations by name as elements'."""
    uses = {element_use(name): seen for name, seen in tallies.items()}
    return {use: ElementStats(element=use, **dict(seen)) for use, seen in uses.items()}


def new_origin() -> str:
    """A name for counts that begin now."""
    return secrets.token_hex(8)


def utc_now() -> datetime:
    """The clock of stores that are given none."""
    return datetime.now(UTC)
