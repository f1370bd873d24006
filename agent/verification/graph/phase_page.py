"""The page of one phase of a verification: `build` finds every element, `execute` runs the planned steps.

`PhasePage` is what the nodes need of it; `open_phase_page` gives the one in a real browser. Tests use a scripted
one.
"""

from __future__ import annotations

import random
import string
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from playwright.async_api import Browser, StorageState

from agent.browser.browser_profile import BrowserProfile
from agent.events import Event
from agent.inferencer import ModelInferencer
from agent.ports import LocatorCachePort
from agent.verification.page_checks import (
    FailedStep,
    StepHealing,
    VerificationPage,
    VerificationTimeouts,
    build_plan,
    collect_evidence,
    execute_step,
    heal_step,
    open_first_page,
    open_verification_page,
)
from kb_schema.locator_expressions import to_source
from kb_schema.verification import (
    ExecutedStep,
    FailureEvidence,
    MissingItem,
    PlanStep,
    Requirement,
    VerificationPlan,
)

Phase = Literal["build", "execute"]
SCREENSHOTS = "screenshots"
UNIQUE_LETTERS = 6
"""Length of the word that replaces `{unique}`. Every phase has a word of its own, because it starts afresh."""


@dataclass(frozen=True, slots=True)
class VerificationTarget:
    """The site a requirement is verified on, and the session it begins with."""

    base_url: str
    website_id: str
    storage: StorageState | None = None
    """Cookies and storage the browser starts with; None: a new visitor."""
    signed_in_by: str | None = None
    """The task or requirement that made `storage`."""
    origins: tuple[str, ...] = ()
    """Origins besides the site's own in which secrets may be typed."""
    secret_fields_only: bool = False
    """Whether secrets are typed only into fields that the page shows to be for secrets: it is a client's requirement."""


@dataclass(frozen=True, slots=True)
class BuiltPlan:
    """A plan. If something is missing in it, also what the page showed at that moment."""

    plan: VerificationPlan
    evidence: FailureEvidence | None = None
    executed: tuple[ExecutedStep, ...] = ()
    """Steps done on the way to the missing one. They are reported, since no test will execute them."""


class PhasePage(Protocol):
    """One page in a browser context of its own. It ends with the process: a resumed run opens a new one."""

    async def build(self, requirement: Requirement) -> BuiltPlan:
        """Find every element on the live page, doing each step to see the next page (PACTS 4.2)."""

    async def start(self, url: str, steps: tuple[PlanStep, ...]) -> FailedStep | None:
        """Open the first page of these steps. Returns the failure if it did not open."""

    async def execute(self, step: PlanStep, *, heal_round: int) -> ExecutedStep | FailedStep:
        """Do one step and check its outcomes. Problems of the page are returned, not raised."""

    async def heal(self, step: PlanStep, failed: FailedStep, round_: int) -> StepHealing:
        """Run one round of healing for the step that failed last."""

    def list_errors(self) -> frozenset[str]:
        """Return what scripts threw or wrote to the console as an error since the page was opened, as patterns."""


@asynccontextmanager
async def open_phase_page(
    phase: Phase,
    *,
    req_id: str,
    target: VerificationTarget,
    get_browser: Callable[[], Awaitable[Browser]],
    folder: Path,
    secrets: Mapping[str, str],
    policy: VerificationTimeouts | None = None,
    locators: LocatorCachePort | None = None,
    pictures: bool = True,
    tell: Callable[[Event], None] = lambda _: None,
    profile: BrowserProfile | None = None,
    judge: ModelInferencer | None = None,
) -> AsyncIterator[PhasePage]:
    """Open a fresh browser context on the site. It shares nothing with earlier phases except the login.

    Screenshots go to `folder/screenshots/REQ/PHASE`.
    """
    shots = Path(SCREENSHOTS) / req_id / phase
    async with open_verification_page(
        await get_browser(),
        base_url=target.base_url,
        website_id=target.website_id,
        storage=target.storage,
        origins=target.origins,
        secret_fields_only=target.secret_fields_only,
        secrets=secrets,
        unique=make_unique_word(),
        policy=policy,
        locators=locators,
        folder=folder / shots if pictures else None,
        tell=tell,
        profile=profile,
        judge=judge,
    ) as page:
        yield BrowserPhasePage(page, shots.as_posix())


def find_missing_kind(missing: MissingItem) -> Literal["action", "outcome", "page"]:
    """Return what failed when something was not found."""
    if missing.what == "page":
        return "page"
    return "action" if missing.what == "element" else "outcome"


