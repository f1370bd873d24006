"""The port of the run store (PACTS 9): permanent and temporary records of runs.

`RunStore` is the whole port; `agent/ports.py` declares the parts that the agent uses, which any `RunStore`
satisfies. Implementations: `kb_store.sqlite.run_store`, `kb_store.mongodb.run_store`. Each must pass
`tests/kb_store/runs/test_run_store.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from kb_schema.base import Model
from kb_schema.run_records import Artifact, Metric, RunEnding, RunStatus, StoredRun, StoredStep
from kb_schema.run_storage import (
    EVENT_TTL_S,
    RATE_TTL_S,
    Checkpoint,
    CheckpointTooLarge,
    JournalEntry,
    StoredEvent,
)

if TYPE_CHECKING:
    from kb_schema.cached_locators import Locator
    from kb_schema.kept_values import KeptValue
    from kb_schema.lessons import Lesson, LessonKey
    from kb_store.ports import StoreHealth
    from kb_store.runs.run_leases import RunLeases
    from kb_store.runs.service_record_store import ServiceRecordStore

UNFINISHED_GRACE = timedelta(days=1)
"""A run without an end may be going on: it is deleted only when it is this old."""

LAST_CHARACTER = "\U0010ffff"
"""Sorts after every other character: texts with a prefix lie between it and it followed by this."""


class LessonStore(Protocol):
    """The lessons of a run store. All methods raise `StoreUnavailable` if it does not answer.

    A task on a screen has at most `MAX_LESSONS`; those used longest ago are deleted. Each expires
    `LESSON_TTL_S` after its last use.
    """

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Count one more success or failure, atomically."""

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Return the lessons of a task on a screen, last used first."""


class KeptValueStore(Protocol):
    """The kept values of a run store. All methods raise `StoreUnavailable` if it does not answer.

    A person has at most `MAX_KEPT_VALUES` on a website; those kept longest ago are deleted.
    """

    async def keep(self, values: Sequence[KeptValue], *, keep_s: float) -> None:
        """Store values for some seconds; each replaces the one of its website, person and name."""

    async def kept(self, website_id: str, person: str) -> Sequence[KeptValue]:
        """Return the unexpired values of a person on a website, by name."""


class RunStore(Protocol):
    """Runs with their steps, artifacts and metrics; journal, checkpoints, locators, heals, events.

    It decides nothing about runs. Every write may be repeated without further effect. Expired records are not
    returned, even if they are not deleted yet. All methods raise `StoreUnavailable` if the store does not
    answer.
    """

    @property
    def address(self) -> str:
        """The address of the store for messages, without credentials."""

    @property
    def leases(self) -> RunLeases:
        """The leases of runs."""

    @property
    def memory(self) -> LessonStore:
        """The lessons of earlier runs."""

    @property
    def kept_values(self) -> KeptValueStore:
        """The outputs of global scope of earlier runs."""

    @property
    def service_records(self) -> ServiceRecordStore:
        """Jobs, schedules and webhooks of the service."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""

    async def close(self) -> None:
        """Close connections. Safe to repeat."""

    async def health(self) -> StoreHealth:
        """Return whether the store answers. Raises nothing."""

    # -- runs

    async def begin_run(self, run: StoredRun) -> bool:
        """Store a run that starts. Returns False, and changes nothing, if its id is known."""

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Store how a run ended, in one step; the last call counts. Returns False for an unknown run.

        A run keeps its `workflow_version` if an ending has none: it was cut off before the version was read.
        """

    async def run(self, run_id: str) -> StoredRun | None:
        """Return one run."""

    async def runs(
        self,
        *,
        website_id: str | None = None,
        req_id: str | None = None,
        id_prefix: str = "",
        limit: int = 100,
    ) -> Sequence[StoredRun]:
        """Return runs, newest first. `id_prefix` is compared literally."""

    async def runs_by_id(
        self, *, website_id: str | None = None, after: str = "", limit: int = 500
    ) -> Sequence[StoredRun]:
        """Return the runs whose id comes after `after`, by id, to iterate over all runs."""

    async def run_counts(self, website_id: str) -> Mapping[RunStatus | None, int]:
        """Return the number of a website's runs by status; None: they are going on, or were killed."""

    async def append_step(self, step: StoredStep) -> bool:
        """Store a step. Returns False, and changes nothing, if the run has one with its `step_idx`."""

    async def steps(self, run_id: str) -> Sequence[StoredStep]:
        """Return a run's steps, by `step_idx`."""

    async def step_counts(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the number of steps of each run; runs without any are left out."""

    async def put_artifact(self, artifact: Artifact) -> None:
        """Store an artifact of a run; it replaces the one of that name."""

    async def artifacts(self, run_id: str) -> Sequence[Artifact]:
        """Return a run's artifacts, by name."""

    async def add_metric(self, metric: Metric) -> bool:
        """Store a measurement. Returns False if its `metric_id` is known."""

    async def metrics(self, run_id: str) -> Sequence[Metric]:
        """Return a run's measurements, in the order of time, name and id."""

    async def sweep_runs(self, website_id: str, *, before: datetime) -> int:
        """Delete the records of a website's runs that ended before a time; return the number of runs.

        A run without an end is deleted if it started before `before` and more than `UNFINISHED_GRACE` ago.
        """

    # -- journal

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Record that an action starts; return the existing entry if its key is known."""

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Record the outcome of an action. Returns False if no action started under that key."""

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """Return a run's entries, in the order of time and key."""

    # -- checkpoints

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Create or replace the checkpoint of that name. Raises `CheckpointRefused`."""

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """Return one checkpoint that has not expired."""

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """Return a run's checkpoints that have not expired, by name."""

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Delete a checkpoint. Safe to repeat."""

    # -- the locator cache

    async def put_locator(self, locator: Locator) -> None:
        """Store where an element was found, for an hour."""

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Return where an element was found, if that has not expired."""

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """Delete the location of an element. Safe to repeat."""

    # -- heal counters

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Count one more heal, in one atomic step; return the count within the hour."""

    async def heals(self, run_id: str, selector: str) -> int:
        """Return the count; 0 if there was no heal for an hour."""

    # -- rates

    async def count_request(self, client_id: str) -> float:
        """Count one more request of a client, in one atomic step; return the count of the last minute.

        A sliding window over two minutes (PACTS 9.2): the previous minute counts with the share that is not
        over.
        """

    # -- events

    async def append_events(self, events: Sequence[StoredEvent], *, keep_s: float = EVENT_TTL_S) -> None:
        """Store events for some seconds; existing numbers of a run are kept."""

    async def events(self, run_id: str, *, after: int = -1, limit: int = 1_000) -> Sequence[StoredEvent]:
        """Return a run's unexpired events with a number above `after`, by number."""


# -- rates ---------------------------------------------------------------------------------------


def window_of(now: float) -> int:
    """Return the number of the minute, which identifies the window."""
    return int(now // RATE_TTL_S)


def rate_of(now: float, previous: int, current: int) -> float:
    """Return the requests within the last minute; those of the previous minute are assumed to be even."""
    return current + previous * (1.0 - (now % RATE_TTL_S) / RATE_TTL_S)


# -- shared by the adapters ----------------------------------------------------------------------

M = TypeVar("M", bound=Model)

FREE_JSON: Mapping[str, frozenset[str]] = {
    "StoredRun": frozenset({"outputs"}),
    "RunEnding": frozenset({"outputs"}),
    "Locator": frozenset({"selector"}),
    "Checkpoint": frozenset({"state"}),
    "JournalEntry": frozenset({"details"}),
    "StoredEvent": frozenset({"data"}),
}
"""Name of a model -> its fields that may hold any JSON.

They are kept as text, because a key may be anything (a NUL, `$set`, a dot, a number of forty digits), which
no database accepts as a field name or value.
"""


def flatten_model(model: Model) -> dict[str, Any]:
    """Return a model as strings, numbers, times and None, to bind or to store as a document."""
    free = set(FREE_JSON.get(type(model).__name__, ()))
    values = model.model_dump(mode="python", exclude=free)
    for name, given in model.model_dump(mode="json", include=free).items():
        values[name] = json.dumps(given, separators=(",", ":"))
    # Drivers do not accept a member of a `StrEnum` as a string.
    return {name: str(value) if isinstance(value, str) else value for name, value in values.items()}


def unflatten_model(kind: type[M], values: Mapping[str, Any]) -> M:
    """Return the model of stored values; unknown fields are left out."""
    known = {name: value for name, value in values.items() if name in kind.model_fields}
    for name in FREE_JSON.get(kind.__name__, frozenset()):
        known[name] = json.loads(known[name])
    return kind.model_validate(known)


def key_of(*parts: str | int) -> str:
    """Return one short key for several values of any length; their order and boundaries count."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def check_size(checkpoint: Checkpoint, limit: int) -> None:
    """Raise `CheckpointTooLarge` for a state over the limit."""
    size = len(json.dumps(checkpoint.state, separators=(",", ":")))
    if size > limit:
        raise CheckpointTooLarge(checkpoint.run_id, size=size, limit=limit)
