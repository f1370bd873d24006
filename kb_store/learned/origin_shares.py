"""Splits numbers by the store that counted them, so that copying between stores counts nothing twice.

Every store counts every subject under its own *origin*. What one origin has counted only grows, so of two
copies the one with more outcomes contains the other: adding the difference is correct however often a copy is
repeated, over however many stores it came, and whatever was counted here meanwhile. Counts that restart after
`forget` have a new origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from kb_store.learned.learned_numbers import (
    DEFAULT_POLICY,
    DecayPolicy,
    LearnedSubject,
    OriginShares,
    StoredTally,
    Tally,
    merge,
    new_origin,
)

_NOTHING = 1e-12
"""The relative weight below which the rest of a subtraction is rounding."""


def split_by_origin(kept: StoredTally, policy: DecayPolicy = DEFAULT_POLICY) -> dict[str, Tally]:
    """Return what each origin counted of a subject."""
    own = reduce(lambda left, part: subtract_tally(left, part, policy), kept.copied.values(), kept.tally)
    return {**({kept.origin: own} if own.seen > 0 else {}), **kept.copied}


def add_shares(
    subject: LearnedSubject,
    kept: StoredTally | None,
    given: OriginShares,
    policy: DecayPolicy = DEFAULT_POLICY,
) -> StoredTally | None:
    """Return what a store keeps after `given` is added; None if `given` has nothing new."""
    tally, copied, origin = None, dict[str, Tally](), new_origin()
    if kept is not None:
        tally, copied, origin = kept.tally, dict(kept.copied), kept.origin
    changed = False
    for name, share in sorted(given.items()):
        had = copied.get(name)
        if name == origin or share.seen <= (0 if had is None else had.seen):
            continue
        new = share if had is None else subtract_tally(share, had, policy)
        tally = new if tally is None else merge(tally, new, policy)
        copied[name], changed = share, True
    return StoredTally(subject, tally, origin, copied) if changed and tally is not None else None


def subtract_tally(whole: Tally, part: Tally, policy: DecayPolicy = DEFAULT_POLICY) -> Tally:
    """Return `whole` without `part`, which was added to it: the inverse of `merge`, as of the day of `whole`."""
    left = policy.decay(whole.day - part.day)

    def weight(of_whole: float, of_part: float) -> float:
        rest = of_whole - of_part * left
        return rest if rest > of_whole * _NOTHING else 0.0

    buckets = {at: weight(each, part.buckets.get(at, 0.0)) for at, each in whole.buckets.items()}
    return Tally(
        day=whole.day,
        succeeded=weight(whole.succeeded, part.succeeded),
        failed=weight(whole.failed, part.failed),
        seen=max(0, whole.seen - part.seen),
        timed=max(0, whole.timed - part.timed),
        timed_weight=weight(whole.timed_weight, part.timed_weight),
        timed_sum=weight(whole.timed_sum, part.timed_sum),
        buckets={at: each for at, each in buckets.items() if each > 0.0},
    )


def to_json(tally: Tally) -> dict[str, Any]:
    """Return a tally as JSON, as stores keep copied ones."""
    numbers = {name: getattr(tally, name) for name in Tally.__dataclass_fields__ if name != "buckets"}
    return {**numbers, "buckets": [{"at": at, "weight": each} for at, each in sorted(tally.buckets.items())]}


def from_json(data: Mapping[str, Any]) -> Tally:
    """Return the tally of `to_json`. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
    numbers = {name: data[name] for name in Tally.__dataclass_fields__ if name != "buckets"}
    buckets = {int(bucket["at"]): float(bucket["weight"]) for bucket in data["buckets"]}
    return Tally(**numbers, buckets=buckets)
