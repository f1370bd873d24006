"""Signals that the event loop hears."""

from __future__ import annotations

import asyncio
import signal

from periplus.signals import on_signals


async def test_a_signal_is_heard_and_what_was_there_before_is_put_back():
    def usual(*_: object) -> None:
        """Stands for asyncio's own."""

    before = signal.signal(signal.SIGINT, usual)
    heard = asyncio.Event()
    try:
        with on_signals(heard.set, signal.SIGINT):
            signal.raise_signal(signal.SIGINT)
            await heard.wait()
        assert signal.getsignal(signal.SIGINT) is usual
    finally:
        signal.signal(signal.SIGINT, before)
