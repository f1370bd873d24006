"""Cancellation of long work in a thread: the work checks regularly whether its caller still waits.

A thread cannot be stopped from outside. Without this check, a call that timed out or lost its client would go on
computing and keep its slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from anyio import from_thread

ItemT = TypeVar("ItemT")


def stop_if_cancelled() -> None:
    """Stop this thread's work, by the event loop's cancellation, if its call was given up.

    Does nothing outside a worker thread of anyio.
    """
    with suppress(RuntimeError):  # anyio raises this outside a worker thread
        from_thread.check_cancelled()


def iterate_until_cancelled(items: Iterable[ItemT], every: int = 1) -> Iterator[ItemT]:
    """Yield the items, and check for cancellation before the first and then at regular intervals."""
    for number, item in enumerate(items):
        if number % every == 0:
            stop_if_cancelled()
        yield item