def list_unusable_facts(missing: MissingItem) -> dict[str, Any]:
    """Return the fields of `FailureEvidence` about an element that is there and could not be used."""
    facts: dict[str, Any] = (
        {} if not missing.is_there else {"failure": missing.failure, "cover": missing.cover}
    )
    if missing.missing_option is not None:
        facts |= {"missing_option": missing.missing_option, "options": missing.options, "matched": 1}
    return facts


class BrowserPhasePage:
    """The page of a phase in a real browser (`PhasePage`). Reports name its screenshots below `shots`."""

    def __init__(self, page: VerificationPage, shots: str) -> None:
        self._page, self._shots = page, shots

    async def build(self, requirement: Requirement) -> BuiltPlan:
        """Build the plan; if something is missing, take evidence while the page still shows why."""
        plan = await build_plan(self._page, requirement)
        if not plan.missing:
            return BuiltPlan(plan)
        missing = plan.missing[0]
        intent = requirement.steps[missing.step_idx]
        outcome = next((each for each in intent.expected if each.said == missing.what), None)
        evidence = await collect_evidence(
            self._page,
            what=find_missing_kind(missing),
            alike=missing.nearest,
            step_idx=missing.step_idx,
            action=intent.action,
            element=intent.intent or intent.element,
            outcome=outcome,
            message=missing.reason,
            expected=outcome.value if outcome is not None else None,
            difference=missing.difference,
            **list_unusable_facts(missing),
        )
        failed = ExecutedStep(
            step_idx=missing.step_idx,
            element=intent.element,
            region=intent.region,
            action=intent.spoken_action,
            status="failed",
            error=f"{missing.what}: {missing.reason}",
            difference=missing.difference,
            timestamp=datetime.now(UTC),
            screenshot=await self._page.shoot(f"step_{missing.step_idx + 1}_missing"),
        )
        done = tuple(map(_build_executed_step, plan.steps[: missing.step_idx]))
        return BuiltPlan(plan, evidence, (*done, self._with_screenshot_path(failed)))

    async def start(self, url: str, steps: tuple[PlanStep, ...]) -> FailedStep | None:
        """Open the first page."""
        self._page.plan = steps
        return await open_first_page(self._page, url)

    async def execute(self, step: PlanStep, *, heal_round: int) -> ExecutedStep | FailedStep:
        """Do one step."""
        done = await execute_step(self._page, step, heal_round=heal_round)
        if isinstance(done, ExecutedStep):
            return self._with_screenshot_path(done)
        return FailedStep(
            done.failure, self._with_picture_path(done.evidence), self._with_screenshot_path(done.executed)
        )

    async def heal(self, step: PlanStep, failed: FailedStep, round_: int) -> StepHealing:
        """Run one round of healing."""
        return await heal_step(self._page, step, failed, round_)

    def list_errors(self) -> frozenset[str]:
        """Return the patterns of the errors of all pages of the phase."""
        return frozenset(each.pattern for each in self._page.console if each.kind in ("error", "pageerror"))

    def _with_screenshot_path(self, done: ExecutedStep) -> ExecutedStep:
        if done.screenshot is None or "/" in done.screenshot:
            return done
        return done.model_copy(update={"screenshot": f"{self._shots}/{done.screenshot}"})

    def _with_picture_path(self, evidence: FailureEvidence) -> FailureEvidence:
        offered = evidence.offered
        if offered is None or offered.screenshot is None or "/" in offered.screenshot:
            return evidence
        named = offered.model_copy(update={"screenshot": f"{self._shots}/{offered.screenshot}"})
        return evidence.model_copy(update={"offered": named})


def _build_executed_step(step: PlanStep) -> ExecutedStep:
    """Report a step that was done while the plan was built."""
    intent = step.intent
    return ExecutedStep(
        step_idx=step.step_idx,
        element=intent.element,
        region=intent.region,
        action=intent.spoken_action,
        locator=to_source(step.expression) if step.expression else None,
        strategy=step.strategy,
        confidence=step.confidence,
        status="success",
        checks=tuple(each.outcome.said for each in step.checks),
        timestamp=step.discovered_at or datetime.now(UTC),
    )


def make_unique_word() -> str:
    """Return a random word for `{unique}`. Letters only, so that it cannot equal a number on the page."""
    return "".join(random.choices(string.ascii_lowercase, k=UNIQUE_LETTERS))  # noqa: S311 - no secret
