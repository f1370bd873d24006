"""Ports through which the agent stores its own work.

The agent declares them; `periplus` passes in the stores of `kb_store`, which satisfy them structurally.
Knowledge about websites does not come this way: that is MCP.

Every write may be sent twice and then counts once. If the store does not answer, a method raises the store's
own error, which the caller that passed in the store understands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from kb_schema.cached_locators import Locator
from kb_schema.kept_values import KeptValue
from kb_schema.lessons import Lesson, LessonKey
from kb_schema.run_records import Artifact, Metric, RunEnding, StoredRun, StoredStep
from kb_schema.run_storage import EVENT_TTL_S, Checkpoint, JournalEntry, StoredEvent


class RunRecordsPort(Protocol):
    """The record of runs: steps, result, artifacts and metrics (PACTS 9.1)."""

    async def begin_run(self, run: StoredRun) -> bool:
        """Store a run that begins; False (and no change) if its id is known."""

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Store how the run ended; a later call replaces it. False if there is no such run."""

    async def append_step(self, step: StoredStep) -> bool:
        """Store a step; False if the run has one of that `step_idx`, which stays."""

    async def steps(self, run_id: str) -> Sequence[StoredStep]:
        """Return the steps of a run, by `step_idx`."""

    async def put_artifact(self, artifact: Artifact) -> None:
        """Store an artifact; replaces the one of that name."""

    async def add_metric(self, metric: Metric) -> bool:
        """Store a measurement; False if its `metric_id` is known."""


class RunEventsPort(Protocol):
    """Events of a run, for readers in other processes. Stored for a day unless `keep_s` says otherwise."""

    async def append_events(self, events: Sequence[StoredEvent], *, keep_s: float = EVENT_TTL_S) -> None:
        """Store events for `keep_s` seconds; events whose number the run already has stay as they are."""

    async def events(self, run_id: str, *, after: int = -1, limit: int = 1_000) -> Sequence[StoredEvent]:
        """Return the events of a run with a number above `after`, by number."""


class JournalPort(Protocol):
    """The journal: one entry per action that is not idempotent, written before it and closed after it."""

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Write the entry of an action that is about to be performed; return the existing one if the key is
        known.
        """

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Store the outcome of an action; False if there is no entry with that key."""

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """Return the entries of a run, oldest first."""


class CheckpointsPort(Protocol):
    """A run's state, from which it can be resumed (WR). Stored for a day, limited in number and size."""

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Store or replace the checkpoint of that name.

        Raises `kb_schema.run_storage.CheckpointRefused` if the run has too many or it is too large.
        """

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """Return one checkpoint that has not expired, or None."""

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """Return a run's checkpoints that have not expired, by name."""

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Delete a checkpoint."""


class LocatorCachePort(Protocol):
    """Where elements were found lately (PACTS 9.2, the POM cache). Stored for an hour."""

    async def put_locator(self, locator: Locator) -> None:
        """Store where an element was found."""

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Return where an element was found, or None if that has expired."""

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """Delete the entry: the element is no longer there."""


class HealCountersPort(Protocol):
    """How often an element was healed within a run (PACTS 9.2). Stored for an hour after the last time."""

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Add one atomically and return the new count."""

    async def heals(self, run_id: str, selector: str) -> int:
        """Return the count."""


class RunLogPort(RunRecordsPort, RunEventsPort, Protocol):
    """The store that `agent.run_records.run_log` writes to."""


class FailureMemory(Protocol):
    """A store of lessons: what failed where, and what worked instead (WR phase 4). Raises nothing."""

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Add one outcome of an approach, atomically."""

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Return the lessons of a task on a screen, the most recently used first."""


class StepPicturesPort(Protocol):
    """Takes a picture after each step. Raises nothing."""

    async def finish(self) -> None:
        """Wait for the picture that is being taken: the page is changed next."""


class KeptValuesPort(Protocol):
    """A store of outputs of global scope (KS 9.1). Raises nothing."""

    async def keep(self, values: Sequence[KeptValue]) -> None:
        """Store values; each replaces the one of its website, person and name."""

    async def kept(self, website_id: str, person: str) -> Sequence[KeptValue]:
        """Return the values of a person on a website; none if the store does not answer."""
