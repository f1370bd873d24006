"""Handles Ctrl-C and SIGTERM in the event loop, for a controlled end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_signals(react: Callable[[], object], *signals: signal.Signals) -> Iterator[None]:
    """Call `react` for each of these signals inside the context, and restore the previous handlers afterwards.

    Also restores asyncio's own handler of Ctrl-C, which `remove_signal_handler` does not. Does nothing outside of the
    main thread. Must not be nested.
    """
    loop = asyncio.get_running_loop()
    before = {}
    try:
        for number in signals:
            handler = signal.getsignal(number)
            loop.add_signal_handler(number, react)
            before[number] = handler
    except (NotImplementedError, RuntimeError, ValueError):
        pass  # the main thread cancels this one
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
