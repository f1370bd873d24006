"""What an edge costs to whoever looks for a path (DESIGN 5): one formula for every engine.

The in-memory search adds tie-breakers to these numbers, ArangoDB stores them as top-level
attributes, and its AQL says the same again where edges are weighed on the server; a test holds
that text against this module. Not here: what to believe of an edge (`kb_store.learned`).
"""

from __future__ import annotations

import math

from kb_schema.answers import Objective

LEAST_RELIABILITY = 0.01
"""Reliabilities are clipped to [this, 1], so that every edge has a finite weight."""
NO_RECOVERY_MS = 5_000.0
"""What getting back from a failure takes where no recovery edge says."""


def edge_weights(
    expected_ms: float, reliability: float, recovery_ms: float = NO_RECOVERY_MS
) -> dict[Objective, float]:
    """One number per objective, none of them negative; less is better, and paths add them up.

    `balanced` is the expected time to arrive in milliseconds, `d + (1 - r) / r * (d + recovery)`:
    exact for edges that may be retried with independent attempts, a stand-in for the others.
    """
    r = min(1.0, max(LEAST_RELIABILITY, reliability))
    return {
        "fewest": 1.0,
        "fastest": expected_ms,
        "reliable": 0.0 - math.log(r),  # never -0.0
        "balanced": expected_ms + (1 - r) / r * (expected_ms + recovery_ms),
    }
