"""Requirements against a site in trouble: which root cause each seeded trouble gets, and what is recovered.

The cases are in `tests/data/verification/expected_classes.yaml`, written down before the code that finds
the classes. Each requirement is verified on the healthy site first; then the trouble begins.
"""

from __future__ import annotations

import asyncio
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import yaml
from langgraph.checkpoint.memory import InMemorySaver
from playwright.async_api import Browser, StorageState

from agent.execution.stop_request import StopRequest
from agent.verification.graph import (
    PassedPlans,
    VerificationNodes,
    VerificationTarget,
    build_report,
    open_phase_page,
    run_graph,
)
from agent.verification.graph.verification_state import read_context
from agent.verification.page_checks import VerificationTimeouts
from agent.verification.planning import read_requirements
from kb_schema.expected_outcomes import parse_outcomes
from kb_schema.verification import (
    FailureEvidence,
    Requirement,
    RequirementStep,
    VerdictReport,
    VerificationPlan,
)
from tests.support.foreign_sites import spadeworks_site
from tests.support.live_spadeworks import ACCOUNT, Controls

HERE = Path(__file__).parents[1]
EXPECTED = HERE / "data" / "verification" / "expected_classes.yaml"
REQUIREMENTS = HERE.parent / "seeds" / "spadeworks" / "requirements"
SECRETS: Final = {"SPADEWORKS_PASSWORD": ACCOUNT["password"]}
REDESIGNED: Final = 2
HASTY: Final = VerificationTimeouts(find_s=3.0, gate_s=3.0, outcome_s=3.0)
"""The site answers at once, unless it is told not to: what is not there after this does not come."""


@dataclass(frozen=True)
class Trouble:
    """One case of the file."""

    id: str
    requirement: str
    expected: str
    red: bool
    """It may not come out green."""
    ran_before: bool
    ui: int = 1
    bug: str | None = None
    fault: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, str] = field(default_factory=dict)
    surroundings: str | None = None
    healing: int = 3


@cache
def troubles() -> tuple[Trouble, ...]:
    """All cases, in the order of the file."""
    groups = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))
    return tuple(
        Trouble(
            expected=case.pop("class"),
            ran_before=case.pop("before") == "passed",
            red=group == "app_bugs",
            **case,
        )
        for group, cases in groups.items()
        for case in cases
    )


@dataclass(frozen=True)
class Came:
    """How a verification came out."""

    report: VerdictReport
    evidence: FailureEvidence | None
    plan: VerificationPlan | None

    @property
    def cause(self) -> str:
        return self.report.rca.class_

    @property
    def green(self) -> bool:
        return self.report.verdict == "pass"

    @property
    def drifted(self) -> tuple[int, ...]:
        """Steps that could not be done as they stood."""
        return tuple(sorted({each.step_idx for each in self.report.heal_events}))

    @property
    def recovered(self) -> tuple[int, ...]:
        """Those of them that came off after healing."""
        done = {each.step_idx for each in self.report.steps if each.status == "success"}
        return tuple(each for each in self.drifted if each in done)

    def told(self) -> str:
        """For a person who wonders."""
        rca = self.report.rca
        lines = [
            f"{self.report.req_id}: {self.report.verdict}, {rca.class_} ({rca.confidence:.2f}): {rca.message}"
        ]
        lines += [f"    {each}" for each in rca.evidence]
        lines += [f"  missing: {each.what} of {each.intent}: {each.reason}" for each in self.report.missing]
        lines += [
            f"  step {each.step_idx + 1} healing {each.round}: {'found' if each.success else each.reason}"
            for each in self.report.heal_events
        ]
        if self.evidence is not None:
            lines.append(f"  evidence: {self.evidence.model_dump(mode='json', exclude_defaults=True)}")
        return "\n".join(lines)


class _Plans(PassedPlans):
    """One plan in memory: the one that passed on the healthy site."""

    def __init__(self, known: VerificationPlan | None) -> None:
        self.plan = known

    async def find(self, website_id: str, requirement: Requirement) -> VerificationPlan | None:
        return self.plan

    async def offer(self, website_id: str, req_id: str, offered: object) -> None:
        """Nobody accepts it here."""

    async def list_usual_errors(self, website_id: str) -> frozenset[str]:
        return frozenset(() if self.plan is None else self.plan.usual_errors)

    async def keep(self, website_id: str, plan: VerificationPlan) -> None:
        self.plan = plan


async def verify_requirement(
    requirement: Requirement,
    base: str,
    browser: Browser,
    plan: VerificationPlan | None = None,
    *,
    healing: int = 3,
    storage: StorageState | None = None,
    secrets: Mapping[str, str] | None = None,
    policy: VerificationTimeouts = HASTY,
) -> Came:
    """The graph of PACTS on a site; with a plan, the test was green before."""

    async def alive() -> Browser:
        return browser

    policy = replace(policy, max_heal_rounds=healing)
    plans = _Plans(plan)
    with tempfile.TemporaryDirectory(prefix="periplus-verify-") as out:
        target = VerificationTarget(base, "site", storage)
        open_page = partial(
            open_phase_page, req_id=requirement.req_id, target=target, get_browser=alive, folder=Path(out),
            secrets=secrets or {}, policy=policy, pictures=False,
        )  # fmt: skip
        nodes = VerificationNodes(requirement, target, open_page, plans=plans, max_heal_rounds=healing)
        state = await run_graph(nodes, run_id="run", checkpointer=InMemorySaver(), stop=StopRequest())
    report = build_report(state, requirement, run_id="run", base_url=base)
    return Came(report, read_context(state).evidence, plans.plan)


