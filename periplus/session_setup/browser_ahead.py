"""A browser that is started before it is used: it opens while the program is still being imported (decision 0202)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, StorageState

    from periplus.session_setup.browser_options import BrowserOptions


class BrowserAhead:
    """The browser of one job. It is started by `start`, or with the first context; `close` ends it."""

    def __init__(self, options: BrowserOptions) -> None:
        self._options = options
        self._over = asyncio.Event()
        self._ready: asyncio.Future[Browser] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start it now, if it is a new one without a profile: those that belong to somebody wait until they are needed."""
        if self._options.given or self._options.user_data_dir or self._options.storage_state:
            return
        from periplus.session_setup.browser_start import start_browser  # noqa: PLC0415 - decision 0202

        starting = start_browser(options=replace(self._options, webmcp=True))
        self._task = asyncio.create_task(self._keep(starting))

    @asynccontextmanager
    async def open(self, storage: StorageState | None = None) -> AsyncIterator[BrowserContext]:
        """Open a context, as `open_working_context` does. Raises `UserError` if the browser cannot be started."""
        from periplus.session_setup.browser_contexts import (  # noqa: PLC0415 - decision 0202
            open_fresh_context,
            open_working_context,
        )

        if self._task is None:
            async with open_working_context(self._options, storage) as context:
                yield context
            return
        async with open_fresh_context(await asyncio.shield(self._ready), storage) as context:
            yield context

    async def close(self) -> None:
        """Close the browser; one that is still starting is given up."""
        self._over.set()
        if self._task is not None:
            if not self._ready.done():
                self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            if self._ready.done() and not self._ready.cancelled():
                self._ready.exception()  # else an error that nobody waited for would be printed

    async def _keep(self, starting: AbstractAsyncContextManager[Browser]) -> None:
        try:
            async with starting as browser:
                self._ready.set_result(browser)
                await self._over.wait()
        except Exception as exc:
            if self._ready.done():
                raise
            self._ready.set_exception(exc)


@asynccontextmanager
async def browser_ahead(options: BrowserOptions) -> AsyncIterator[BrowserAhead]:
    """Yield the browser of a job, not started, and close it at the end."""
    ahead = BrowserAhead(options)
    try:
        yield ahead
    finally:
        await ahead.close()
