"""Keeps what this process starts from taking a higher priority than its own.

Chromium raises its threads to a nice value of 0 or -8, whatever it was started with, where the system lets it: as root. A server
that is meant to be of low priority would take the machine from everything else. So the right to do that is taken from all programs
that are started afterwards, on Linux; it cannot be given back.
"""

from __future__ import annotations

import sys
from contextlib import suppress

_PR_CAPBSET_DROP = 24
_CAP_SYS_NICE = 23


def keep_priority() -> None:
    """Take the right from programs that this thread starts from now on. Nothing happens where it has none to give."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - before a browser starts only

    with suppress(OSError, AttributeError):  # a C library without it
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)
