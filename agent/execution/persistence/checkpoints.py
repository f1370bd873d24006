"""Writes the journal and the checkpoints of a run, through `agent.ports`.

The journal is written before an action that must not be repeated, a checkpoint after every step. Without a
port nothing is stored, and the run cannot be resumed.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from playwright.async_api import Page
from pydantic import JsonValue

from agent.browser.storage_state import read_storage_state, remove_secret_from_storage
from agent.errors import JournalWriteRefused
from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.ports import CheckpointsPort, JournalPort
from agent.run_context import RunContext
from kb_schema.run_storage import Checkpoint, CheckpointRefused, JournalEntry

LATEST = "latest"
FOR_UNDOING = "undo"
"""Name of the checkpoint with the browser storage at the time of an effect that can be undone."""


class CheckpointWriterPort(JournalPort, CheckpointsPort, Protocol):
    """The store of journal and checkpoints."""


class CheckpointWriter:
    """Writes the journal and checkpoints of one run."""

    def __init__(
        self,
        port: CheckpointWriterPort | None,
        context: RunContext,
        resume: CheckpointState | None = None,
        *,
        keeps_storage: bool = True,
    ) -> None:
        """`keeps_storage`: whether cookies and local storage are stored; not those of a person's browser."""
        self._keeps_storage = keeps_storage
        self._port, self._context, self._resume = port, context, resume
        self.state = resume or CheckpointState(website_id="", task_id="")
        self._entries: dict[str, JournalEntry] = {}
        self._steps = 0
        self.behind: str | None = None
        """Why the last checkpoint could not be stored."""

    async def carry_on(self) -> CheckpointState | None:
        """Return the state of the run to resume, with its journal loaded; once, then None."""
        kept, self._resume = self._resume, None
        if kept is not None and self._port is not None:
            entries = await self._port.journal(self._context.run_id)
            self._entries = {entry.key: entry for entry in entries}
        return kept

    async def checkpoint(self, page: Page) -> None:
        """Store the state as it is now, with the browser storage.

        If that fails, the run goes on; `behind` says why.
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
        except (CheckpointRefused, JournalWriteRefused) as exc:
            self.behind = str(exc)
        else:
            self.behind = None

    async def keep_for_undoing(self, page: Page) -> None:
        """Store the browser storage, so that an undo within a day is signed in."""
        if self._port is None:
            return
        state: JsonValue = {"storage": await self._storage(page)}
        now = datetime.now(UTC)
        with suppress(CheckpointRefused, JournalWriteRefused):  # an undo signs in again then
            await self._port.put_checkpoint(
                Checkpoint(run_id=self._context.run_id, name=FOR_UNDOING, state=state, created_at=now)
            )

    async def _storage(self, page: Page) -> Any:
        """The browser storage without secrets."""
        if not self._keeps_storage:
            return {"cookies": [], "origins": []}
        return remove_secret_from_storage(await read_storage_state(page), self._context.redact)

    async def begin(self, key: str, action: str, details: dict[str, Any]) -> str:
        """Write the journal entry of an action that is about to be performed; return its key.

        An earlier, concluded entry of the same action stays; this one gets a number. Raises
        `JournalWriteRefused`: the action must not be performed then, because a crash would leave no trace of
        it.
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
        """Store the outcome of an action."""
        entry = self._entries.get(key)
        if entry is None:
            return
        self._entries[key] = entry.model_copy(update={"outcome": outcome, "concluded_at": datetime.now(UTC)})
        if self._port is not None:
            await self._port.conclude_action(self._context.run_id, key, outcome)

    def happened(self, prefix: str) -> bool:
        """Return whether any action with that key prefix happened."""
        return any(
            key.startswith(prefix) and entry.outcome == "happened" for key, entry in self._entries.items()
        )

    def latest(self, key: str) -> str:
        """Return the key of the latest entry of an action."""
        number = 1
        while _numbered(key, number + 1) in self._entries:
            number += 1
        return _numbered(key, number)

    def entry(self, key: str) -> JournalEntry | None:
        """Return the latest entry of an action."""
        return self._entries.get(self.latest(key))


def _numbered(key: str, number: int) -> str:
    return key if number == 1 else f"{key}#{number}"
