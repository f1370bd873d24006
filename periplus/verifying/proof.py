"""The last proof: the suite that was written, run by pytest as anybody would run it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from agent.browser.launch import find_chromium
from agent.redaction import redact_known
from agent.verifying.flow.suite import TESTS
from periplus.errors import UserError
from periplus.verifying.verifier import Verifier

_SUMMARY = re.compile(r"=+ (.*?) =+\s*$")
_KEPT = 20_000
"""Characters of what pytest said that are kept: its end."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What pytest said of the suite."""

    passed: bool
    summary: str
    said: str
    """Without secrets."""


def can_prove(*, tests: bool) -> None:
    """Raises `UserError` where there is nothing to run, or nothing to run it with."""
    if not tests:
        raise UserError("--run-tests needs tests", fix="leave --no-tests out")
    missing = [name for name in ("pytest", "pytest_playwright") if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(
            f"--run-tests: {' and '.join(missing)} cannot be imported here",
            fix="pip install 'periplus[verify]'",
        )


async def prove(folder: Path, verifier: Verifier, base_url: str | None) -> Proof:
    """Run the tests of a folder. They get the secrets that were used, and nothing else of ours."""
    tests = folder / TESTS
    if not tests.is_dir():
        return Proof(False, "no tests were written", "")
    environment = {**os.environ, **verifier.environment(folder)}
    chromium = find_chromium()
    if chromium is not None:
        environment.setdefault("PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH", str(chromium))
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(tests),
        "-c",
        str(tests / "pytest.ini"),
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    if base_url is not None:
        command.append(f"--base-url={base_url}")
    process = await asyncio.create_subprocess_exec(
        *command, cwd=tests, env=environment, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = redact_known(output.decode(errors="replace"))[-_KEPT:]
    lines = [line for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else f"pytest ended with code {process.returncode}"
    found = _SUMMARY.match(last)
    return Proof(process.returncode == 0, found[1] if found else last, said)
