"""Proves the generated test of a requirement: plain pytest runs it once on the same site, in a copy of the suite."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from agent.verification.graph.suite_folder import SuiteFolder
from kb_schema.action_types import ACTION_TYPES, canonical
from kb_schema.verification import GeneratedTestProof, PlanStep, VerificationPlan
from periplus.errors import UserError
from periplus.verification.pytest_proof import list_missing_packages, run_pytest

ProofChoice = Literal["repeatable", "always", "never"]
"""Which tests are run: those whose steps may be repeated, all, or none."""
PROOF_S = 300.0
"""Longest run of one test, or of the reset command."""
_MOST = 300


class GeneratedTestProver:
    """Runs generated tests one at a time, since a reset concerns the whole site."""

    def __init__(self, choice: ProofChoice, reset: str | None) -> None:
        """`reset`: a command that puts the site back before each test, so that every step may be repeated."""
        self._choice, self._reset = choice, reset
        self._turn = asyncio.Lock()

    async def prove(
        self,
        suite: SuiteFolder,
        plan: VerificationPlan,
        test: str,
        base_url: str,
        environment: Mapping[str, str],
        began: Callable[[], None],
    ) -> GeneratedTestProof:
        """Run the test at this path of the run's folder and return how it ended; `began` is called if it is run.

        Never raises for a red test.
        """
        if self._choice == "never":
            return _not_proved("proving was not asked for")
        step = None if self._choice == "always" or self._reset else find_unrepeatable_step(plan)
        if step is not None:
            name = step.intent.element or step.intent.action
            return _not_proved(
                f"step {step.step_idx + 1} ({name}) sends data, or may; --reset or --prove runs it"
            )
        missing = list_missing_packages()
        if missing:
            return _not_proved(f"{' and '.join(missing)} not installed")
        async with self._turn:
            began()
            return await self._run(suite, test, base_url, environment)

    async def _run(
        self, suite: SuiteFolder, test: str, base_url: str, environment: Mapping[str, str]
    ) -> GeneratedTestProof:
        if self._reset is not None:
            problem = await _reset_site(self._reset)
            if problem is not None:
                return _not_proved(f"the reset command failed: {problem}")
        with tempfile.TemporaryDirectory(prefix="periplus-proof-") as folder:
            tests = Path(folder) / "tests"
            await suite.copy_tests(tests)
            try:
                async with asyncio.timeout(PROOF_S):
                    ended = await run_pytest(tests, [Path(test).name], environment, base_url)
            except TimeoutError:
                return GeneratedTestProof(status="failed", reason=f"pytest took more than {PROOF_S:.0f} s")
        if ended.passed:
            return GeneratedTestProof(status="proved")
        if ended.ended_by is not None:
            return _not_proved(f"pytest was ended by signal {ended.ended_by}")
        lines = [each[1:].strip() for each in ended.said.splitlines() if each.startswith("E ")]
        return GeneratedTestProof(
            status="failed", reason=" ".join(lines[:3])[:_MOST] or ended.summary[:_MOST]
        )


def find_unrepeatable_step(plan: VerificationPlan) -> PlanStep | None:
    """Return the first step that sent data when the plan was built, or of which that is not known; None if all may be
    repeated.
    """
    return next((each for each in plan.steps if not _is_repeatable(each)), None)


def _is_repeatable(step: PlanStep) -> bool:
    kind = ACTION_TYPES.get(canonical(step.intent.action) or "")
    if step.sent_data is None:
        return not step.intent.action or (kind is not None and kind.idempotent)
    return not step.sent_data


def check_reset(reset: str | None, *, workers: int | None, choice: ProofChoice) -> None:
    """Check `--reset`. Raises `UserError`. `workers`: None for worker processes."""
    if reset is None:
        return
    if choice == "never":
        raise UserError("--reset is for proving tests", fix="remove --no-prove, or --reset")
    if workers != 1:
        raise UserError("--reset puts the site back while other requirements use it", fix="add --workers 1")
    try:
        words = shlex.split(reset)
    except ValueError as exc:
        raise UserError(f"--reset: {exc}", fix="quote the command as a shell would read it") from exc
    if not words:
        raise UserError("--reset is empty", fix="give the command, such as --reset './reset.sh'")


async def _reset_site(command: str) -> str | None:
    """Run the command; return why it failed."""
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as exc:
        return str(exc)
    try:
        async with asyncio.timeout(PROOF_S):
            output, _ = await process.communicate()
    except TimeoutError:
        return f"it took more than {PROOF_S:.0f} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = output.decode(errors="replace").strip()[-_MOST:]
    return None if process.returncode == 0 else f"exit code {process.returncode} {said}".strip()


def _not_proved(reason: str) -> GeneratedTestProof:
    return GeneratedTestProof(status="not_proved", reason=reason)
