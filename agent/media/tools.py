"""Calling ffmpeg, ffprobe and espeak-ng, and the errors of this package.

MediaError
├── MediaToolMissing   a program is not installed; says what to install. Final until somebody does.
├── MediaToolFailed    a program ran and failed; carries its last words. Trying again will not help.
└── MediaInputError    what was handed in cannot be used (two sample rates, no video stream).
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from typing import IO

STDERR_TAIL_BYTES = 2000  # enough for ffmpeg's reason, short enough for a message


class MediaError(Exception):
    """Something about making or reading media went wrong."""


class MediaInputError(MediaError):
    """What was handed in cannot be used; the text says why."""


class MediaToolMissing(MediaError):
    """A program that media needs is not installed.

    `program` is what was looked for, `package` what to install, `purpose` what one goes without.
    """

    def __init__(self, tool: Tool) -> None:
        self.program = tool.program
        self.package = tool.package
        self.purpose = tool.purpose
        super().__init__(
            f"{tool.program} is not installed, and {tool.purpose} needs it. "
            f"Install it (Debian, Ubuntu: apt-get install {tool.package}) and try again."
        )


class MediaToolFailed(MediaError):
    """A media program ended with an error; `stderr` is the end of what it said."""

    def __init__(self, program: str, returncode: int, stderr: str) -> None:
        self.program = program
        self.returncode = returncode
        self.stderr = stderr
        super().__init__(f"{program} failed (exit {returncode}): {stderr or 'it said nothing'}")


@dataclass(frozen=True)
class Tool:
    """A program that is called, and the package that has it."""

    program: str
    package: str
    purpose: str

    def find(self) -> str | None:
        """Return the program's path, None where it is not installed."""
        return shutil.which(self.program)

    def require(self) -> str:
        """Return the program's path; raises MediaToolMissing where it is not installed."""
        path = self.find()
        if path is None:
            raise MediaToolMissing(self)
        return path


FFMPEG = Tool("ffmpeg", "ffmpeg", "video")
FFPROBE = Tool("ffprobe", "ffmpeg", "reading video")
ESPEAK = Tool("espeak-ng", "espeak-ng", "the spoken voice")


async def run_tool(tool: Tool, *args: str, stdin: bytes = b"") -> bytes:
    """Run a program to its end and return what it printed.

    The program gets a session of its own, so that Ctrl-C reaches us alone; it is ended when the caller is
    cancelled. Raises MediaToolMissing and MediaToolFailed.
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
        raise MediaToolFailed(tool.program, process.returncode, tail(stderr))
    return stdout


def tail(stderr: bytes) -> str:
    """Return the end of a program's error output as text."""
    return stderr[-STDERR_TAIL_BYTES:].decode(errors="replace").strip()


def tail_of_file(stderr: IO[bytes]) -> str:
    """Return the end of error output that was written to a file."""
    stderr.seek(0)
    return tail(stderr.read())
