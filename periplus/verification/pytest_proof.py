"""Runs the generated suite with pytest, as a user would."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.browser.launch import find_chromium
from agent.redaction import redact_known
from agent.verification.graph.suite_folder import TESTS
from kb_schema.operating_system import end_process_group
from periplus.errors import UserError

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
    ended_by: int | None = None
    """The signal that ended pytest: the result says nothing about the tests."""


def list_missing_packages() -> list[str]:
    """Return the packages that running a suite needs and that are not installed here."""
    needed = {"pytest": "pytest", "pytest_playwright": "pytest-playwright"}
    return [name for module, name in needed.items() if importlib.util.find_spec(module) is None]


def check_pytest_available(option: str, *, tests: bool) -> None:
    """Check that an option which runs tests can do so. Raises `UserError` if no tests are written, or pytest is not
    installed.
    """
    if not tests:
        raise UserError(f"{option} needs tests", fix="remove --no-tests")
    missing = list_missing_packages()
    if missing:
        raise UserError(
            f"{option}: {' and '.join(missing)} are not installed in this environment",
            fix="pip install 'periplus[verify]'",
        )


async def run_pytest_proof(folder: Path, secrets: Mapping[str, str], base_url: str | None) -> PytestProof:
    """Run the tests of a folder. `secrets`: the variables they read, and no others of ours."""
    tests = folder / TESTS
    if not tests.is_dir():
        return PytestProof(False, "no tests were written", "")
    return await run_pytest(tests, [], secrets, base_url)


async def run_pytest(
    tests: Path, names: Sequence[str], secrets: Mapping[str, str], base_url: str | None
) -> PytestProof:
    """Run these files of a suite, or all, with the secrets in the environment; return how it ended."""
    environment = {**os.environ, **secrets}
    chromium = find_chromium()
    if chromium is not None:
        environment.setdefault("PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH", str(chromium))
    command = [
        sys.executable,
        "-m",
        "pytest",
        *(str(tests / each) for each in names or ["."]),
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
        start_new_session=True,  # a signal to this process is not for it: it would end as a red test
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                end_process_group(process.pid, at_once=True)
            await process.wait()
    said = redact_known(output.decode(errors="replace"))[-_KEPT:]
    lines = [line for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else f"pytest ended with code {process.returncode}"
    found = _SUMMARY.match(last)
    ended_by = -process.returncode if process.returncode is not None and process.returncode < 0 else None
    return PytestProof(process.returncode == 0, found[1] if found else last, said, ended_by)
