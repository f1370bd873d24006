"""Starts a seed's site as a process that ends with this one."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from periplus.errors import UserError
from periplus.seed_sites.seed_manifests import Seed

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
TAIL_BYTES = 8_192
_LISTENING = re.compile(r"^listening on (http://\S+)\s*$")


@asynccontextmanager
async def start_seed_site(seed: Seed) -> AsyncIterator[str]:
    """Start the seed's site on a free local port; yield its base URL.

    The site watches a pipe and exits when it closes, so it ends even after a `kill -9` of this process. Raises
    `UserError` if it does not start.
    """
    process = await asyncio.create_subprocess_exec(
        *_command(seed),
        cwd=seed.folder if seed.site.script else None,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # only this process gets Ctrl-C
    )
    assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - both are pipes, see above
    said = _OutputTail(process.stderr)
    try:
        address = await _read_site_address(seed, process, process.stdout, said)
        chatter = _OutputTail(process.stdout)
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
        f"the seed {seed.name!r} has no site", fix="give the address of a running one with --base-url URL"
    )


async def _read_site_address(
    seed: Seed, process: asyncio.subprocess.Process, stdout: asyncio.StreamReader, said: _OutputTail
) -> str:
    """Return the address that the site prints."""
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            async for line in stdout:
                match = _LISTENING.match(line.decode(errors="replace"))
                if match is not None:
                    return match[1]
    except TimeoutError:
        reason = f"printed no address within {START_TIMEOUT_S:.0f} s"
    else:
        reason = f"ended with code {await process.wait()}"
    await _stop(process)
    tail = await said.finish()
    raise UserError(
        f"the site of {seed.name!r} did not start: it {reason}" + (f"\n{tail}" if tail else ""),
        fix=f"try to start it manually: {' '.join(_command(seed))}",
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


class _OutputTail:
    """Reads a process's output, so that it never blocks on a full pipe, and keeps the last lines."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._end = b""
        self._task = asyncio.create_task(self._read(stream))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(TAIL_BYTES):
            self._end = (self._end + chunk)[-TAIL_BYTES:]

    async def finish(self) -> str:
        """Return the last lines of the output (at most 20), once the process has ended."""
        await self._task
        return "\n".join(self._end.decode(errors="replace").splitlines()[-20:])
