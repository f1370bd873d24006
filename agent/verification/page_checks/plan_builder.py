"""Finds every element and outcome of a requirement on the live page, before a test is generated (PACTS 4.2).

It performs each step, because only that shows the next page. Where something is not found, it stops and
reports what is on the page instead.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from playwright.async_api import Error as DriverError

from agent.execution.effects.side_effects import PROMISES
from agent.locators.element_descriptions import ElementDescription
from agent.page.errors import PageError
from agent.page.page_changes import wait_for_change
from agent.page.page_watchdog import page_deadline
from agent.page.snapshot_capture import read_page_revision
from agent.telemetry import span
from agent.verification.page_checks import (
    check_evaluation,
    outcome_conditions,
    outcome_resolution,
    planned_actions,
)
from agent.verification.page_checks.element_discovery import (
    FoundTarget,
    OutcomeElement,
    TargetLookahead,
    TargetNotFound,
    build_wanted,
    find_shown,
    needs_element,
    texts_like,
)
from agent.verification.page_checks.failure_evidence import describe_unusable_element
from agent.verification.page_checks.outcome_differences import describe_difference, describe_unfound
from agent.verification.page_checks.outcome_frames import find_outcome_frames
from agent.verification.page_checks.page_identity import read_page_identity
from agent.verification.page_checks.step_execution import build_outcome_case, open_first_page
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.action_types import ACTION_TYPES, canonical
from kb_schema.expected_outcomes import JUDGED, OUTCOMES
from kb_schema.placeholders import SecretMissing
from kb_schema.verification import (
    ExpectedOutcome,
    FailureKind,
    MissingItem,
    OutcomeDifference,
    PlanCheck,
    PlanStep,
    Requirement,
    RequirementStep,
    VerificationPlan,
)


async def build_plan(site_page: VerificationPage, requirement: Requirement) -> VerificationPlan:
    """The plan of a requirement, as far as it was found. Begins at the requirement's page where the site_page
    was not started there already.
    """
    with span("bench.build", req_id=requirement.req_id, steps=len(requirement.steps)):
        return await _PlanBuilder(site_page, requirement).plan()


class _ElementMissing(Exception):
    """An element, outcome or page was not found."""

    def __init__(
        self,
        what: str,
        reason: str,
        nearest: Sequence[str] = (),
        difference: OutcomeDifference | None = None,
        unusable: Mapping[str, Any] | None = None,
    ) -> None:
        """`unusable`: why an element that is there cannot be used, as fields of `MissingItem`."""
        super().__init__(reason)
        self.unusable = dict(unusable or {})
        self.what, self.reason, self.nearest = what, reason, tuple(nearest)
        self.difference = difference
        self.checks: dict[int, PlanCheck] = {}
        """What is known of the step's outcomes, by number, if the one that does not hold was found."""
        self.unmet: PlanStep | None = None


def _miss(outcome: ExpectedOutcome, found: OutcomeDifference, nearest: Sequence[str]) -> _ElementMissing:
    return _ElementMissing(outcome.said or outcome.kind, str(found), nearest, found)


