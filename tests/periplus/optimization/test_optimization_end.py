"""`periplus optimize` that is ended by SIGTERM ends its tests and leaves the suite as it was."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from periplus.optimization import optimization_run
from periplus.optimization.optimization_run import OptimizeSettings, run_optimization


def test_sigterm_cancels_the_optimization_which_then_takes_its_patches_back(monkeypatch):
    told = []

    async def work(settings, tell):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            told.append("taken back")

    monkeypatch.setattr(optimization_run, "_optimize_suite", work)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(asyncio.wait_for(run_optimization(OptimizeSettings(("t.py",), Path("out"))), 20))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert told == ["taken back"]
