"""A store that does not answer for a while: asked again until it does. Waits here, nowhere else."""

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
"""Between two attempts, doubling."""
KEPT_WITHIN_S = 5.0
"""How long a client waits for the store before it is told that it is away."""

_log = structlog.get_logger(__name__)


async def patiently(ask: Callable[[], Awaitable[T]], *, given_up: asyncio.Event) -> T:
    """What `ask` gives, however long the store takes to come back.

    Raises its error where trying again does not help, or once `given_up` is set.
    """
    wait = FIRST_S
    while True:
        try:
            return await ask()
        except StoreError as exc:
            if not exc.retriable or given_up.is_set():
                raise
            _log.warning("store_away", reason=str(exc), again_in_s=wait)
            await pause(wait, given_up)
            wait = min(wait * 2, LONGEST_S)


@asynccontextmanager
async def kept_within(address: str, seconds: float = KEPT_WITHIN_S) -> AsyncIterator[None]:
    """For a client that waits. Raises `StoreUnavailable` once the time is over."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as exc:
        raise StoreUnavailable(address, "it did not answer in time", fix="try again") from exc


async def pause(seconds: float, given_up: asyncio.Event) -> None:
    """Until the time is over, or it is given up."""
    waiting = asyncio.ensure_future(given_up.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
