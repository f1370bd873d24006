"""The event log of runs in the store, and its followers (server-sent events).

`RunEventWriter` writes the events of one run, `RunEventFollowers` wakes waiting followers, and `follow_run_events`
yields a run's events.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

from pydantic import JsonValue

from agent.events import Event
from agent.redaction import redact_known
from kb_schema.run_storage import StoredEvent
from kb_store import StoreError
from kb_store.runs.run_store import RunStore

MAX_WAITING = 10_000
"""Maximum number of events that wait while the store does not answer; further ones are dropped."""
LONGEST = 4_000
"""Maximum number of characters of an event as JSON; of longer events only the type is stored."""
BATCH = 200
AGAIN_S = 1.0
"""Polling interval for a run of another process, and for a store that does not answer."""
QUIET_S = 15.0
"""After this time without an event a comment is sent, so that proxies keep the connection open."""
FINISHED = "finished"
"""The type of the last event."""


def progress_stream_name(run_id: str) -> str:
    """Return the name of a run's event stream; the run's own name may be used by its verifier."""
    return f"serve/{run_id}"


class RunEventFollowers:
    """Futures that wait for the next event of a run."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self.closed = asyncio.Event()
        """Set once there will be no more events."""

    def wake(self, run_id: str) -> None:
        """Wake the followers of a run."""
        for waiting in self._waiting.pop(run_id, ()):
            if not waiting.done():
                waiting.set_result(None)

    def close(self) -> None:
        """End all followers."""
        self.closed.set()
        for run_id in list(self._waiting):
            self.wake(run_id)

    def next(self, run_id: str) -> asyncio.Future[None]:
        """Return a future that is done at the next event of the run."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[run_id].add(future)
        return future

    def forget(self, run_id: str, future: asyncio.Future[None]) -> None:
        """Remove a future that is no longer used."""
        self._waiting[run_id].discard(future)
        if not self._waiting[run_id]:
            del self._waiting[run_id]


class RunEventWriter:
    """Writes the events of one run in order, in a background task."""

    def __init__(self, runs: RunStore, followers: RunEventFollowers, run_id: str) -> None:
        self._runs, self._followers, self._run_id = runs, followers, run_id
        self._seq: int | None = None
        self._waiting: list[tuple[str, dict[str, JsonValue], datetime]] = []
        self._wake = asyncio.Event()
        self._writing = asyncio.Lock()
        self._writer = asyncio.create_task(self._write(), name=f"progress of {run_id}")

    def __call__(self, event: Event) -> None:
        """Write an event of the verifier."""
        data = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
        self.say(re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower(), data)

    def say(self, kind: str, data: dict[str, object] | None = None) -> None:
        """Write one event."""
        if len(self._waiting) >= MAX_WAITING:
            return
        # Serialised now, because the event's data may change later.
        text = redact_known(json.dumps(data or {}, default=str, ensure_ascii=False))
        kept = json.loads(text) if len(text) <= LONGEST else {"left_out": f"{len(text)} characters"}
        self._waiting.append((kind, kept, datetime.now(UTC)))
        self._wake.set()

    async def flush(self) -> None:
        """Write all waiting events. Raises `StoreError`; then they still wait."""
        async with self._writing:
            while self._waiting:
                if self._seq is None:
                    self._seq = await self._next_seq()
                batch = self._waiting[:BATCH]
                await self._runs.append_events(
                    [
                        StoredEvent(
                            run_id=progress_stream_name(self._run_id),
                            seq=self._seq + number,
                            type=kind,
                            data=data,
                            at=at,
                        )
                        for number, (kind, data, at) in enumerate(batch)
                    ]
                )
                self._seq += len(batch)
                del self._waiting[: len(batch)]
                self._followers.wake(self._run_id)

    async def close(self) -> None:
        """Stop writing; waiting events are dropped."""
        self._writer.cancel()
        await asyncio.wait([self._writer])
        self._followers.wake(self._run_id)

    async def _next_seq(self) -> int:
        """Return the next sequence number, after those of an earlier execution of the run."""
        last = -1
        while events := await self._runs.events(progress_stream_name(self._run_id), after=last):
            last = events[-1].seq
        return last + 1

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.flush()
            except StoreError:
                await asyncio.sleep(
                    AGAIN_S
                )  # the event stays queued; a store does not notify when it is back
                self._wake.set()


async def follow_run_events(
    runs: RunStore,
    followers: RunEventFollowers,
    run_id: str,
    *,
    after: int,
    is_here: Callable[[str], bool],
) -> AsyncIterator[StoredEvent | None]:
    """Yield a run's events after number `after` until it ends; None after a time without events.

    `is_here`: whether this process executes the run and therefore wakes its followers.
    """
    quiet = 0.0
    while True:
        coming = followers.next(run_id)
        try:
            try:
                run, events = (
                    await runs.run(run_id),
                    await runs.events(progress_stream_name(run_id), after=after),
                )
            except StoreError:
                run, events = None, []
            for event in events:
                yield event
                after, quiet = event.seq, 0.0
            over = any(event.type == FINISHED for event in events)
            if run is not None and run.finished_at is not None and not events:
                over = over or not is_here(run_id)  # a run of this process sends its own last event
            if over or followers.closed.is_set():
                return
            if events:
                continue
            patience = QUIET_S if run is not None and is_here(run_id) else AGAIN_S
            await asyncio.wait({coming}, timeout=patience)
            quiet += patience
            if quiet >= QUIET_S:
                yield None
                quiet = 0.0
        finally:
            followers.forget(run_id, coming)
