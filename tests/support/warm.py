"""Commands in processes of their own that need not import anything first (see `tests.support.nursery`).

As with `subprocess`, they have their own folder, environment, output, signals and exit code. The
tests of starting itself use `subprocess`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]


class Started:
    """A running process, or one that ran."""

    def __init__(self, status: int, out: IO[str], err: IO[str]) -> None:
        self._status = os.fdopen(status)
        self.stdout, self._err = out, err
        self.pid = int(self._status.readline())
        try:
            self._handle: int | None = os.pidfd_open(self.pid)
        except ProcessLookupError:  # over already
            self._handle = None
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Nothing happens where it has ended."""
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = 100) -> int:
        """The exit code, negative for a signal; one that takes longer than `timeout` seconds is killed."""
        if self.returncode is None:
            late = threading.Timer(timeout, self.kill)
            late.start()
            self.returncode = int(self._status.readline())
            late.cancel()
            self._status.close()
            self._forget()
        return self.returncode

    def _forget(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    async def ended(self) -> int:
        """As `wait`, beside other tasks."""
        return await asyncio.to_thread(self.wait)

    def communicate(self, timeout: float = 100) -> tuple[str, str]:
        """The rest of what it says until its end, and what it said of errors."""
        late = threading.Timer(timeout, self.kill)
        late.start()
        rest = "" if self.stdout.seekable() else self.stdout.read()
        self.wait(timeout)
        late.cancel()
        return rest or _all_of(self.stdout), _all_of(self._err)


def start(
    module: str, *arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None, streamed: bool = False
) -> Started:
    """Run `python -m module arguments`, with `env` beside the environment of the tests.

    `streamed`: all it says can be read from `stdout` as it is said; else out and errors are kept apart.
    """
    order = {
        "module": module, "arguments": arguments, "cwd": str(cwd), "env": {**os.environ, **(env or {})},
        "unbuffered": streamed,
    }  # fmt: skip
    status, told = os.pipe()
    read, said = os.pipe()
    out: IO[str] = os.fdopen(read) if streamed else tempfile.TemporaryFile("w+")  # noqa: SIM115 - `Started` keeps it
    err = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `Started` keeps it
    streams = [said, said] if streamed else [out.fileno(), err.fileno()]
    socket.send_fds(_nursery(), [json.dumps(order).encode()], [*streams, told])
    for end in (said, told) if streamed else (said, told, read):
        os.close(end)
    return Started(status, out, err)


def run(
    module: str, *arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None, timeout: float = 100
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module arguments` to its end."""
    process = start(module, *arguments, cwd=cwd, env=env)
    out, err = process.communicate(timeout)
    return subprocess.CompletedProcess([module, *arguments], process.wait(), out, err)


def _all_of(file: IO[str]) -> str:
    if file.seekable():
        file.seek(0)
    return file.read()


@cache
def _nursery() -> socket.socket:
    """One per worker; it ends when the worker does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen(
        [sys.executable, "-m", "tests.support.nursery", str(theirs.fileno())],
        cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    theirs.close()
    return ours
