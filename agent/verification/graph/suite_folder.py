"""The generated tests of one folder. They are written together, because tests share page objects.

Every plan is kept beside them (`plans/REQ.json`), so that a resumed run writes the same suite.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.browser.browser_profile import BrowserProfile
from agent.verification.generation import NotGenerated, generate
from agent.verification.graph.verification_state import is_same_test, seal_plan, unseal_plan
from kb_schema.operating_system import lock_file
from kb_schema.verification import Requirement, VerificationPlan

TESTS = "generated_tests"
PLANS = "plans"
LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class GeneratedTest:
    """The generated test of one requirement."""

    path: str
    """Relative to the folder of the run."""
    sha256: str


class SuiteFolder:
    """The suite of a folder. `requirements` are all that belong to it, by `req_id`, in their order."""

    def __init__(
        self,
        folder: Path,
        *,
        base_url: str,
        requirements: Mapping[str, Requirement],
        title: str = "",
        login: VerificationPlan | None = None,
        profile: BrowserProfile | None = None,
    ) -> None:
        self._folder, self._base_url, self._title = folder, base_url, title
        self._profile = profile or BrowserProfile()
        self._requirements, self.login = dict(requirements), login
        self._plans: dict[str, VerificationPlan] = {}
        self._writing = asyncio.Lock()
        self.hidden: dict[str, str] = {}
        """Secret values of requirements, by the environment variable the tests read instead."""

    def load_plans(self) -> None:
        """Read the plans that an interrupted run or another worker left: their tests belong to the suite."""
        for req_id, requirement in self._requirements.items():
            if req_id in self._plans:
                continue
            path = self._folder / PLANS / f"{req_id}.json"
            if path.is_file():
                plan = VerificationPlan.model_validate_json(path.read_text(encoding="utf-8"))
                if is_same_test(plan.requirement, requirement, plan):
                    self._plans[req_id] = unseal_plan(plan, requirement, self._base_url)

    async def write_test(self, plan: VerificationPlan) -> GeneratedTest:
        """Write the suite with this plan in it, and return its test. Raises `NotGenerated`: the plan is then left
        out.
        """
        async with self._writing:
            req_id = plan.requirement.req_id
            self._requirements.setdefault(req_id, plan.requirement)
            self._plans[req_id] = plan
            try:
                return await asyncio.to_thread(self._write, plan)
            except NotGenerated:
                del self._plans[req_id]
                raise

    async def copy_tests(self, to: Path) -> None:
        """Copy the suite as it is now into a folder that does not exist; other requirements may write on."""
        async with self._writing:
            await asyncio.to_thread(self._copy, to)

    def _copy(self, to: Path) -> None:
        with _lock_folder(self._folder / PLANS):
            shutil.copytree(self._folder / TESTS, to)

    def _write(self, plan: VerificationPlan) -> GeneratedTest:
        req_id = plan.requirement.req_id
        kept = self._folder / PLANS / f"{req_id}.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        folder = self._folder / TESTS
        with _lock_folder(kept.parent):
            self.load_plans()
            plans = [self._plans[each] for each in self._requirements if each in self._plans]
            suite = generate(
                plans,
                folder,
                login=self.login,
                base_url=self._base_url,
                title=self._title,
                profile=self._profile,
            )
            text = seal_plan(plan, plan.requirement).model_dump_json(indent=2)
            kept.write_text(text, encoding="utf-8")
        self.hidden = suite.hidden
        path = suite.tests[req_id]
        digest = suite.hashes[path.relative_to(folder).as_posix()]
        return GeneratedTest(path.relative_to(self._folder).as_posix(), digest.removeprefix("sha256:"))


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from writing the suite. The lock of a process that died is released."""
    with (folder / LOCK).open("a") as file, lock_file(file.fileno()):
        yield
