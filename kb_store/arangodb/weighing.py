"""Recomputing what edges are believed to be and to cost, inside the transaction that changed it."""

from __future__ import annotations

from collections.abc import Collection

from arango.database import TransactionDatabase

from kb_schema.weights import LEAST_RELIABILITY, NO_RECOVERY_MS
from kb_store.arangodb import aql
from kb_store.arangodb.connection import query
from kb_store.learned import (
    DEFAULT_POLICY,
    ENOUGH_TIMED,
    LEAST_WEIGHT,
    PRIOR_WEIGHT,
    Policy,
    day_of,
    utc_now,
)

WEIGHED = ("global_recovery", "transitions")
"""Collections that `weigh` writes."""
READ_TO_WEIGH = ("group_membership", "learned")
"""Collections that it reads besides."""


def weigh(
    db: TransactionDatabase,
    *,
    screens: Collection[str] = (),
    groups: Collection[str] = (),
    policy: Policy = DEFAULT_POLICY,
    today: int | None = None,
) -> None:
    """The transitions that leave `screens`, and the recovery edges of `groups` with all that rests on them.

    Both are given by `_id`. `today` is the day since the epoch that decay counts to.
    """
    belief = {
        "today": day_of(utc_now()) if today is None else today,
        "half_life_days": policy.half_life_days,
        "prior": PRIOR_WEIGHT,
        "enough": ENOUGH_TIMED,
        "least_weight": LEAST_WEIGHT,
        "c_learned": "learned",
        "c_recoveries": "global_recovery",
    }
    touched = set(screens)
    if groups:
        query(db, aql.WEIGH_RECOVERIES, groups=sorted(groups), **belief)
        touched |= set(
            query(db, aql.SCREENS_OF_GROUPS, c_memberships="group_membership", groups=sorted(groups))
        )
    if touched:
        query(
            db,
            aql.WEIGH_TRANSITIONS,
            screens=sorted(touched),
            c_transitions="transitions",
            c_memberships="group_membership",
            least=LEAST_RELIABILITY,
            no_recovery_ms=NO_RECOVERY_MS,
            **belief,
        )
