"""Runs the generated suite with pytest, as a user would."""

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
from agent.verification.graph.suite_folder import TESTS
from periplus.errors import UserError
from periplus.verification.requirement_verifier import RequirementVerifier

_SUMMARY = re.compile(r"=+ (.*?) =+\s*$")
_KEPT = 20_000
"""Characters of pytest's output that are kept, from its end."""


@dataclass(frozen=True, slots=True)
class PytestProof:
    """The result of pytest on the suite."""

    passed: bool
    summary: str
    said: str
    """The output, without secrets."""


def check_pytest_available(*, tests: bool) -> None:
    """Raises `UserError` if no tests are written, or pytest is not installed."""
    if not tests:
        raise UserError("--run-tests needs tests", fix="remove --no-tests")
    missing = [name for name in ("pytest", "pytest_playwright") if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(
            f"--run-tests: {' and '.join(missing)} are not installed in this environment",
            fix="pip install 'periplus[verify]'",
        )


async def run_pytest_proof(folder: Path, verifier: RequirementVerifier, base_url: str | None) -> PytestProof:
    """Run the tests of a folder. Of our secrets, they get only those that the requirements use."""
    tests = folder / TESTS
    if not tests.is_dir():
        return PytestProof(False, "no tests were written", "")
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
        *command,
        cwd=tests,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
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
    return PytestProof(process.returncode == 0, found[1] if found else last, said)
