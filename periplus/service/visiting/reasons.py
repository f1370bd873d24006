"""Why a part was not shown, as a visitor may be told.

The report's reasons are the owner's: they may quote conditions and errors. A visitor gets one of a few
plain ones, whose words are the page's (`static/words.json`).
"""

from __future__ import annotations

from typing import Literal

from agent.presenting.records import SegmentStatus

Why = Literal["time", "interest", "asked", "failed", "not_needed"]

_BEGINNINGS: tuple[tuple[str, Why], ...] = (
    ("time", "time"),
    ("to stay within", "time"),
    ("user_interest", "interest"),
    ("the visitor", "asked"),
)
"""How the player's reasons begin."""


def why(status: SegmentStatus, reason: str | None) -> Why:
    """The plain reason for one that was skipped, failed or left."""
    if status is SegmentStatus.FAILED:
        return "failed"
    said = (reason or "").lower()
    for beginning, plain in _BEGINNINGS:
        if said.startswith(beginning):
            return plain
    return "asked" if status is SegmentStatus.INTERRUPTED else "not_needed"
