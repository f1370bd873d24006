"""The resources that a worker reuses between jobs: browser, stores, and others of the job kinds.

They are opened on first use and closed when the worker ends.
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

from agent.browser.browser_life import wait_until_usable
from agent.execution.stop_request import StopRequest
from agent.run_context import InputProvider
from kb_schema.base import Model
from kb_store import Stores, open_stores
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from periplus.audit_setup import start_audit_log
from periplus.session_setup import BrowserOptions, start_browser

T = TypeVar("T")


class StoreAddresses(Model):
    """The addresses of a job's stores; they may contain a password."""

    data_dir: str
    """The folder of the embedded stores."""
    mongodb_url: str | None = None
    arangodb_url: str | None = None

    def __repr__(self) -> str:
        """Return a text without addresses."""
        return f"StoreAddresses(data_dir={self.data_dir!r})"

    __str__ = __repr__


class WorkerResources:
    """The resources of one worker process for one fleet. Belongs to one event loop."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._kept: dict[Hashable, Any] = {}
        self._opening: defaultdict[Hashable, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._stops: dict[int, StopRequest] = {}
        self.stopped: str | None = None
        """Why no new job starts here."""
        self.asker: InputProvider | None = None
        """A person at this process's terminal, who is asked for missing inputs and at waits."""

    @property
    def busy(self) -> bool:
        """Return whether a job is running."""
        return bool(self._stops)

    async def keep(self, key: Hashable, opener: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """Return the resource with this key; open it if necessary. Raises the opener's errors."""
        async with self._opening[key]:
            if key not in self._kept:
                self._kept[key] = await self._stack.enter_async_context(opener())
            found: T = self._kept[key]
            return found

    async def open_stores(self, addresses: StoreAddresses) -> tuple[Stores, RunStore]:
        """Return the stores at these addresses. Raises the errors of `open_stores` and `open_runs`."""
        folder = Path(addresses.data_dir)
        start_audit_log(folder)
        stores = await self.keep(
            ("stores", addresses),
            lambda: open_stores(
                folder, mongodb_url=addresses.mongodb_url, arangodb_url=addresses.arangodb_url
            ),
        )
        return stores, await self.keep(("runs", addresses), lambda: open_runs(folder, addresses.mongodb_url))

    async def browser(self) -> Browser:
        """Return a running headless browser. Raises `UserError`."""
        options = BrowserOptions(headed=False, webmcp=True)
        found: Browser = await self.keep("browser", lambda: start_browser(options=options))
        async with self._opening["browser"]:
            if self._kept["browser"] is found and not await wait_until_usable(found):
                self._kept["browser"] = await self._stack.enter_async_context(start_browser(options=options))
            alive: Browser = self._kept["browser"]
            return alive

    # -- jobs

    def begin(self) -> StopRequest:
        """Register a job; return its stop request."""
        stop = StopRequest()
        if self.stopped is not None:
            stop.ask(self.stopped)
        self._stops[id(stop)] = stop
        return stop

    def end(self, stop: StopRequest) -> None:
        """Unregister a job."""
        self._stops.pop(id(stop), None)

    def stop(self, reason: str) -> None:
        """Start no more jobs, and stop running ones after their current step."""
        self.stopped = self.stopped or reason
        for stop in self._stops.values():
            stop.ask(reason)

    async def close(self) -> None:
        """Close all resources. Safe to repeat."""
        self._kept.clear()
        with suppress(PlaywrightError):  # a crashed browser is already closed
            await self._stack.aclose()
