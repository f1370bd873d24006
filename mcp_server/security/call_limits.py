"""Limits of calls: how many at once, and for how long. They are the same over every transport."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from mcp_server.errors import CallTimeout, ServerBusy

DoneT = TypeVar("DoneT")


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of one server."""

    calls_at_once: int = 64
    """Tool calls being answered, of all clients together."""
    calls_per_client: int = 16
    """... and of one client."""
    call_seconds: float = 30.0
    """How long one tool call may take."""
    progress_seconds: float = 1.0
    """Seconds between progress reports to clients that asked for them."""


class CallGuard:
    """Admits tool calls, and stops those that take too long."""

    def __init__(self, limits: CallLimits | None = None) -> None:
        self.limits = limits or CallLimits()
        self._running: Counter[str] = Counter()
        self._all = 0
        self._threads: anyio.CapacityLimiter | None = None

    @contextmanager
    def admitted(self, client: str) -> Iterator[None]:
        """For the time of one call. Raises `ServerBusy`, and `CallTimeout` once the time is over."""
        limits = self.limits
        if self._all >= limits.calls_at_once:
            raise ServerBusy(self._all, "in all")
        if self._running[client] >= limits.calls_per_client:
            raise ServerBusy(self._running[client], "of yours")
        self._all += 1
        self._running[client] += 1
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + limits.call_seconds) as scope:
                yield
            if scope.cancelled_caught:
                raise CallTimeout(limits.call_seconds)
        finally:
            self._all -= 1
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]

    async def in_thread(self, work: Callable[[], DoneT]) -> DoneT:
        """Run long work in a thread. A call that was given up keeps its slot until its thread ends, which is soon if the
        work checks `still_wanted`.
        """
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(self.limits.calls_at_once)
        place = _ThreadSlot(self._threads)
        await self._threads.acquire_on_behalf_of(place)
        try:
            return await anyio.to_thread.run_sync(
                partial(place.filled, work), abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
        finally:
            place.leave_unless_begun()

    @property
    def in_threads(self) -> int:
        """How many threads are working."""
        return 0 if self._threads is None else self._threads.borrowed_tokens


class _ThreadSlot:
    """The slot of one thread. The thread releases it, or the call does if no thread began."""

    def __init__(self, places: anyio.CapacityLimiter) -> None:
        self._places = places
        self._loop = asyncio.get_running_loop()
        self._ticket = [self]
        """Take the duty to release the slot. Only one caller gets True."""

    def filled(self, work: Callable[[], DoneT]) -> DoneT:
        """In the thread: do the work."""
        if not self._claimed():
            raise RuntimeError("the call was over before its thread began")
        try:
            return work()
        finally:
            with suppress(RuntimeError):  # the server has ended meanwhile
                self._loop.call_soon_threadsafe(self._places.release_on_behalf_of, self)

    def leave_unless_begun(self) -> None:
        """In the event loop: the call is over."""
        if self._claimed():
            self._places.release_on_behalf_of(self)

    def _claimed(self) -> bool:
        try:
            self._ticket.pop()
        except IndexError:
            return False
        return True
