"""Long work in a thread asks now and then whether anybody still waits for it.

A thread cannot be ended from outside: a call that was given up (timed out, or its client went away)
would compute on for nothing and keep its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from anyio import from_thread

ItemT = TypeVar("ItemT")


def still_wanted() -> None:
    """Ends this thread's work (by the event loop's cancellation) where its call was given up.

    Anywhere but in a worker thread of anyio it does nothing.
    """
    with suppress(RuntimeError):  # what anyio raises where there is no call to ask about
        from_thread.check_cancelled()


def while_wanted(items: Iterable[ItemT], every: int = 1) -> Iterator[ItemT]:
    """The items, for as long as their work is wanted; asked before the first and then before every so many."""
    for number, item in enumerate(items):
        if number % every == 0:
            still_wanted()
        yield item
