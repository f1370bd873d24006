"""Writes down what a run is about to do and what it has done, through `agent.ports`.

Before an action that may not be repeated, the journal; after every step, a checkpoint. Without a
port nothing is kept, and the run cannot be resumed.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from playwright.async_api import Page
from pydantic import JsonValue

from agent.browser.storage import browser_storage, storage_without
from agent.context import Context
from agent.engine.state import RunState
from agent.errors import NotKept
from agent.ports import Checkpoints, Journal
from kb_schema.storage import Checkpoint, CheckpointRefused, JournalEntry

LATEST = "latest"
FOR_UNDOING = "undo"
"""Name of the checkpoint that has what the browser knew when something was done that can be undone."""


class KeepingPort(Journal, Checkpoints, Protocol):
    """Where both go."""


class Keeper:
    """One run's journal and checkpoints."""

    def __init__(self, port: KeepingPort | None, context: Context, resume: RunState | None = None) -> None:
        self._port, self._context, self._resume = port, context, resume
        self.state = resume or RunState(website_id="", task_id="")
        self._entries: dict[str, JournalEntry] = {}
        self._steps = 0
        self.behind: str | None = None
        """Why the last checkpoint was not kept."""

    async def carry_on(self) -> RunState | None:
        """What was kept of the run that is carried on, with its journal; once, then None."""
        kept, self._resume = self._resume, None
        if kept is not None and self._port is not None:
            entries = await self._port.journal(self._context.run_id)
            self._entries = {entry.key: entry for entry in entries}
        return kept

    async def checkpoint(self, page: Page) -> None:
        """Keep the state as it is now, with what makes the site know the browser again.

        Work goes on where that is not possible; `behind` says why a crash would now cost more.
        """
        self._steps += 1
        if self._port is None:
            return
        self.state.storage = await self._storage(page)
        try:
            await self._port.put_checkpoint(
                Checkpoint(
                    run_id=self._context.run_id,
                    name=LATEST,
                    step_idx=self._steps,
                    state=self._context.redact(self.state.model_dump(mode="json")),
                    created_at=datetime.now(UTC),
                )
            )
        except (CheckpointRefused, NotKept) as exc:
            self.behind = str(exc)
        else:
            self.behind = None

    async def keep_for_undoing(self, page: Page) -> None:
        """What makes the site know the browser again, for whoever undoes the run within a day."""
        if self._port is None:
            return
        state: JsonValue = {"storage": await self._storage(page)}
        now = datetime.now(UTC)
        with suppress(CheckpointRefused, NotKept):  # then one signs in anew
            await self._port.put_checkpoint(
                Checkpoint(run_id=self._context.run_id, name=FOR_UNDOING, state=state, created_at=now)
            )

    async def _storage(self, page: Page) -> Any:
        """What the browser knows, but no secret."""
        return storage_without(await browser_storage(page), self._context.redact)

    async def begin(self, key: str, action: str, details: dict[str, Any]) -> str:
        """Write down that something is about to be done; the key of the entry.

        What was begun under that key before and concluded leaves its entry; this one is a new one.
        Raises `NotKept`: then nothing may be done, for a crash would leave no trace of it.
        """
        number = 1
        while (entry := self._entries.get(_numbered(key, number))) and entry.outcome is not None:
            number += 1
        entry = JournalEntry(
            run_id=self._context.run_id,
            key=_numbered(key, number),
            action=action,
            details=self._context.redact(details),
            begun_at=datetime.now(UTC),
        )
        self._entries[entry.key] = entry
        if self._port is not None:
            await self._port.begin_action(entry)
        return entry.key

    async def conclude(self, key: str, outcome: Literal["happened", "did_not_happen"]) -> None:
        """Write down how it came out."""
        entry = self._entries.get(key)
        if entry is None:
            return
        self._entries[key] = entry.model_copy(update={"outcome": outcome, "concluded_at": datetime.now(UTC)})
        if self._port is not None:
            await self._port.conclude_action(self._context.run_id, key, outcome)

    def happened(self, prefix: str) -> bool:
        """Whether anything that was begun under keys with that beginning happened."""
        return any(
            key.startswith(prefix) and entry.outcome == "happened" for key, entry in self._entries.items()
        )

    def latest(self, key: str) -> str:
        """The key of the last entry that was begun for an action."""
        number = 1
        while _numbered(key, number + 1) in self._entries:
            number += 1
        return _numbered(key, number)

    def entry(self, key: str) -> JournalEntry | None:
        """What was last begun for an action."""
        return self._entries.get(self.latest(key))


def _numbered(key: str, number: int) -> str:
    return key if number == 1 else f"{key}#{number}"
