"""What a worker keeps between jobs: one browser, stores, whatever a kind of job opens once.

All of it is opened when it is first needed and closed when the worker ends.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agent.engine.stopping import Stop
from kb_schema.base import Model
from kb_store import Stores, open_stores
from kb_store.runs import RunStore, open_runs
from periplus.voyage import started_browser

T = TypeVar("T")


class Shelf(Model):
    """Which stores a job works on; the addresses may hold a password."""

    data_dir: str
    """Where the embedded ones are."""
    mongodb_url: str | None = None
    arangodb_url: str | None = None

    def __repr__(self) -> str:
        """Without addresses."""
        return f"Shelf(data_dir={self.data_dir!r})"

    __str__ = __repr__


class Home:
    """Of one worker process, for the jobs of one fleet. Belongs to one event loop."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._kept: dict[Hashable, Any] = {}
        self._opening: defaultdict[Hashable, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._stops: dict[int, Stop] = {}
        self.stopped: str | None = None
        """Why nothing new begins here."""

    @property
    def busy(self) -> bool:
        """Whether a job goes on."""
        return bool(self._stops)

    async def keep(self, key: Hashable, opener: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """What was opened under that key, opened now if it was not. Raises what opening raises."""
        async with self._opening[key]:
            if key not in self._kept:
                self._kept[key] = await self._stack.enter_async_context(opener())
            found: T = self._kept[key]
            return found

    async def shelves(self, shelf: Shelf) -> tuple[Stores, RunStore]:
        """The stores of a shelf. Raises as `open_stores` and `open_runs` do."""
        folder = Path(shelf.data_dir)
        stores = await self.keep(
            ("stores", shelf),
            lambda: open_stores(folder, mongodb_url=shelf.mongodb_url, arangodb_url=shelf.arangodb_url),
        )
        return stores, await self.keep(("runs", shelf), lambda: open_runs(folder, shelf.mongodb_url))

    async def browser(self) -> Browser:
        """One that is alive, without a window. Raises `UserError`."""
        found: Browser = await self.keep("browser", lambda: started_browser(headed=False))
        async with self._opening["browser"]:
            if self._kept["browser"] is found and not found.is_connected():
                self._kept["browser"] = await self._stack.enter_async_context(started_browser(headed=False))
            alive: Browser = self._kept["browser"]
            return alive

    # -- jobs

    def begin(self) -> Stop:
        """A job begins; how it hears that it is to stop."""
        stop = Stop()
        if self.stopped is not None:
            stop.ask(self.stopped)
        self._stops[id(stop)] = stop
        return stop

    def end(self, stop: Stop) -> None:
        """A job is over."""
        self._stops.pop(id(stop), None)

    def stop(self, reason: str) -> None:
        """Nothing begins any more, what goes on ends after its step."""
        self.stopped = self.stopped or reason
        for stop in self._stops.values():
            stop.ask(reason)

    async def close(self) -> None:
        """Let go of everything. Safe to repeat."""
        self._kept.clear()
        with suppress(PlaywrightError):  # a browser that died is closed
            await self._stack.aclose()
