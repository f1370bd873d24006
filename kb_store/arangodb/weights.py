"""What an edge costs, as top-level numbers that the server's path search can read (DESIGN 5).

`weightAttribute` takes a top-level attribute only, and what is missing there counts as a default,
so every transition has every number from the moment it is written. The same formulas stand in
`aql.py`, where other edges and learned numbers have to be looked at; a test holds both against the
desk's, which is a floor up and cannot be imported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LEAST_RELIABILITY = 0.01
"""Reliabilities are clipped to [this, 1], so that every edge has a finite weight."""
NO_RECOVERY_MS = 5_000.0
"""What getting back from a failure takes where no recovery edge says."""
UNKNOWN_MS = 1_000.0
UNKNOWN_RELIABILITY = 0.9
"""As `kb_schema` has them for edges that say nothing; for bodies that are no edge at all."""


@dataclass(frozen=True, slots=True)
class Measures:
    """An edge's expected time in milliseconds and its reliability in [0, 1]."""

    expected_ms: float = UNKNOWN_MS
    reliability: float = UNKNOWN_RELIABILITY


def weights_of(measures: Measures, recovery_ms: float = NO_RECOVERY_MS) -> dict[str, float]:
    """One number per objective, none of them negative."""
    ms, r = measures.expected_ms, min(1.0, max(LEAST_RELIABILITY, measures.reliability))
    return {
        "weight_fewest": 1.0,
        "weight_fastest": ms,
        "weight_reliable": 0.0 - math.log(r),  # never -0.0
        "weight_balanced": ms + (1 - r) / r * (ms + recovery_ms),
    }
