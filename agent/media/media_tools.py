"""Calls ffmpeg, ffprobe and espeak-ng; defines the errors of this package.

MediaError
├── MediaToolMissing   a program is not installed; says what to install.
├── MediaToolFailed    a program failed; contains the end of its output. Retrying does not help.
└── MediaInputError    the input cannot be used (two sample rates, no video stream).
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from typing import IO

STDERR_TAIL_BYTES = 2000  # enough for ffmpeg's reason, short enough for a message


class MediaError(Exception):
    """Making or reading media failed."""


class MediaInputError(MediaError):
    """The input cannot be used; the text says why."""


class MediaToolMissing(MediaError):
    """A required program is not installed.

    `program`: its name, `package`: what to install, `purpose`: what needs it.
    """

    def __init__(self, tool: MediaTool) -> None:
        self.program = tool.program
        self.package = tool.package
        self.purpose = tool.purpose
        super().__init__(
            f"{tool.program} is not installed, and {tool.purpose} needs it. "
            f"Install it (Debian, Ubuntu: apt-get install {tool.package}) and try again."
        )


class MediaToolFailed(MediaError):
    """A media program failed; `stderr` is the end of its error output."""

    def __init__(self, program: str, returncode: int, stderr: str) -> None:
        self.program = program
        self.returncode = returncode
        self.stderr = stderr
        super().__init__(f"{program} failed (exit {returncode}): {stderr or 'it said nothing'}")


@dataclass(frozen=True)
class MediaTool:
    """A program, and the package that contains it."""

    program: str
    package: str
    purpose: str

    def find(self) -> str | None:
        """Return the program's path; None if it is not installed."""
        return shutil.which(self.program)

    def require(self) -> str:
        """Return the program's path. Raises MediaToolMissing if it is not installed."""
        path = self.find()
        if path is None:
            raise MediaToolMissing(self)
        return path


FFMPEG = MediaTool("ffmpeg", "ffmpeg", "video")
FFPROBE = MediaTool("ffprobe", "ffmpeg", "reading video")
ESPEAK = MediaTool("espeak-ng", "espeak-ng", "the spoken voice")


async def run_tool(tool: MediaTool, *args: str, stdin: bytes = b"") -> bytes:
    """Run a program to its end and return its output.

    The program gets a session of its own, so that Ctrl-C only reaches this process; it is killed if the
    caller is cancelled. Raises MediaToolMissing and MediaToolFailed.
    """
    process = await asyncio.create_subprocess_exec(
        tool.require(),
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        stdout, stderr = await process.communicate(stdin)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise MediaToolFailed(tool.program, process.returncode, read_error_tail(stderr))
    return stdout


def read_error_tail(stderr: bytes) -> str:
    """Return the end of a program's error output as text."""
    return stderr[-STDERR_TAIL_BYTES:].decode(errors="replace").strip()


def read_error_file_tail(stderr: IO[bytes]) -> str:
    """Return the end of error output that was written to a file."""
    stderr.seek(0)
    return read_error_tail(stderr.read())