@dataclass
class _PlanBuilder:
    site_page: VerificationPage
    requirement: Requirement

    def __post_init__(self) -> None:
        self._ahead = TargetLookahead(self.site_page)
        self._steps: list[PlanStep] = []

    async def plan(self) -> VerificationPlan:
        missing: list[MissingItem] = []
        unmet: PlanStep | None = None
        site_page, steps = self.site_page, self.requirement.steps
        for number, intent in enumerate(steps):
            try:
                if number == 0:
                    await self._open()
                async with page_deadline(site_page.page, site_page.policy.step_s, f"step {number + 1}"):
                    with site_page.within(intent):
                        self._steps.append(await self._step(number, intent))
            except (_ElementMissing, PageError, SecretMissing) as exc:
                missed = (
                    exc
                    if isinstance(exc, _ElementMissing)
                    else _ElementMissing("element", str(exc), unusable=describe_unusable_element(exc))
                )
                unmet = missed.unmet
                missing.append(
                    MissingItem(
                        step_idx=number,
                        intent=intent.intent,
                        what=missed.what,
                        place=intent.place.model_copy(update={"file": PurePath(intent.place.file).name}),
                        reason=site_page.redact(missed.reason),
                        nearest=tuple(map(site_page.redact, missed.nearest)),
                        difference=missed.difference and site_page.redacted(missed.difference),
                        **{
                            name: value if name == "failure" else site_page.hidden.redact(value)
                            for name, value in missed.unusable.items()
                        },
                    )
                )
                break
        return VerificationPlan(
            requirement=self.requirement,
            base_url=site_page.base_url,
            steps=tuple(self._with_sent_data(each) for each in self._steps),
            missing=tuple(missing),
            unmet=unmet and self._with_sent_data(unmet),
            obstacles=tuple(site_page.obstacles),
        )

    def _with_sent_data(self, step: PlanStep) -> PlanStep:
        """Return the step with whether data was sent while it was performed."""
        return step.model_copy(update={"sent_data": step.step_idx in self.site_page.monitor.sending_steps})

    async def _open(self) -> None:
        if self.site_page.started == self.requirement.url:
            return
        undone = await open_first_page(self.site_page, self.requirement.url)
        if undone is not None:
            raise _ElementMissing("page", undone.evidence.message)

    async def _step(self, number: int, intent: RequirementStep) -> PlanStep:
        site_page = self.site_page
        filled = intent.model_copy(update={"expected": ()})
        filled = site_page.usable(filled)
        outcomes = tuple(map(site_page.usable, intent.expected))
        tabs = site_page.tabs
        step, target = await self._found(number, filled)
        self._note_late_tab(tabs)
        tabs = site_page.tabs
        before = await read_page_identity(site_page)
        step = step.model_copy(
            update={"page_url": before.path, "page_title": before.title, "page_heading": before.heading}
        )
        known = outcome_resolution.ResolutionContext(step, before)
        site_page.begin(number, planned_actions.may_lead_anywhere(filled))
        await outcome_resolution.find_disappearing_elements(site_page, known, outcomes)
        if filled.action:
            await planned_actions.record_page_before(site_page, filled, outcomes)
            await planned_actions.perform_planned_action(site_page, step, site_page.policy.gate_s)
            await self._led_on(filled, outcomes)
        try:
            checks = await self._checks(known, outcomes)
        except _ElementMissing as exc:
            if exc.checks:
                numbers = sorted(exc.checks)
                part = intent.model_copy(
                    update={"expected": tuple(intent.expected[each] for each in numbers)}
                )
                found = [exc.checks[each] for each in numbers]
                exc.unmet = self._build_step(step, part, found, tabs)
            raise
        if target is not None:
            await self._ahead.keep(build_wanted(filled), target, before.path)
        return self._build_step(step, intent, checks, tabs)

    def _build_step(
        self, step: PlanStep, intent: RequirementStep, checks: Sequence[PlanCheck], tabs: int
    ) -> PlanStep:
        """Return the step as it is kept, after it was done. `tabs`: how many had opened before."""
        site_page = self.site_page
        said = [each for each in site_page.dialogs_of_step if each.kind != "beforeunload"]
        step = step.model_copy(
            update={
                "dialog": "accept" if said else None,
                "dialog_message": site_page.redact(said[-1].message) if said else None,
                "new_tab": site_page.tabs > tabs,
                "checks": (),
            }
        )
        kept = site_page.keepable(step)
        written = tuple(
            site_page.keepable(check).model_copy(update={"outcome": outcome})
            for check, outcome in zip(checks, intent.expected, strict=True)
        )
        return kept.model_copy(update={"intent": intent, "checks": written})

    # -- the element -------------------------------------------------------------------------------

    async def _found(self, number: int, intent: RequirementStep) -> tuple[PlanStep, FoundTarget | None]:
        """Return the step with its element on the current page."""
        bare = PlanStep(step_idx=number, intent=intent, name=intent.element, discovered_at=datetime.now(UTC))
        if needs_element(intent):
            target = await self._target(number, intent)
            return await self._known(bare, target), target
        about_it = any(
            OUTCOMES[each.kind].about == "element" and each.element is None
            for each in self.requirement.steps[number].expected
        )
        if intent.action or not intent.element or not about_it:
            await self.site_page.arrived()
            return bare, None
        shown = await self._shown(intent)
        target = FoundTarget(shown.selector, shown.strategy, shown.confidence)
        return await self._known(bare, target), None

    async def _known(self, bare: PlanStep, target: FoundTarget) -> PlanStep:
        site_page = self.site_page
        known = await planned_actions.examine_element(site_page, target.selector, site_page.policy.gate_s)
        seen = known.fingerprint
        return bare.model_copy(
            update={
                "selector": target.selector,
                "expression": known.expression,
                "fingerprint": seen,
                "role": seen.role,
                "name": outcome_resolution.describe_element_name(seen, bare.intent.element),
                "confidence": target.confidence,
                "strategy": target.strategy,
                "from_cache": target.from_cache,
                "password": seen.attributes.get("type", "").lower() == "password",
            }
        )

    async def _target(self, number: int, intent: RequirementStep) -> FoundTarget:
        meant = build_wanted(intent)
        coming = list(self._coming(number))
        began = time.monotonic()
        while True:
            await self.site_page.arrived()
            revision = await read_page_revision(self.site_page.page)
            found = await self._ahead.target(meant, coming)
            if isinstance(found, FoundTarget):
                return found
            coming = []  # the next search is for this one only
            await self._wait_or_miss(found, began, revision)

    async def _shown(self, intent: RequirementStep) -> OutcomeElement:
        began = time.monotonic()
        while True:
            await self.site_page.arrived()
            revision = await read_page_revision(self.site_page.page)
            found = await find_shown(self.site_page, intent.element, intent.region)
            if isinstance(found, OutcomeElement):
                return found
            await self._wait_or_miss(found, began, revision)

    async def _wait_or_miss(self, found: TargetNotFound, began: float, revision: str | None) -> None:
        """Wait until the page changes. Raises `_ElementMissing` when the time is over."""
        policy = self.site_page.policy
        longest = policy.same_page_s if found.several else policy.find_s
        left = longest - (time.monotonic() - began)
        if left <= 0 or self.site_page.page.url.startswith(check_evaluation.BROWSERS_OWN_ERROR):
            known = FailureKind.NOT_VISIBLE if found.hidden else FailureKind.TIMEOUT
            failure = FailureKind.NOT_UNIQUE if found.several else known
            raise _ElementMissing("element", found.reason, found.nearest, unusable={"failure": failure})
        await wait_for_change(self.site_page.page, left, revision)

    def _coming(self, number: int) -> list[ElementDescription]:
        """Return the targets of the next steps on the same page, up to the first that may navigate."""
        found: list[ElementDescription] = []
        for intent in self.requirement.steps[number : number + 20]:
            if intent is not self.requirement.steps[number] and needs_element(intent):
                found.append(build_wanted(self.site_page.usable(intent)))
            kind = ACTION_TYPES.get(canonical(intent.action) or "")
            if kind is not None and not kind.idempotent:
                break
        return found

    # -- what it leads to --------------------------------------------------------------------------

    async def _led_on(self, intent: RequirementStep, outcomes: Sequence[ExpectedOutcome]) -> None:
        """Wait for the tab, download or page that the action opens."""
        site_page = self.site_page
        kind = ACTION_TYPES.get(canonical(intent.action) or "")
        if kind is not None and not kind.idempotent:
            with suppress(DriverError):
                if await site_page.page.locator(PROMISES).count():
                    await site_page.side_effects.tab(site_page.policy.tab_s)
        if any(each.kind == "downloads" for each in outcomes):
            await site_page.side_effects.download(site_page.policy.download_s)
        site_page.note_dialogs()
        await site_page.arrived()

    def _note_late_tab(self, tabs: int) -> None:
        """Assign a tab that opened while the next element was searched to the last step."""
        if self.site_page.tabs > tabs and self._steps:
            self._steps[-1] = self._steps[-1].model_copy(update={"new_tab": True})

    async def _checks(
        self, known: outcome_resolution.ResolutionContext, outcomes: Sequence[ExpectedOutcome]
    ) -> list[PlanCheck]:
        """Return the checks of all outcomes, each found on the page and holding."""
        if not outcomes:
            return []
        site_page, began = self.site_page, time.monotonic()
        held: dict[int, PlanCheck] = {}
        while True:
            await site_page.arrived()
            revision = await read_page_revision(site_page.page)
            missed = await self._look(known, outcomes, held)
            waited = time.monotonic() - began
            if missed is None:
                early = any(outcome_resolution.is_held_before(known, each) for each in held.values())
                if not early or waited >= site_page.policy.same_page_s or self._moved(known):
                    return [held[number] for number in range(len(outcomes))]
            left = site_page.policy.outcome_s - waited
            if missed is None:
                left = site_page.policy.same_page_s - waited
            elif left <= 0 or site_page.page.url.startswith(check_evaluation.BROWSERS_OWN_ERROR):
                raise missed
            await wait_for_change(site_page.page, left, revision)

    def _moved(self, known: outcome_resolution.ResolutionContext) -> bool:
        return self.site_page.path != known.before.path

    async def _look(
        self,
        known: outcome_resolution.ResolutionContext,
        outcomes: Sequence[ExpectedOutcome],
        held: dict[int, PlanCheck],
    ) -> _ElementMissing | None:
        """Resolve and evaluate the open outcomes; return the first that is missing, None if all hold."""
        site_page = self.site_page
        missed: _ElementMissing | None = None
        for number, outcome in sorted(enumerate(outcomes), key=lambda each: each[1].kind == JUDGED):
            if outcome.kind == JUDGED and missed is not None:
                break  # a model is asked last
            if (
                number in held
                and not outcome_conditions.build_outcome_query(self._case(known, held[number])).lasting
            ):
                continue
            held.pop(number, None)
            found = await outcome_resolution.resolve_outcome(site_page, known, number, outcome)
            if isinstance(found, TargetNotFound):
                missed = missed or _miss(
                    outcome, describe_unfound(outcome, known.step.intent, found.reason), found.nearest
                )
                continue
            case = self._case(known, found)
            judged = await check_evaluation.evaluate_checks(site_page, [case])
            if judged.held:
                held[number] = (await self._observed(judged, case, found)).model_copy(
                    update={"frames": await find_outcome_frames(site_page, found)}
                )
                continue
            if missed is None:
                near = await texts_like(site_page, outcome.value) if outcome.value else []
                missed = _miss(outcome, await describe_difference(site_page, case, judged, 0), near)
                missed.checks = {**held, number: found}
        return missed

    def _case(
        self, known: outcome_resolution.ResolutionContext, check: PlanCheck
    ) -> outcome_conditions.OutcomeCase:
        return build_outcome_case(self.site_page, known.step, check)

    async def _observed(
        self, judged: check_evaluation.CheckResults, case: outcome_conditions.OutcomeCase, check: PlanCheck
    ) -> PlanCheck:
        """Return the check with the observed text, for outcomes that compare."""
        answer = judged.answer(0)
        secret = case.own and case.step.password
        if answer is None or secret or check.outcome.kind in ("hidden", "visible", "enabled", "disabled"):
            return check
        said = answer.value if answer.value is not None else answer.text
        return check.model_copy(
            update={"observed": None if said is None else self.site_page.redact(said)[:500]}
        )
