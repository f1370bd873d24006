"""Starting a seed's site as a process that cannot outlive us."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from periplus.errors import UserError
from periplus.seeds import Seed

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
TAIL_BYTES = 8_192
_LISTENING = re.compile(r"^listening on (http://\S+)\s*$")


@asynccontextmanager
async def running_site(seed: Seed) -> AsyncIterator[str]:
    """The base URL of the seed's site, started on a free port of this machine.

    The site holds the other end of a pipe and exits when it closes, so that a `kill -9` of this
    process leaves none behind. Raises `UserError` where it does not start.
    """
    process = await asyncio.create_subprocess_exec(
        *_command(seed),
        cwd=seed.folder if seed.site.script else None,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for us; the site ends when we do
    )
    assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - asked for above
    said = _Tail(process.stderr)
    try:
        address = await _listening(seed, process, process.stdout, said)
        chatter = _Tail(process.stdout)
        try:
            yield address
        finally:
            await _stop(process)
            await chatter.finish()
    finally:
        await _stop(process)
        await said.finish()


def _command(seed: Seed) -> list[str]:
    common = ["--port", "0", "--exit-with-stdin", *seed.site.arguments]
    if seed.site.module is not None:
        return [sys.executable, "-m", seed.site.module, *common]
    if seed.site.script is not None:
        return [sys.executable, str(seed.folder / seed.site.script), *common]
    raise UserError(
        f"the seed {seed.name!r} has no site to start", fix="give its address with --base-url URL"
    )


async def _listening(
    seed: Seed, process: asyncio.subprocess.Process, stdout: asyncio.StreamReader, said: _Tail
) -> str:
    """The address the site prints."""
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            async for line in stdout:
                match = _LISTENING.match(line.decode(errors="replace"))
                if match is not None:
                    return match[1]
    except TimeoutError:
        reason = f"said nothing for {START_TIMEOUT_S:.0f} s"
    else:
        reason = f"ended with code {await process.wait()}"
    await _stop(process)
    tail = await said.finish()
    raise UserError(
        f"the site of {seed.name!r} did not start: it {reason}" + (f"\n{tail}" if tail else ""),
        fix=f"try it alone: {' '.join(_command(seed))}",
    )


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is None:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
    if process.returncode is None:
        process.kill()
        await process.wait()


class _Tail:
    """Reads what a process says, so that it never blocks on a full pipe, and keeps the end."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._end = b""
        self._task = asyncio.create_task(self._read(stream))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(TAIL_BYTES):
            self._end = (self._end + chunk)[-TAIL_BYTES:]

    async def finish(self) -> str:
        """What it said last, once the process is over: at most 20 lines."""
        await self._task
        return "\n".join(self._end.decode(errors="replace").splitlines()[-20:])
