"""The cost of an edge in a path search: one formula for every search engine.

The in-memory search adds tie-breakers to these numbers, and ArangoDB stores them as top-level attributes. The
AQL text repeats the formula; a test compares the two. How much to trust an edge is
`kb_store.learned.learned_numbers`.
"""

from __future__ import annotations

import math

from kb_schema.objectives import Objective

LEAST_RELIABILITY = 0.01
"""Reliabilities are clipped to [this, 1], so that every edge has a finite weight."""
NO_RECOVERY_MS = 5_000.0
"""The time to recover from a failure if no recovery edge states one."""


def edge_weights(
    expected_ms: float, reliability: float, recovery_ms: float = NO_RECOVERY_MS
) -> dict[Objective, float]:
    """Return one non-negative number per objective; lower is better, and paths add them up.

    `balanced` is the expected time to arrive in milliseconds, `d + (1 - r) / r * (d + recovery)`. It is exact
    for edges that are retried with independent attempts, and an approximation for others.
    """
    r = min(1.0, max(LEAST_RELIABILITY, reliability))
    return {
        "fewest": 1.0,
        "fastest": expected_ms,
        "reliable": 0.0 - math.log(r),  # avoids -0.0
        "balanced": expected_ms + (1 - r) / r * (expected_ms + recovery_ms),
    }
