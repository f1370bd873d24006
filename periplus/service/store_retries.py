"""Retries and timeouts for stores that do not answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import structlog

from kb_store import StoreError
from kb_store.errors import StoreUnavailable

T = TypeVar("T")

FIRST_S, LONGEST_S = 0.1, 2.0
"""Delays between attempts, doubling."""
KEPT_WITHIN_S = 5.0
"""Maximum time that a client waits for the store."""

_log = structlog.get_logger(__name__)


async def retry_until_available(ask: Callable[[], Awaitable[T]], *, given_up: asyncio.Event) -> T:
    """Call `ask` until the store answers, and return the result.

    Raises errors that retrying cannot fix, and the last error once `given_up` is set.
    """
    wait = FIRST_S
    while True:
        try:
            return await ask()
        except StoreError as exc:
            if not exc.retriable or given_up.is_set():
                raise
            _log.warning("store_away", reason=str(exc), again_in_s=wait)
            await sleep_until_cancelled(wait, given_up)
            wait = min(wait * 2, LONGEST_S)


@asynccontextmanager
async def limit_store_wait(address: str, seconds: float = KEPT_WITHIN_S) -> AsyncIterator[None]:
    """Limit the time of store calls. Raises `StoreUnavailable` after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as exc:
        raise StoreUnavailable(address, "it did not answer in time", fix="try again") from exc


async def sleep_until_cancelled(seconds: float, given_up: asyncio.Event) -> None:
    """Sleep for `seconds`, or until `given_up` is set."""
    waiting = asyncio.ensure_future(given_up.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
