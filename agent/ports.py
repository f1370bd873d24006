"""What the agent needs kept of its own work, as small ports (DESIGN 2).

The agent declares them and knows nobody behind them; `periplus` injects what `kb_store` has,
which satisfies them structurally. Knowledge about websites does not come this way: that is MCP.

Every write may be sent again and then counts once. Where the keeper does not answer, a method
raises the keeper's own error, which whoever injected it understands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from kb_schema.runs import Artifact, Metric, RunEnding, StoredRun, StoredStep
from kb_schema.storage import EVENT_TTL_S, Checkpoint, JournalEntry, Locator, StoredEvent


class Runs(Protocol):
    """The record of runs: what was done, how it came out, what it left (PACTS 9.1)."""

    async def begin_run(self, run: StoredRun) -> bool:
        """Keep a run that begins; False where its id is known, and then nothing changes."""

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Say how it ended; the last word counts. False where there is no such run."""

    async def append_step(self, step: StoredStep) -> bool:
        """Keep a step; False where the run has one of that `step_idx`, which stays."""

    async def steps(self, run_id: str) -> Sequence[StoredStep]:
        """A run's steps, by `step_idx`."""

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep what a run left; replaces the one of that name."""

    async def add_metric(self, metric: Metric) -> bool:
        """Keep a measurement; False where its `metric_id` is known."""


class Events(Protocol):
    """What a run tells while it works, for whoever follows it from elsewhere. Kept for a day, or as long
    as is said.
    """

    async def append_events(self, events: Sequence[StoredEvent], *, keep_s: float = EVENT_TTL_S) -> None:
        """Keep events for so many seconds; those whose number the run has already stay as they are."""

    async def events(self, run_id: str, *, after: int = -1, limit: int = 1_000) -> Sequence[StoredEvent]:
        """A run's events with a number above `after`, by number."""


class Journal(Protocol):
    """Actions that may not be repeated blindly, written down before and after (DESIGN 6)."""

    async def begin_action(self, entry: JournalEntry) -> JournalEntry:
        """Write down what is about to be done; where the key is known, the entry there is already."""

    async def conclude_action(
        self, run_id: str, key: str, outcome: Literal["happened", "did_not_happen"]
    ) -> bool:
        """Write down how it came out; False where nothing was begun under that key."""

    async def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """A run's entries, in the order of time."""


class Checkpoints(Protocol):
    """A run's state, to carry on from (WR). Kept for a day, in small number and size."""

    async def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint of that name, or make it.

        Raises `kb_schema.storage.CheckpointRefused` where the run has too many, or it is too large.
        """

    async def checkpoint(self, run_id: str, name: str = "latest") -> Checkpoint | None:
        """One checkpoint that is still good."""

    async def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """A run's good checkpoints, by name."""

    async def drop_checkpoint(self, run_id: str, name: str) -> None:
        """Forget one."""


class Locators(Protocol):
    """Where elements were found lately (PACTS 9.2, the POM cache). Kept for an hour."""

    async def put_locator(self, locator: Locator) -> None:
        """Remember where an element was found."""

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        """Where it was found, if that is still good."""

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        """It is not there any more."""


class HealCounters(Protocol):
    """How often an element was healed within a run (PACTS 9.2), for an hour after the last time."""

    async def count_heal(self, run_id: str, selector: str) -> int:
        """Count one more, atomically; returns how many it makes."""

    async def heals(self, run_id: str, selector: str) -> int:
        """How many there were."""


class RunLogPort(Runs, Events, Protocol):
    """What `agent.run_log` writes to."""


class WorkingState(RunLogPort, Journal, Checkpoints, Locators, HealCounters, Protocol):
    """All of it, for those who hand it on."""
