"""Recomputes the reliability and cost of edges inside the transaction that changes their numbers."""

from __future__ import annotations

from collections.abc import Collection

from arango.database import TransactionDatabase

from kb_schema.edge_weights import LEAST_RELIABILITY, NO_RECOVERY_MS
from kb_store.arangodb import aql
from kb_store.arangodb.connection import query
from kb_store.learned.learned_numbers import (
    DEFAULT_POLICY,
    ENOUGH_TIMED,
    LEAST_WEIGHT,
    PRIOR_WEIGHT,
    DecayPolicy,
    day_of,
    utc_now,
)

WEIGHED = ("global_recovery", "transitions")
"""Collections that `update_edge_weights` writes."""
READ_TO_WEIGH = ("group_membership", "learned")
"""Further collections that it reads."""


def update_edge_weights(
    db: TransactionDatabase,
    *,
    screens: Collection[str] = (),
    groups: Collection[str] = (),
    policy: DecayPolicy = DEFAULT_POLICY,
    today: int | None = None,
) -> None:
    """Recompute the transitions that leave `screens`, and the recovery edges of `groups` with all that
    depends on them.

    Both are given by `_id`. `today` is the day since the epoch to which numbers decay.
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
