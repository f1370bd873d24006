"""Which processes are those of a browser that we started."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from agent.browser.browser_processes import BrowserProcesses, find_processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")


class _Session:
    def __init__(self, pid: int) -> None:
        self._pid = pid

    async def send(self, _method: str) -> dict[str, Any]:
        return {"processInfo": [{"type": "browser", "id": self._pid}]}


async def test_the_driver_is_our_own_child() -> None:
    process = await asyncio.create_subprocess_exec("sleep", "30")
    try:
        found = await find_processes(_Session(process.pid))  # type: ignore[arg-type]
        assert found == BrowserProcesses(process.pid, process.pid)
    finally:
        process.kill()
        await process.wait()


async def test_a_process_that_is_not_below_us_is_none_of_ours() -> None:
    assert await find_processes(_Session(os.getppid())) is None  # type: ignore[arg-type]
