"""The port of the run-time shelves (PACTS 9): runs and what belongs to them, for good and for hours.

`RunStore` is all of it; `agent/ports.py` declares the small parts the agent uses, which any
`RunStore` satisfies. Implementations: `kb_store.embedded.runs`, `kb_store.mongodb.runs`. Each
must pass `tests/kb_store/test_runs.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from kb_schema.base import Model
from kb_schema.runs import Artifact, Metric, RunEnding, RunStatus, StoredRun, StoredStep
from kb_schema.storage import (
    EVENT_TTL_S,
    RATE_TTL_S,
    Checkpoint,
    CheckpointTooLarge,
    JournalEntry,
    Locator,
    StoredEvent,
)
from kb_store.errors import StoreUnavailable
from kb_store.lessons import LessonShelf
from kb_store.ports import Health
from kb_store.run_leases import RunLeases

UNFINISHED_GRACE = timedelta(days=1)
"""A run without an end may be going on: it is not swept before it is this old."""

LAST_CHARACTER = "\U0010ffff"
"""Sorts after every other: what begins with a prefix lies between it and it followed by this."""


class RunStore(Protocol):
    """Runs with their steps, artifacts and metrics; journal, checkpoints, locators, heals, events.

    It decides nothing about runs. Every write may be sent again: it is the same write. What has a
    time to live is not given back once it is over, whether or not it was deleted yet. All methods
    raise `StoreUnavailable` where the store does not answer.
    """

    @property
    def address(self) -> str:
        """Where the store is, for messages: never with credentials."""

    @property
    def leases(self) -> RunLeases:
        """Who carries which run out."""

    @property
    def memory(self) -> LessonShelf:
        """What failed where in earlier runs, and what worked instead."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""

    async def close(self) -> None:
        """Give connections back. Safe to repeat."""

    async def health(self) -> Health:
        """Whether the store answers. Raises nothing."""

    # -- runs

    async def begin_run(self, run: StoredRun) -> bool:
        """Keep a run that begins; False where its id is known, and then nothing changes."""

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Say how a run ended, in one step; the last word counts. False where there is no such run."""

    async def run(self, run_id: str) -> StoredRun | None:
        """One run."""

    async def runs(
        self,
        *,
        website_id: str | None = None,
        req_id: str | None = None,
        id_prefix: str = "",
        limit: int = 100,
    ) -> Sequence[StoredRun]:
        """The newest runs first. `id_prefix` is compared literally."""

    async def runs_by_id(
        self, *, website_id: str | None = None, after: str = "", limit: int = 500
    ) -> Sequence[StoredRun]:
        """The runs whose id comes after `after`, by id: for whoever goes through all there are."""

    async def run_counts(self, website_id: str) -> Mapping[RunStatus | None, int]:
        """How many runs of a website there are by how they ended; None: they go on, or were killed."""

    async def append_step(self, step: StoredStep) -> bool:
        """Keep a step; False where the run has one of that `step_idx`, which stays as it is."""

    async def steps(self, run_id: str) -> Sequence[StoredStep]:
        """A run's steps, by `step_idx`."""

    async def step_counts(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """How many steps each of these runs has; runs without any are left out."""

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep what a run left; replaces the one of that name."""

    async def artifacts(self, run_id: str) -> Sequence[Artifact]:
        """What a run left, by name."""

    async def add_metric(self, metric: Metric) -> bool:
        """Keep a measurement; False where its `metric_id` is known."""

    async def metrics(self, run_id: str) -> Sequence[Metric]:
        """A run's measurements, in the order of time, name and id."""

    async def sweep_runs(self, website_id: str, *, before: datetime) -> int:
        """Delete what belongs to a website's runs that ended before a time; returns how many runs.

        A run without an end goes once it began `UNFINISHED_GRACE` before now and before `before`.
        """

    # -- journal

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Write down what is about to be done; where the key is known, the entry there is already."""

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Write down how it came out; False where nothing was begun under that key."""

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """A run's entries, in the order of time and key."""

    # -- checkpoints

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint of that name, or make it. Raises `CheckpointRefused`."""

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """One checkpoint that is still good."""

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """A run's good checkpoints, by name."""

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Forget one. Safe to repeat."""

    # -- the locator cache

    async def put_locator(self, locator: Locator) -> None:
        """Remember where an element was found, for an hour from now."""

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Where it was found, if that is still good."""

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """It is not there any more. Safe to repeat."""

    # -- heal counters

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Count one more, in one atomic step; returns how many it makes within the hour."""

    async def heals(self, run_id: str, selector: str) -> int:
        """How many there were; 0 once an hour passed without any."""

    # -- rates

    async def count_request(self, client_id: str) -> float:
        """Count one more request of a client, in one atomic step; returns how many that makes.

        Within the last minute, as a sliding window of two (PACTS 9.2): of the minute before, the
        part that is not over yet counts.
        """

    # -- events

    async def append_events(self, events: Sequence[StoredEvent], *, keep_s: float = EVENT_TTL_S) -> None:
        """Keep events for so many seconds; those whose number a run has already stay as they are."""

    async def events(self, run_id: str, *, after: int = -1, limit: int = 1_000) -> Sequence[StoredEvent]:
        """A run's good events with a number above `after`, by number."""


@asynccontextmanager
async def open_runs(data_dir: Path, mongodb_url: str | None = None) -> AsyncIterator[RunStore]:
    """The run store a configuration asks for, made ready, closed at the end.

    Raises `StoreUnavailable` where it does not answer.
    """
    store = choose_runs(data_dir, mongodb_url)
    try:
        await store.prepare()
        yield store
    finally:
        await store.close()


def choose_runs(data_dir: Path, mongodb_url: str | None = None) -> RunStore:
    """As `open_runs`, not yet made ready; the caller closes it."""
    if mongodb_url is None:
        from kb_store.embedded.database import Database  # noqa: PLC0415 - the adapters import this module
        from kb_store.embedded.runs import EmbeddedRunStore  # noqa: PLC0415

        return EmbeddedRunStore(Database(data_dir / "knowledge.sqlite3"))
    try:
        from kb_store.mongodb.connection import Connection  # noqa: PLC0415 - an optional extra
        from kb_store.mongodb.runs import MongoRunStore  # noqa: PLC0415
    except ImportError as exc:
        raise StoreUnavailable(
            "mongodb://...",
            f"its driver is not installed ({exc.name})",
            fix="pip install 'periplus[mongo-arango]'",
        ) from exc
    return MongoRunStore(Connection(mongodb_url))


# -- rates ---------------------------------------------------------------------------------------


def window_of(now: float) -> int:
    """The number of the minute, and with it of the window that counts."""
    return int(now // RATE_TTL_S)


def rate_of(now: float, previous: int, current: int) -> float:
    """Requests within the last minute, those of the minute before taken as spread evenly over it."""
    return current + previous * (1.0 - (now % RATE_TTL_S) / RATE_TTL_S)


# -- what the adapters share ---------------------------------------------------------------------

M = TypeVar("M", bound=Model)

FREE_JSON: Mapping[type[Model], frozenset[str]] = {
    StoredRun: frozenset({"outputs"}),
    RunEnding: frozenset({"outputs"}),
    Locator: frozenset({"selector"}),
    Checkpoint: frozenset({"state"}),
    JournalEntry: frozenset({"details"}),
    StoredEvent: frozenset({"data"}),
}
"""Fields that may hold any JSON. They are kept as text: a key may be anything (a NUL, `$set`, a
dot, a number of forty digits), which no database takes as a field's name or value."""


def flat(model: Model) -> dict[str, Any]:
    """A model as strings, numbers, times and None, ready to be bound or to be a document."""
    free = set(FREE_JSON.get(type(model), ()))
    values = model.model_dump(mode="python", exclude=free)
    for name, given in model.model_dump(mode="json", include=free).items():
        values[name] = json.dumps(given, separators=(",", ":"))
    # A member of a `StrEnum` is more than the string a driver knows how to keep.
    return {name: str(value) if isinstance(value, str) else value for name, value in values.items()}


def unflat(kind: type[M], values: Mapping[str, Any]) -> M:
    """The model again; what is not one of its fields is left out."""
    known = {name: value for name, value in values.items() if name in kind.model_fields}
    for name in FREE_JSON.get(kind, frozenset()):
        known[name] = json.loads(known[name])
    return kind.model_validate(known)


def key_of(*parts: str | int) -> str:
    """One short key for several values of any length: their order and borders count."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def check_size(checkpoint: Checkpoint, limit: int) -> None:
    """Raises `CheckpointTooLarge`."""
    size = len(json.dumps(checkpoint.state, separators=(",", ":")))
    if size > limit:
        raise CheckpointTooLarge(checkpoint.run_id, size=size, limit=limit)
