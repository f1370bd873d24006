"""The tests of one folder, written together: page objects are shared by those that have a page in common.

Every plan is kept beside them (`plans/REQ.json`), so that a run that is carried on writes the same suite.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agent.verifying.flow.hands import NotWritten, Written
from agent.verifying.flow.state import same_test, sealed_plan, unsealed_plan
from agent.verifying.generating import NotGenerated, generate
from kb_schema.verification import Plan, Requirement

TESTS = "generated_tests"
PLANS = "plans"
LOCK = ".lock"


class Suite:
    """The suite of a folder. `requirements` are all that belong to it, by `req_id`, in their order."""

    def __init__(
        self,
        folder: Path,
        *,
        base_url: str,
        requirements: Mapping[str, Requirement],
        title: str = "",
        login: Plan | None = None,
    ) -> None:
        self._folder, self._base_url, self._title = folder, base_url, title
        self._requirements, self.login = dict(requirements), login
        self._plans: dict[str, Plan] = {}
        self._writing = asyncio.Lock()
        self.hidden: dict[str, str] = {}
        """Values that stand in requirements and not in the tests, by the variable these read instead."""

    def recall(self) -> None:
        """Plans of an earlier life of this run, or of other workers: their tests are part of the suite."""
        for req_id, requirement in self._requirements.items():
            if req_id in self._plans:
                continue
            path = self._folder / PLANS / f"{req_id}.json"
            if path.is_file():
                plan = Plan.model_validate_json(path.read_text(encoding="utf-8"))
                if same_test(plan.requirement, requirement, plan):
                    self._plans[req_id] = unsealed_plan(plan, requirement, self._base_url)

    async def add(self, plan: Plan) -> Written:
        """Write the suite with this plan in it; what its test is. Raises `NotWritten`: then it is not in it."""
        async with self._writing:
            req_id = plan.requirement.req_id
            self._requirements.setdefault(req_id, plan.requirement)
            self._plans[req_id] = plan
            try:
                return await asyncio.to_thread(self._write, plan)
            except NotGenerated as exc:
                del self._plans[req_id]
                raise NotWritten(str(exc)) from exc

    def _write(self, plan: Plan) -> Written:
        req_id = plan.requirement.req_id
        kept = self._folder / PLANS / f"{req_id}.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        folder = self._folder / TESTS
        with _nobody_else(kept.parent):
            self.recall()
            plans = [self._plans[each] for each in self._requirements if each in self._plans]
            made = generate(plans, folder, login=self.login, base_url=self._base_url, title=self._title)
            text = sealed_plan(plan, plan.requirement).model_dump_json(indent=2)
            kept.write_text(text, encoding="utf-8")
        self.hidden = made.hidden
        path = made.tests[req_id]
        digest = made.hashes[path.relative_to(folder).as_posix()]
        return Written(path.relative_to(self._folder).as_posix(), digest.removeprefix("sha256:"))


@contextmanager
def _nobody_else(folder: Path) -> Iterator[None]:
    """No other process writes the suite meanwhile; one that died does not keep it."""
    with (folder / LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
