"""How many calls at once, and for how long: the same over every transport."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import anyio.to_thread

from mcp_server.errors import Busy, TookTooLong


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What one server bears."""

    calls_at_once: int = 64
    """Tool calls being answered, of all clients together."""
    calls_per_client: int = 16
    """... and of one client."""
    call_seconds: float = 30.0
    """How long one tool call may take."""
    progress_seconds: float = 1.0
    """How often a client that wants to know hears that its call is being worked on."""


class Guard:
    """Admits tool calls, and ends those that take too long."""

    def __init__(self, limits: CallLimits | None = None) -> None:
        self.limits = limits or CallLimits()
        self._running: Counter[str] = Counter()
        self._all = 0
        self._threads: anyio.CapacityLimiter | None = None

    @contextmanager
    def admitted(self, client: str) -> Iterator[None]:
        """For the time of one call. Raises `Busy`, and `TookTooLong` once the time is over."""
        limits = self.limits
        if self._all >= limits.calls_at_once:
            raise Busy(self._all, "in all")
        if self._running[client] >= limits.calls_per_client:
            raise Busy(self._running[client], "of yours")
        self._all += 1
        self._running[client] += 1
        try:
            with anyio.fail_after(limits.call_seconds):
                yield
        except TimeoutError as exc:
            raise TookTooLong(limits.call_seconds) from exc
        finally:
            self._all -= 1
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]

    @property
    def threads(self) -> anyio.CapacityLimiter:
        """For work in threads. A call that is given up keeps its place until its thread is done."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(self.limits.calls_at_once)
        return self._threads
