"""What a path search minimises (KS 9.6)."""

from __future__ import annotations

from typing import Literal

Objective = Literal["fewest", "fastest", "reliable", "balanced"]
"""The number of transitions; the time; the probability of a failure; the expected time with retries."""
DEFAULT_OBJECTIVE: Objective = "balanced"
