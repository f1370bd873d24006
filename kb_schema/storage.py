"""What a run keeps for hours: journal, checkpoints, the locator cache, heal and request counters, events
(PACTS 9.2).

`agent/ports.py` and `kb_store/runs.py` exchange these values; what is kept for good is `runs.py`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from kb_schema.base import Model, Probability
from kb_schema.runs import Count, Moment
from kb_schema.selectors import Selector

LOCATOR_TTL_S = 3_600.0
"""PACTS 9.2: selectors may change."""
HEAL_TTL_S = 3_600.0
"""PACTS 9.2: per session. Every heal renews it."""
CHECKPOINT_TTL_S = 86_400.0
"""PACTS 9.2: for replay. Every replacement renews it."""
RATE_TTL_S = 60.0
"""PACTS 9.2: the window in which a client's requests are counted."""
EVENT_TTL_S = 86_400.0
"""As long as the checkpoints they go with; the documents are silent."""

MAX_CHECKPOINTS = 20
"""Names of checkpoints a run may have at once (WR: capped in number)."""
MAX_CHECKPOINT_BYTES = 1_000_000
"""Of one checkpoint's state as JSON (WR: capped in size)."""


class Locator(Model):
    """Where an element of a page was found: one entry of the locator cache (PACTS `pom:{url}:{element}`)."""

    website_id: str
    url: str
    element: str
    selector: Selector
    confidence: Probability


class Checkpoint(Model):
    """A run's state under a name, whole; the newest of a name replaces the one before."""

    run_id: str = Field(min_length=1)
    name: str = "latest"
    step_idx: Count = 0
    """How far the run was."""
    state: JsonValue
    created_at: Moment


class JournalEntry(Model):
    """An action that may not be repeated blindly: written before it, concluded after (DESIGN 6).

    An entry whose `outcome` is None was begun and never concluded: ask the page.
    """

    run_id: str = Field(min_length=1)
    key: str = Field(min_length=1)
    """Of the action within its run; the same action tried again has the same key."""
    action: str
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """What helps to find out whether it happened (a baseline read before acting), without secrets."""
    begun_at: Moment
    outcome: Literal["happened", "did_not_happen"] | None = None
    concluded_at: Moment | None = None


class StoredEvent(Model):
    """Something a run told while it worked, numbered within the run."""

    run_id: str = Field(min_length=1)
    seq: Count
    type: str
    data: dict[str, JsonValue] = Field(default_factory=dict)
    """Without secrets and without pages."""
    at: Moment


class CheckpointRefused(Exception):
    """A checkpoint beyond what one run may keep. Nothing was changed. `fix` says what to do."""

    def __init__(self, run_id: str, message: str, *, fix: str) -> None:
        self.run_id, self.message, self.fix = run_id, message, fix
        super().__init__(f"{message} -> {fix}")


class TooManyCheckpoints(CheckpointRefused):
    """All the names a run may have are taken by checkpoints that are still good."""

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
