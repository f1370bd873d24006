"""Work in a thread that Ctrl-C ends at once: for what only reads, and can be done again."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from periplus.signals import on_signals

_Result = TypeVar("_Result")


class WorkEnded(Exception):
    """Ctrl-C or SIGTERM ended the work; its thread has no effect any more."""


async def run_until_signal(work: Callable[[], _Result]) -> _Result:
    """Return what `work` returns. Raises its errors, and `WorkEnded` at the first Ctrl-C or SIGTERM.

    The thread is a daemon: a process that ends does not wait for it, as it would for the threads of `asyncio.to_thread`.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_Result] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not result.done():
            settled()

    def run() -> None:
        try:
            made = work()
        except BaseException as exc:  # noqa: BLE001 - it is raised where the work is awaited
            error, settled = exc, lambda: result.set_exception(error)
        else:
            settled = lambda: result.set_result(made)  # noqa: E731
        with suppress(RuntimeError):  # the loop is closed: the work was ended
            loop.call_soon_threadsafe(settle, settled)

    with on_signals(lambda: settle(lambda: result.set_exception(WorkEnded())), signal.SIGINT, signal.SIGTERM):
        threading.Thread(target=run, name="work that may be ended", daemon=True).start()
        return await result
