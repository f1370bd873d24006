"""Finds every element and outcome of a requirement on the live page before any test is written (PACTS 4.2).

The walk does each step, since only that shows the next page. Where something is not found, it says what is
there instead and stops: nothing is guessed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from playwright.async_api import Error as DriverError

from agent.engine.asides import PROMISES
from agent.locating.wanted import Wanted
from agent.page.changing import wait_for_change
from agent.page.errors import PageError
from agent.page.snapshot import revision_of
from agent.telemetry import span
from agent.verifying.bench import doing, expecting, judging, resolving
from agent.verifying.bench.bench import Bench
from agent.verifying.bench.finding import (
    Ahead,
    NotThere,
    Shown,
    Target,
    find_shown,
    needs_element,
    texts_like,
    wanted,
)
from agent.verifying.bench.places import place_of
from kb_schema.outcomes import OUTCOMES
from kb_schema.placeholders import SecretMissing
from kb_schema.verification import Check, Intent, Missing, Outcome, Plan, PlanStep, Requirement
from kb_schema.vocabulary import ACTION_TYPES, canonical


async def build_plan(bench: Bench, requirement: Requirement) -> Plan:
    """The plan of a requirement, as far as it was found. Begins at the requirement's page where the bench
    was not started there already.
    """
    with span("bench.build", req_id=requirement.req_id, steps=len(requirement.steps)):
        return await _Walk(bench, requirement).plan()


class _Missed(Exception):
    """Something was not found."""

    def __init__(self, what: str, reason: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.what, self.reason, self.nearest = what, reason, tuple(nearest)


@dataclass
class _Walk:
    bench: Bench
    requirement: Requirement

    def __post_init__(self) -> None:
        self._ahead = Ahead(self.bench)
        self._steps: list[PlanStep] = []

    async def plan(self) -> Plan:
        missing: list[Missing] = []
        bench, steps = self.bench, self.requirement.steps
        for number, intent in enumerate(steps):
            try:
                if number == 0:
                    await self._open()
                self._steps.append(await self._step(number, intent))
            except (_Missed, PageError, SecretMissing) as exc:
                missed = exc if isinstance(exc, _Missed) else _Missed("element", str(exc))
                missing.append(
                    Missing(
                        step_idx=number, intent=intent.intent, what=missed.what, place=intent.place,
                        reason=bench.redact(missed.reason), nearest=tuple(map(bench.redact, missed.nearest)),
                    )
                )  # fmt: skip
                break
        return Plan(
            requirement=self.requirement,
            base_url=bench.base_url,
            steps=tuple(self._steps),
            missing=tuple(missing),
            obstacles=tuple(bench.obstacles),
        )

    async def _open(self) -> None:
        if self.bench.started == self.requirement.url:
            return
        undone = await self.bench.start(self.requirement.url)
        if undone is not None:
            raise _Missed("page", undone.evidence.message)

    async def _step(self, number: int, intent: Intent) -> PlanStep:
        bench = self.bench
        filled = intent.model_copy(update={"expected": ()})
        filled = bench.usable(filled)
        outcomes = tuple(map(bench.usable, intent.expected))
        tabs = bench.tabs
        step, target = await self._found(number, filled)
        self._note_late_tab(tabs)
        tabs = bench.tabs
        before = await place_of(bench)
        step = step.model_copy(
            update={"page_url": before.path, "page_title": before.title, "page_heading": before.heading}
        )
        known = resolving.Known(step, before)
        bench.begin(number, doing.may_lead_anywhere(filled))
        await resolving.look_ahead(bench, known, outcomes)
        if filled.action:
            await doing.about_to_act(bench, filled)
            await doing.act(bench, step, bench.policy.gate_s)
            await self._led_on(filled, outcomes)
        checks = await self._checks(known, outcomes)
        if target is not None:
            await self._ahead.keep(wanted(filled), target, before.path)
        said = [each for each in bench.happenings_of_step if each.kind != "beforeunload"]
        step = step.model_copy(
            update={
                "dialog": "accept" if said else None,
                "dialog_message": bench.redact(said[-1].message) if said else None,
                "new_tab": bench.tabs > tabs,
                "checks": (),
            }
        )
        kept = bench.keepable(step)
        written = tuple(
            bench.keepable(check).model_copy(update={"outcome": outcome})
            for check, outcome in zip(checks, intent.expected, strict=True)
        )
        return kept.model_copy(update={"intent": intent, "checks": written})

    # -- the element -------------------------------------------------------------------------------

    async def _found(self, number: int, intent: Intent) -> tuple[PlanStep, Target | None]:
        """The step with its element, as it is on the page now."""
        bare = PlanStep(step_idx=number, intent=intent, name=intent.element, discovered_at=datetime.now(UTC))
        if needs_element(intent):
            target = await self._target(number, intent)
            return await self._known(bare, target), target
        about_it = any(OUTCOMES[each.kind].about == "element" and each.element is None
                       for each in self.requirement.steps[number].expected)  # fmt: skip
        if intent.action or not intent.element or not about_it:
            await self.bench.arrived()
            return bare, None
        shown = await self._shown(intent)
        target = Target(shown.selector, shown.strategy, shown.confidence)
        return await self._known(bare, target), None

    async def _known(self, bare: PlanStep, target: Target) -> PlanStep:
        bench = self.bench
        known = await doing.know(bench, target.selector, bench.policy.gate_s)
        seen = known.fingerprint
        return bare.model_copy(
            update={
                "selector": target.selector,
                "expression": known.expression,
                "fingerprint": seen,
                "role": seen.role,
                "name": resolving.called(seen, bare.intent.element),
                "confidence": target.confidence,
                "strategy": target.strategy,
                "from_cache": target.from_cache,
                "password": seen.attributes.get("type", "").lower() == "password",
            }
        )

    async def _target(self, number: int, intent: Intent) -> Target:
        meant = wanted(intent)
        coming = list(self._coming(number))
        began = time.monotonic()
        while True:
            await self.bench.arrived()
            revision = await revision_of(self.bench.page)
            found = await self._ahead.target(meant, coming)
            if isinstance(found, Target):
                return found
            coming = []  # the next look is for this one
            await self._wait_or_miss(found, began, revision)

    async def _shown(self, intent: Intent) -> Shown:
        began = time.monotonic()
        while True:
            await self.bench.arrived()
            revision = await revision_of(self.bench.page)
            found = await find_shown(self.bench, intent.element, intent.region)
            if isinstance(found, Shown):
                return found
            await self._wait_or_miss(found, began, revision)

    async def _wait_or_miss(self, found: NotThere, began: float, revision: str | None) -> None:
        """Until the page changes; where it may not any more, that is all there is."""
        policy = self.bench.policy
        longest = policy.same_page_s if found.several else policy.find_s
        left = longest - (time.monotonic() - began)
        if left <= 0 or self.bench.page.url.startswith(judging.BROWSERS_OWN_ERROR):
            raise _Missed("element", found.reason, found.nearest)
        await wait_for_change(self.bench.page, left, revision)

    def _coming(self, number: int) -> list[Wanted]:
        """What the next steps want of the same page: up to the first that may lead on."""
        found: list[Wanted] = []
        for intent in self.requirement.steps[number : number + 20]:
            if intent is not self.requirement.steps[number] and needs_element(intent):
                with suppress(SecretMissing):
                    found.append(wanted(self.bench.usable(intent)))
            kind = ACTION_TYPES.get(canonical(intent.action) or "")
            if kind is not None and not kind.idempotent:
                break
        return found

    # -- what it leads to --------------------------------------------------------------------------

    async def _led_on(self, intent: Intent, outcomes: Sequence[Outcome]) -> None:
        """What the action promised to open has opened."""
        bench = self.bench
        kind = ACTION_TYPES.get(canonical(intent.action) or "")
        if kind is not None and not kind.idempotent:
            with suppress(DriverError):
                if await bench.page.locator(PROMISES).count():
                    await bench.happenings.tab(bench.policy.tab_s)
        if any(each.kind == "downloads" for each in outcomes):
            await bench.happenings.download(bench.policy.download_s)
        bench.note_dialogs()
        await bench.arrived()

    def _note_late_tab(self, tabs: int) -> None:
        """A tab that came while the next element was looked for is the last step's doing."""
        if self.bench.tabs > tabs and self._steps:
            self._steps[-1] = self._steps[-1].model_copy(update={"new_tab": True})

    async def _checks(self, known: resolving.Known, outcomes: Sequence[Outcome]) -> list[Check]:
        """Every outcome found and seen to hold."""
        if not outcomes:
            return []
        bench, began = self.bench, time.monotonic()
        held: dict[int, Check] = {}
        while True:
            await bench.arrived()
            revision = await revision_of(bench.page)
            missed = await self._look(known, outcomes, held)
            waited = time.monotonic() - began
            if missed is None:
                early = any(resolving.holds_already(known, each) for each in held.values())
                if not early or waited >= bench.policy.same_page_s or self._moved(known):
                    return [held[number] for number in range(len(outcomes))]
            left = bench.policy.outcome_s - waited
            if missed is None:
                left = bench.policy.same_page_s - waited
            elif left <= 0 or bench.page.url.startswith(judging.BROWSERS_OWN_ERROR):
                raise missed
            await wait_for_change(bench.page, left, revision)

    def _moved(self, known: resolving.Known) -> bool:
        return self.bench.path != known.before.path

    async def _look(
        self, known: resolving.Known, outcomes: Sequence[Outcome], held: dict[int, Check]
    ) -> _Missed | None:
        """Resolve and judge what is open; the first that is missing, or None where all hold now."""
        bench = self.bench
        missed: _Missed | None = None
        for number, outcome in enumerate(outcomes):
            if number in held and not expecting.asked(self._case(known, held[number])).lasting:
                continue
            held.pop(number, None)
            found = await resolving.resolve(bench, known, number, outcome)
            if isinstance(found, NotThere):
                missed = missed or _Missed(outcome.said or outcome.kind, found.reason, found.nearest)
                continue
            case = self._case(known, found)
            judged = await judging.judge(bench, [case])
            if judged.held:
                held[number] = await self._observed(judged, case, found)
                continue
            reason = judging.short(judged.verdicts[0])
            near = await texts_like(bench, outcome.value) if outcome.value and missed is None else []
            missed = missed or _Missed(outcome.said or outcome.kind, f"it does not hold: {reason}", near)
        return missed

    def _case(self, known: resolving.Known, check: Check) -> expecting.Case:
        return expecting.Case(
            check, known.step, own=check.outcome.element is None and check.selector is not None
        )

    async def _observed(self, judged: judging.Judged, case: expecting.Case, check: Check) -> Check:
        """With what the page said, for outcomes that compare."""
        answer = judged.answer(0)
        secret = case.own and case.step.password
        if answer is None or secret or check.outcome.kind in ("hidden", "visible", "enabled", "disabled"):
            return check
        said = answer.value if answer.value is not None else answer.text
        return check.model_copy(update={"observed": None if said is None else self.bench.redact(said)[:500]})
