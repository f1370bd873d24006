"""Ctrl-C and SIGTERM, heard by the event loop while something must come to a good end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_signals(react: Callable[[], object], *signals: signal.Signals) -> Iterator[None]:
    """Call `react` for each of these signals instead of what is done with them now; that is put
    back afterwards, also asyncio's own way with Ctrl-C, which `remove_signal_handler` forgets.

    Changes nothing where signals cannot be handled (outside the main thread). Not to be nested.
    """
    loop = asyncio.get_running_loop()
    before = {}
    try:
        for number in signals:
            handler = signal.getsignal(number)
            loop.add_signal_handler(number, react)
            before[number] = handler
    except (NotImplementedError, RuntimeError, ValueError):
        pass  # whoever is in the main thread will cancel us
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
