"""What must hold before a step and after it: its own conditions, and those of its element's affordance (KS 4.1).

Not here: remedies (`recovery.precondition_remedies`), and whether the outcome is good enough (`results.outcome_checks`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from agent.errors import StepFailed
from agent.execution.call_templates import AuthoredTarget, fill_call, fill_conditions
from agent.page.errors import SelectorNotFilled
from agent.page.page_changes import wait_for_change, wait_for_timers
from agent.page.page_readings import wait_until_settled
from agent.page.shown_states import find_doubt
from agent.session import elements_named
from kb_schema import action_types
from kb_schema.condition_evaluation import has_passed
from kb_schema.conditions import BaseCondition, Combined, ElementVisible, FieldHasValue, OnScreen, UrlMatches
from kb_schema.probes import Verdict, VerdictStatus
from kb_schema.screens import Affordance, UIElement
from kb_schema.selectors import Selector
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun


DRAWN_S = 2.5
"""Seconds in which a page shows the element of a step, or that what the step is for is so already."""

CALM_S = 1.0
"""Seconds for which a page must show that what a step is for is so already, after it has settled."""

TIMERS_S = 5.0
"""Seconds in which scripts that wait may still change what a page shows: they are waited for."""


@dataclass(frozen=True, slots=True)
class PageBeforeStep:
    """The page before a step, from one look."""

    skip: list[Verdict]
    needed: list[tuple[BaseCondition, Verdict]]
    covered: bool
    """An overlay that the website knows how to close lies over the page."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values by which the conditions were judged: the task's, and the parameters of the step's element."""


