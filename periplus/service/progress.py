"""What a run tells while it goes on: kept in the store by number, and followed from there.

`Progress` writes one run's, `Followers` wakes those who wait for more, `follow` is what SSE sends.
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
from kb_schema.storage import StoredEvent
from kb_store import StoreError
from kb_store.runs import RunStore

MAX_WAITING = 10_000
"""Events that wait for a store that does not answer; later ones are not kept."""
LONGEST = 4_000
"""Characters of one event as JSON; of a longer one only the type is kept."""
BATCH = 200
AGAIN_S = 1.0
"""How often a run is looked at that another process carries out, and a store that does not answer."""
QUIET_S = 15.0
"""After so long without an event a comment is sent, so that nobody on the way hangs up."""
FINISHED = "finished"
"""The type of the last event."""


def stream_of(run_id: str) -> str:
    """Under which name a run's progress is kept: its verifier may keep events under the run's own."""
    return f"serve/{run_id}"


class Followers:
    """Those who wait for something new of a run."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self.closed = asyncio.Event()
        """Set once nothing will be told any more."""

    def wake(self, run_id: str) -> None:
        """There is something new."""
        for waiting in self._waiting.pop(run_id, ()):
            if not waiting.done():
                waiting.set_result(None)

    def close(self) -> None:
        """Send everybody home."""
        self.closed.set()
        for run_id in list(self._waiting):
            self.wake(run_id)

    def next(self, run_id: str) -> asyncio.Future[None]:
        """Done when something new was told since it was asked for."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[run_id].add(future)
        return future

    def forget(self, run_id: str, future: asyncio.Future[None]) -> None:
        """Nobody waits for this one any more."""
        self._waiting[run_id].discard(future)
        if not self._waiting[run_id]:
            del self._waiting[run_id]


class Progress:
    """Writes the events of one run, in order, behind the back of whoever tells them."""

    def __init__(self, runs: RunStore, followers: Followers, run_id: str) -> None:
        self._runs, self._followers, self._run_id = runs, followers, run_id
        self._seq: int | None = None
        self._waiting: list[tuple[str, dict[str, JsonValue], datetime]] = []
        self._wake = asyncio.Event()
        self._writing = asyncio.Lock()
        self._writer = asyncio.create_task(self._write(), name=f"progress of {run_id}")

    def __call__(self, event: Event) -> None:
        """The verifier's `tell`."""
        data = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
        self.say(re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower(), data)

    def say(self, kind: str, data: dict[str, object] | None = None) -> None:
        """One event more."""
        if len(self._waiting) >= MAX_WAITING:
            return
        # As JSON now: what an event carries may change afterwards.
        text = redact_known(json.dumps(data or {}, default=str, ensure_ascii=False))
        kept = json.loads(text) if len(text) <= LONGEST else {"left_out": f"{len(text)} characters"}
        self._waiting.append((kind, kept, datetime.now(UTC)))
        self._wake.set()

    async def flush(self) -> None:
        """Write what waits. Raises `StoreError`; then it waits still."""
        async with self._writing:
            while self._waiting:
                if self._seq is None:
                    self._seq = await self._next_seq()
                batch = self._waiting[:BATCH]
                await self._runs.append_events(
                    [
                        StoredEvent(
                            run_id=stream_of(self._run_id),
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
        """Stop writing; what waits is given up."""
        self._writer.cancel()
        await asyncio.wait([self._writer])
        self._followers.wake(self._run_id)

    async def _next_seq(self) -> int:
        """After those of an earlier life of the run."""
        last = -1
        while events := await self._runs.events(stream_of(self._run_id), after=last):
            last = events[-1].seq
        return last + 1

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.flush()
            except StoreError:
                await asyncio.sleep(AGAIN_S)  # it stays in line; nothing tells when a store is back
                self._wake.set()


async def follow(
    runs: RunStore,
    followers: Followers,
    run_id: str,
    *,
    after: int,
    is_here: Callable[[str], bool],
) -> AsyncIterator[StoredEvent | None]:
    """A run's events above `after` until it is over; None where it was quiet for a while.

    `is_here`: whether this process carries the run out, and so wakes its followers.
    """
    quiet = 0.0
    while True:
        coming = followers.next(run_id)
        try:
            try:
                run, events = await runs.run(run_id), await runs.events(stream_of(run_id), after=after)
            except StoreError:
                run, events = None, []
            for event in events:
                yield event
                after, quiet = event.seq, 0.0
            over = any(event.type == FINISHED for event in events)
            if run is not None and run.finished_at is not None and not events:
                over = over or not is_here(run_id)  # what happens here tells its end itself
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
