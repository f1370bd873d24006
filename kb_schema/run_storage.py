"""Records that a run keeps for hours (PACTS 9.2).

Journal, checkpoints, the locator cache, heal and request counters, events. `agent/ports.py` and
`kb_store/runs/run_store.py` exchange these values; permanent records are in `run_records.py`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from kb_schema.base import Model
from kb_schema.run_records import Count, Moment

LOCATOR_TTL_S = 3_600.0
"""PACTS 9.2: selectors may change."""
HEAL_TTL_S = 3_600.0
"""PACTS 9.2: per session. Every heal renews it."""
CHECKPOINT_TTL_S = 86_400.0
"""PACTS 9.2: for replay. Every replacement renews it."""
CLOCK_TOLERANCE_S = 2 * 86_400.0
"""How much longer a checkpoint is kept: one written a day behind is still there for a process a day ahead."""
RATE_TTL_S = 60.0
"""PACTS 9.2: the window in which a client's requests are counted."""
EVENT_TTL_S = 86_400.0
"""As long as the checkpoints they belong to; PACTS states no time."""

MAX_CHECKPOINTS = 20
"""The most checkpoints of a run (WR: capped in number)."""
MAX_CHECKPOINT_BYTES = 1_000_000
"""The most bytes of a checkpoint's state as JSON (WR: capped in size)."""


class Checkpoint(Model):
    """A run's complete state under a name; it replaces the one before of that name."""

    run_id: str = Field(min_length=1)
    name: str = "latest"
    step_idx: Count = 0
    """The step that the run had reached."""
    state: JsonValue
    created_at: Moment


class JournalEntry(Model):
    """A non-idempotent action: written before it starts, concluded afterwards.

    If `outcome` is None, it was started and never concluded: check the page.
    """

    run_id: str = Field(min_length=1)
    key: str = Field(min_length=1)
    """Identifies the action within its run; a retry has the same key."""
    action: str
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """What helps to find out whether it happened (a reading taken before), without secrets."""
    begun_at: Moment
    outcome: Literal["happened", "did_not_happen"] | None = None
    concluded_at: Moment | None = None


class StoredEvent(Model):
    """An event of a run, numbered within the run."""

    run_id: str = Field(min_length=1)
    seq: Count
    type: str
    data: dict[str, JsonValue] = Field(default_factory=dict)
    """The event's data, without secrets and without pages."""
    at: Moment


class CheckpointRefused(Exception):
    """A checkpoint beyond the limits of a run. Nothing was changed. `fix` says what to do."""

    def __init__(self, run_id: str, message: str, *, fix: str) -> None:
        self.run_id, self.message, self.fix = run_id, message, fix
        super().__init__(f"{message} -> {fix}")


class TooManyCheckpoints(CheckpointRefused):
    """The run already has the most checkpoints it may have."""

    def __init__(self, run_id: str, *, limit: int) -> None:
        self.limit = limit
        super().__init__(
            run_id,
            f"run {run_id!r} has {limit} checkpoints already",
            fix="replace one by using its name, or drop one",
        )


class CheckpointTooLarge(CheckpointRefused):
    """The state is larger than a checkpoint may be."""

    def __init__(self, run_id: str, *, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__(
            run_id,
            f"a checkpoint of run {run_id!r} has {size:,} bytes, {limit:,} are allowed",
            fix="keep large data in a file and only its place in the checkpoint",
        )
