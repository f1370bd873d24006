"""A server that runs gives freed memory back to the system."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
from pathlib import Path

import pytest

from periplus.memory_return import find_trim, returning_memory

PIECES, PIECE = 60_000, 1_000
MOST_LEFT_KB = 20_000


def _resident_kb() -> int:
    status = Path(f"/proc/{os.getpid()}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[1])


@pytest.mark.skipif(find_trim() is None, reason="this C library has no malloc_trim")
async def test_freed_memory_below_what_is_held_is_given_back() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    before = _resident_kb()
    pieces = [library.malloc(PIECE) for _ in range(PIECES)]
    for each in pieces:
        ctypes.memset(each, 1, PIECE)
    held = pieces.pop()  # the last one keeps the heap from becoming shorter
    for each in pieces:
        library.free(each)
    assert _resident_kb() - before > MOST_LEFT_KB, "nothing to give back"
    async with returning_memory(every_s=0.01):
        async with asyncio.timeout(10):
            while _resident_kb() - before > MOST_LEFT_KB:  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.02)
    library.free(held)