class Laboratory:
    """A browser, a site with its controls, and what is known of the requirements on the healthy site."""

    def __init__(self, browser: Browser, site: Controls, wanted: Iterable[Requirement]) -> None:
        self._browser, self.site = browser, site
        self.requirements = {each.req_id: each for each in wanted}
        self._plans: dict[str, VerificationPlan] = {}
        self._one_at_a_time = asyncio.Lock()

    async def plan_of(self, req_id: str) -> VerificationPlan:
        """The plan with which the requirement is green on the healthy site."""
        if req_id not in self._plans:
            await self.recover()
            first = await self.verify(self.requirements[req_id], self.site.base)
            assert first.green, f"the healthy site fails\n{first.told()}"
            assert first.plan is not None
            self._plans[req_id] = first.plan
        return self._plans[req_id]

    async def meet(self, trouble: Trouble) -> Came:
        """Verify the case's requirement while the trouble lasts."""
        async with self._one_at_a_time:
            plan = await self.plan_of(trouble.requirement) if trouble.ran_before else None
            requirement = changed(self.requirements[trouble.requirement], trouble.change)
            if trouble.surroundings == "site_down":
                with gone_site() as base:
                    return await self.verify(requirement, base, plan, healing=trouble.healing)
            await self.recover()
            storage = await self.signed_in(requirement)
            self.begin(trouble)
            try:
                return await self.verify(
                    requirement, self.site.base, plan, healing=trouble.healing, storage=storage
                )
            finally:
                await self.recover()

    async def redesigned(self, req_id: str) -> Came:
        """Verify a requirement on the redesigned site with the plan of the old one."""
        drift = Trouble(f"{req_id}_redesigned", req_id, "success", red=False, ran_before=True, ui=REDESIGNED)
        return await self.meet(drift)

    def begin(self, trouble: Trouble) -> None:
        """Let the site be as the case says."""
        if trouble.ui != 1:
            self.site.ask("ui-version", version=trouble.ui)
        if trouble.bug is not None:
            self.site.ask("bugs", bug=trouble.bug)
        if trouble.fault:
            self.site.ask("faults", **trouble.fault)

    async def recover(self) -> None:
        """Let the site be as it was; whoever visited it is forgotten."""
        await asyncio.to_thread(_post, f"{self.site.base}/__control/reset")

    async def signed_in(self, requirement: Requirement) -> StorageState | None:
        """Another visitor every time: each begins with the same sample data."""
        if requirement.login is None:
            return None
        context = await self._browser.new_context()
        try:
            page = await context.new_page()
            await page.goto(f"{self.site.base}/login")
            await page.locator("input[name=email]").fill(ACCOUNT["email"])
            await page.locator("input[name=password]").fill(ACCOUNT["password"])
            await page.locator("input[name=password]").press("Enter")
            await page.wait_for_url("**/dashboard")
            return await context.storage_state()
        finally:
            await context.close()

    async def verify(
        self,
        requirement: Requirement,
        base: str,
        plan: VerificationPlan | None = None,
        *,
        healing: int = 3,
        storage: StorageState | None = None,
    ) -> Came:
        """The graph of PACTS on the site as it is; with a plan, the test was green before."""
        if storage is None and base == self.site.base:
            storage = await self.signed_in(requirement)
        return await verify_requirement(
            requirement, base, self._browser, plan, healing=healing, storage=storage, secrets=SECRETS
        )


@asynccontextmanager
async def laboratory(browser: Browser) -> AsyncIterator[Laboratory]:
    """With a site of its own: its bugs are for everybody who visits it."""
    wanted = await read_requirements([REQUIREMENTS / "spadeworks.json"])
    with spadeworks_site() as base:
        yield Laboratory(browser, Controls(base), wanted)


@contextmanager
def gone_site() -> Iterator[str]:
    """The address of a site that was there until just now."""
    with spadeworks_site() as base:
        pass
    yield base


def changed(requirement: Requirement, change: Mapping[str, str]) -> Requirement:
    """The requirement with another value for an element (also where the step expects to see it), or with
    one more expectation of its last click.
    """
    steps = list(requirement.steps)
    if "value" in change:
        at = next(n for n, each in enumerate(steps) if each.element == change["element"])
        steps[at] = _with_value(steps[at], change["value"])
    if "expected" in change:
        at = max(n for n, each in enumerate(steps) if each.action == "click")
        more = parse_outcomes(change["expected"])
        steps[at] = steps[at].model_copy(update={"expected": (*steps[at].expected, *more)})
    return requirement.model_copy(update={"steps": tuple(steps)})


def _with_value(intent: RequirementStep, value: str) -> RequirementStep:
    expected = tuple(
        each.model_copy(update={"value": value}) if each.value == intent.value else each
        for each in intent.expected
    )
    return intent.model_copy(update={"value": value, "expected": expected})


def _post(url: str) -> None:
    urllib.request.urlopen(urllib.request.Request(url, b"{}", {"Content-Type": "application/json"})).close()