class StepConditions:
    """Judges the conditions of steps for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine
        self._session = engine.session

    async def judge_before(
        self, run: TaskRun, step: TaskStep, skip: tuple[BaseCondition, ...] = ()
    ) -> PageBeforeStep:
        """Judge everything needed before a step in one look: `skip_when`, preconditions of the step and of
        its element's affordance, and overlays. The page is asked what the preconditions of its action need, too.
        """
        session = self._session
        afforded, values = await self._list_afforded_preconditions(run, step)
        needed = (*fill_conditions(step.preconditions, run.values), *afforded)
        overlays = tuple(overlay.present_when for overlay in session.website.overlays)
        ahead = await self._engine.actions.list_preconditions(step.action, run.values)
        verdicts = iter(await session.judge([*skip, *needed, *overlays], values, ahead=ahead))
        skipped = [next(verdicts) for _ in skip]
        judged = [(condition, next(verdicts)) for condition in needed]
        return PageBeforeStep(skipped, judged, any(each.held for each in verdicts), values)

    async def find_already_done(self, run: TaskRun, step: TaskStep) -> list[Verdict]:
        """Return the verdicts of the step's `already_done_when` if all hold, else an empty list.

        The page may still be loading: what shows neither that nor the step's element is waited for, and what shows it must
        still do so when the page has settled. Where another control may be meant, nothing is so already.
        """
        conditions = fill_conditions(step.already_done_when, run.values)
        if not conditions:
            return []
        session, target = self._session, step.action.target
        parts = cast("tuple[Any, ...]", conditions)
        if isinstance(target, Selector):
            there = fill_conditions((ElementVisible(type="element_visible", element=target),), run.values)
            so = Combined(type="all_of", conditions=parts)
            either = Combined(type="any_of", conditions=(so, *cast("tuple[Any, ...]", there)))
            await session.judge_until_held([either], run.values, timeout_s=DRAWN_S)
        if not all(verdict.held for verdict in await session.judge(conditions, run.values)):
            return []
        # A page that still loads may show the control of what was open before, or of what it knew before.
        await wait_until_settled(session.page)
        await wait_for_timers(session.page, TIMERS_S)
        began = time.monotonic()
        while True:
            verdicts = await session.judge(conditions, run.values)
            if not all(verdict.held for verdict in verdicts):
                return []
            if time.monotonic() - began >= CALM_S:
                break
            await wait_for_change(session.page, CALM_S)
        return [] if await self._find_doubt(conditions, step, run.values) else verdicts

    async def _find_doubt(
        self, conditions: Sequence[BaseCondition], step: TaskStep, values: Mapping[str, Any]
    ) -> str:
        """Return why the controls that show the state may be others than those that are meant; empty if they are these."""
        elements = [each.element for each in conditions if isinstance(each, ElementVisible | FieldHasValue)]
        shown = [each for each in elements if isinstance(each, Selector)]
        target = step.action.target
        is_box = any(
            isinstance(each, FieldHasValue) for each in conditions
        )  # it shows the state, and is pressed
        waiting = target if shown and isinstance(target, Selector) and not is_box else None
        try:
            return await find_doubt(self._session.page, shown, waiting, values)
        except SelectorNotFilled as exc:
            return str(exc)

    async def _list_afforded_preconditions(
        self, run: TaskRun, step: TaskStep
    ) -> tuple[tuple[BaseCondition, ...], Mapping[str, Any]]:
        """Return the affordance's preconditions, except types that the step states itself, and the values for them.

        `{element_id}` of the element itself stands for it (KS 4.1). An element whose parameters have no value yet is
        not asked: the action says what is missing.
        """
        element = await self._find_element(step)
        if element is None:
            return (), run.values
        stated = {condition.type for condition in step.preconditions}
        conditions = [
            condition
            for affordance in _list_affordances(element, step)
            for condition in affordance.preconditions
            if condition.type not in stated
        ]
        if not conditions:
            return (), run.values
        values: Mapping[str, Any] = {**run.values, element.element_id: AuthoredTarget(element.element_id)}
        if element.selector.parameterized:
            try:
                values = {**values, **fill_call(step.action, run.values).parameters}
            except StepFailed:
                return (), run.values
            if not element.selector.required_context <= values.keys():
                return (), run.values
        return fill_conditions(tuple(conditions), values), values

    async def _find_element(self, step: TaskStep) -> UIElement | None:
        session = self._session
        if not isinstance(step.action.target, str) or session.screen_id is None:
            return None
        return (await session.elements()).get(step.action.target)

    async def add_promised_postconditions(self, step: TaskStep) -> TaskStep:
        """Return the step with its affordance's postconditions, if it states none of its own.

        Those about an element that values select are left out: after the action another one may fit them.
        """
        if step.postconditions or step.validation or step.acceptable_outcomes:
            return step
        element = await self._find_element(step)
        if element is None:
            return step
        promised = tuple(
            condition
            for affordance in _list_affordances(element, step)
            for condition in affordance.postconditions
            if not (element.selector.parameterized and element.element_id in elements_named(condition))
        )
        return step.model_copy(update={"postconditions": promised})

    async def ensure(self, run: TaskRun, step: TaskStep, before: PageBeforeStep, *, timeout_s: float) -> bool:
        """Check preconditions; apply the remedies of soft ones that fail (KS 9.11). Return whether a remedy
        was applied.

        `timeout_s`: seconds a hard one may take to hold. Raises `StepFailed` with the type of a condition that does
        not hold or cannot be judged.
        """
        done, values = False, before.values
        for condition, first in before.needed:
            if first.held:
                continue
            if condition.hard_dependency:
                (verdict,) = await self._session.judge_until_held([condition], values, timeout_s=timeout_s)
            elif condition.auto_remediate and self._engine.alone is None:
                verdict = await self._engine.steps.remedy(condition, values, run.depth)
                done = True
            else:
                continue  # soft and without a remedy: the step may be tried (KS 9.11)
            if not verdict.held and await self._engine.actions.find_again([condition]):
                (verdict,) = await self._session.judge([condition], values)
            if not verdict.held and not await self._is_screen_by_element(run, step, condition):
                word = (
                    "could not be evaluated" if verdict.status is VerdictStatus.UNKNOWN else "does not hold"
                )
                raise StepFailed(
                    f"precondition {condition.type} {word}: {verdict.evidence}", error=condition.type
                )
        return done

    async def _is_screen_by_element(self, run: TaskRun, step: TaskStep, condition: BaseCondition) -> bool:
        """Whether a page that no screen's signs fit is the wanted screen after all, as in another release.

        It must have an address of that screen, and the step's element as it was recorded.
        """
        session = self._session
        if not isinstance(condition, OnScreen) or (await session.see()).screen_id is not None:
            return False
        screen = await session.knowledge.screen(condition.screen_id)
        addresses = [UrlMatches(type="url_matches", pattern=each) for each in screen.url_patterns]
        if not any(verdict.held for verdict in await session.judge(addresses, run.values)):
            return False
        return await self._engine.actions.is_recorded_element_here(step.action, run.values)

    async def confirm(
        self, run: TaskRun, conditions: Sequence[BaseCondition], what: str, *, timeout_s: float
    ) -> list[Verdict]:
        """Wait until all conditions hold; return the verdicts. Raises `StepFailed` if they do not hold in
        time.
        """
        filled = fill_conditions(tuple(conditions), run.values)
        if not filled:
            return []
        verdicts = await self._session.judge_until_held(filled, run.values, timeout_s=timeout_s, recent=True)
        failed_conditions = [
            each for each, verdict in zip(filled, verdicts, strict=True) if not has_passed(each, verdict)
        ]
        if failed_conditions and await self._engine.actions.find_again(failed_conditions):
            verdicts = await self._session.judge(filled, run.values)
        for condition, verdict in zip(filled, verdicts, strict=True):
            if not has_passed(condition, verdict):
                run.contradicted = run.contradicted or verdict.status is not VerdictStatus.UNKNOWN
                word = {VerdictStatus.UNKNOWN: "could not be evaluated", VerdictStatus.HELD: "holds"}.get(
                    verdict.status, "does not hold"
                )
                raise StepFailed(
                    f"{what} {condition.type} {word}: {verdict.evidence}", error="postcondition", acted=True
                )
        run.proven = run.proven or any(verdict.held for verdict in verdicts)
        return verdicts


def _list_affordances(element: UIElement, step: TaskStep) -> list[Affordance]:
    """Return the element's affordances for the step's action."""
    return [
        affordance
        for affordance in element.affordances
        if action_types.canonical(affordance.action_type) == step.action.canonical_type
    ]
