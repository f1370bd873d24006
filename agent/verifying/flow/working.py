"""The hands of a verification as they are: the bench on a real page, the generator, the table of root causes."""

from __future__ import annotations

import random
import string
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from playwright.async_api import Browser, StorageState

from agent.events import Event
from agent.inferring import Inferencer
from agent.ports import Locators
from agent.verifying.bench import (
    Bench,
    BenchPolicy,
    Undone,
    build_plan,
    execute_step,
    heal_step,
    open_bench,
)
from agent.verifying.flow.hands import Built, Mended, Phase, Trouble, Walk, Written
from agent.verifying.flow.suite import Suite
from agent.verifying.root_cause import consult, succeeded
from kb_schema.verification import Evidence, ExecutedStep, Plan, PlanStep, Requirement, RootCause

SHOTS = "screenshots"
UNIQUE_LETTERS = 6
"""Letters of the word that stands for `{unique}`: another one in every phase, for each begins afresh."""


class Plans(Protocol):
    """The plans with which requirements passed last."""

    async def known(self, website_id: str, requirement: Requirement) -> Plan | None:
        """Of this very requirement, with its own values."""

    async def keep(self, website_id: str, plan: Plan) -> None:
        """It passed with this one."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where and as whom a requirement is verified."""

    base_url: str
    website_id: str
    storage: StorageState | None = None
    """What the browser knows at the start: who is signed in."""
    signed_in_by: str | None = None


@dataclass(frozen=True, slots=True)
class WorkingHands:
    """For one requirement."""

    requirement: Requirement
    site: Site
    browser: Callable[[], Awaitable[Browser]]
    """A browser that is alive."""
    suite: Suite
    plans: Plans
    folder: Path
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    policy: BenchPolicy = field(default_factory=BenchPolicy)
    locators: Locators | None = None
    tests: bool = True
    pictures: bool = True
    tell: Callable[[Event], None] = lambda _: None
    inferencer: Inferencer | None = None
    """Explains root causes; decides none."""
    redact: Callable[[Any], Any] = lambda data: data
    """Takes secrets out of what it is shown."""

    @asynccontextmanager
    async def walk(self, phase: Phase) -> AsyncIterator[Walk]:
        """A fresh context on the site."""
        shots = self.folder / SHOTS / self.requirement.req_id / phase
        async with open_bench(
            await self.browser(),
            base_url=self.site.base_url,
            website_id=self.site.website_id,
            storage=self.site.storage,
            secrets=self.secrets,
            unique=unique_word(),
            policy=self.policy,
            locators=self.locators,
            folder=shots if self.pictures else None,
            tell=self.tell,
        ) as bench:
            yield BenchWalk(bench, self.site.signed_in_by, shots.relative_to(self.folder).as_posix())

    async def known(self, requirement: Requirement) -> Plan | None:
        """The plan with which it passed last."""
        return await self.plans.known(self.site.website_id, requirement)

    async def remember(self, plan: Plan) -> None:
        """It passed with this plan."""
        await self.plans.keep(self.site.website_id, plan)

    async def generate(self, plan: Plan) -> Written | None:
        """Write its test, and those that share a page with it anew."""
        return await self.suite.add(plan) if self.tests else None

    async def classify(self, evidence: Evidence) -> RootCause:
        """Why it failed, and what a language model has to say to that, where there is one."""
        return await consult(evidence, self.inferencer, redact=self.redact)

    def succeeded(self, **metrics: float) -> RootCause:
        """It did not."""
        return succeeded(**metrics)


class BenchWalk:
    """One phase on a bench (`agent.verifying.flow.Walk`)."""

    def __init__(self, bench: Bench, signed_in_by: str | None, shots: str) -> None:
        self._bench, self._signed_in_by, self._shots = bench, signed_in_by, shots
        self._undone: Undone | None = None

    async def build(self, requirement: Requirement) -> Built:
        """Find first, acting to see the next page."""
        bench = self._bench
        plan = await build_plan(bench, requirement)
        plan = plan.model_copy(update={"signed_in_by": self._signed_in_by})
        if not plan.missing:
            return Built(plan)
        lost = plan.missing[0]
        intent = requirement.steps[lost.step_idx]
        outcome = next((each for each in intent.expected if each.said == lost.what), None)
        evidence = await bench.evidence_now(
            what="action" if lost.what == "element" else "outcome", step_idx=lost.step_idx,
            action=intent.action, element=intent.element, outcome=outcome, message=lost.reason,
            expected=outcome.value if outcome is not None else None,
        )  # fmt: skip
        failed = ExecutedStep(
            step_idx=lost.step_idx, element=intent.element, region=intent.region, action=intent.action,
            status="failed", error=f"{lost.what}: {lost.reason}", timestamp=datetime.now(UTC),
            screenshot=await bench.shoot(f"step_{lost.step_idx + 1}_missing"),
        )  # fmt: skip
        done = tuple(map(_found, plan.steps[: lost.step_idx]))
        return Built(plan, evidence, (*done, self._placed(failed)))

    async def start(self, url: str) -> Trouble | None:
        """Open the first page."""
        undone = await self._bench.start(url)
        if undone is None:
            return None
        return Trouble(undone.failure, undone.evidence)

    async def execute(self, step: PlanStep, *, heal_round: int) -> ExecutedStep | Trouble:
        """Do one step."""
        done = await execute_step(self._bench, step, heal_round=heal_round)
        if isinstance(done, ExecutedStep):
            return self._placed(done)
        self._undone = done
        return Trouble(done.failure, done.evidence, self._placed(done.executed))

    async def heal(self, step: PlanStep, trouble: Trouble, round_: int) -> Mended:
        """One round for the step that was in trouble last."""
        undone = self._undone
        assert undone is not None and trouble.executed is not None  # noqa: S101, PT018 - `execute` came first
        healing = await heal_step(self._bench, step, undone, round_)
        return Mended(healing.event, healing.step)

    def _placed(self, done: ExecutedStep) -> ExecutedStep:
        """The picture's place in the folder of the report."""
        if done.screenshot is None or "/" in done.screenshot:
            return done
        return done.model_copy(update={"screenshot": f"{self._shots}/{done.screenshot}"})


def _found(step: PlanStep) -> ExecutedStep:
    """A step that was done to see the next page."""
    intent = step.intent
    return ExecutedStep(
        step_idx=step.step_idx, element=intent.element, region=intent.region, action=intent.action,
        strategy=step.strategy, confidence=step.confidence, status="success",
        checks=tuple(each.outcome.said for each in step.checks),
        timestamp=step.discovered_at or datetime.now(UTC),
    )  # fmt: skip


def unique_word() -> str:
    """Letters only: no number of a page is like it."""
    return "".join(random.choices(string.ascii_lowercase, k=UNIQUE_LETTERS))  # noqa: S311 - no secret
