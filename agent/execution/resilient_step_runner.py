"""Runs a step with retries, then other approaches, then without the step if that is safe.

Order (WR): attempts and authored recoveries (`agent.execution.step_runner`), replans within their limits,
going on without the step if no later step can do harm, failure of the task. One per task runner.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.errors import (
    AgentError,
    StepFailed,
    StepRefused,
    UnknownToKnowledge,
    completed_share,
    touched_the_page,
)
from agent.events import Replanned
from agent.execution.call_templates import COMPOSITE_ACTIONS, can_start_anywhere
from agent.execution.effects.uncertain_effects import EarlierStepsNeeded
from agent.execution.page_complaints import quote_complaint
from agent.execution.replanning.failure_lessons import FailureLessons, classify_failure
from agent.execution.replanning.replanner import Replanner, UnresolvedStepFailure
from agent.execution.replanning.step_approaches import (
    AUTHORED,
    AttemptSituation,
    StepApproach,
    is_counted_failure,
)
from agent.execution.replanning.strategies.alternative_selector import plan_fallback
from agent.execution.replanning.suggested_elements import remember_suggested_element
from agent.execution.results.completion_parts import build_completion_parts, leads_somewhere
from agent.execution.results.task_completion import CompletionPart, is_enough
from agent.execution.step_runner import FINAL
from agent.page.errors import OptionMissing, PageError
from kb_schema.resilience_policy import MAX_TOTAL_REPLANS, ResiliencePolicy, ResilienceRules
from kb_schema.run_records import StepRecord, StepStatus, TriedApproach
from kb_schema.selectors import Selector
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import StepReplan, TaskRun

FAILED_BEFORE = "failed_before"
"""Error code of an approach that is not started because it failed in this run already."""
RUN_TIMEOUT = "run_timeout"
ELEMENT_NOT_FOUND = "element_not_found"
"""The error of a step whose element, or rows, are not there: what was tried since says nothing more."""
LONGEST = 1_000
"""Characters of an error that are stored with an approach."""


@dataclass(frozen=True, slots=True)
class _StepAttempt:
    """One attempt at a step."""

    run: TaskRun
    index: int
    step: TaskStep
    """The step as it is tried: a plan's, or the task's own."""
    situation: AttemptSituation
    plan: StepReplan | None
    approach: StepApproach

    @property
    def label(self) -> str:
        return AUTHORED if self.plan is None else self.plan.label


class ResilientStepRunner:
    """Runs a task's steps one after the other, for one task runner."""

    def __init__(
        self,
        engine: TaskExecution,
        configured: ResiliencePolicy,
        replanner: Replanner,
        memory: FailureLessons,
    ) -> None:
        self._engine, self._configured = engine, configured
        self._replanner, self._memory = replanner, memory
        self._ends_at: float | None = None
        self._total: int | None = None
        self._nodes = False
        """Whether the run is one of a workflow."""
        self._waits_at: str | None = None
        """The step for whose element the run waits."""

    # -- limits ----------------------------------------------------------------------------------

    def begin(self, rules: ResilienceRules | None, *, nodes: bool = False) -> None:
        """Start a run: its limits apply to every task within it.

        `rules`: those of the requested task. `nodes`: whether it is a workflow, which decides itself when enough is
        done.
        """
        policy = self._configured.under(self._engine.session.website.resilience, rules)
        self._total = policy.max_total_replans
        self._ends_at = None if policy.timeout_s is None else time.monotonic() + policy.timeout_s
        self._waits_at, self._nodes = None, nodes

    def policy(self, run: TaskRun | None = None) -> ResiliencePolicy:
        """Return the policy of a task: configuration, then the website's rules, then its own. None: of a workflow.

        The total of replans is that of the requested task or workflow.
        """
        own = None if run is None else run.task.resilience
        policy = self._configured.under(self._engine.session.website.resilience, own)
        total = policy.max_total_replans if self._total is None else self._total
        return policy.model_copy(update={"max_total_replans": min(total, MAX_TOTAL_REPLANS)})

    def may_go_back(self, run: TaskRun, step: TaskStep) -> bool:
        """Return whether a step that had no effect may be repeated; counts the replan if so."""
        place = run.place_of(step)
        if not run.ledger.may_replan(place, self.policy(run)):
            return False
        run.ledger.replan(place)
        return True

    # -- steps -----------------------------------------------------------------------------------

    async def step(self, run: TaskRun, index: int) -> int:
        """Run the step of that index by any approach; return the index of the step to go on with.

        Raises what ends the task.
        """
        self.check_time()
        self._begin_wait(run, index)
        attempt = await self._attempt(run, index)
        try:
            if run.ledger.has_failed(attempt.approach.fingerprint):
                return await self._skip_failed_approach(attempt)
            self._engine.actions.tried_fallbacks.clear()
            async with self._within_time(attempt.step):
                await self._engine.steps.run(run, index)
        except EarlierStepsNeeded as again:
            self._note(attempt, "did_not_happen", again)
            cause = again.__cause__ if isinstance(again.__cause__, AgentError | PageError) else None
            run.note_first_failure(index, cause or StepFailed(again.reason))
            try:
                start = index if again.index is None else again.index
                return await self._engine.resumption.go_back(run, start, again.reason)
            except StepFailed as exc:
                missing = isinstance(cause, StepFailed) and cause.error == ELEMENT_NOT_FOUND
                said = str(cause) if missing else f"{again.reason}; {exc}"
                reason = StepFailed(said, error=ELEMENT_NOT_FOUND if missing else exc.error, acted=exc.acted)
                run.trouble.setdefault(attempt.step.step_id, reason)
                return await self._try_other_approach(attempt, exc)
        except FINAL:
            raise
        except (AgentError, PageError) as exc:
            await self._note_failure(attempt, exc)
            if isinstance(exc, StepFailed) and exc.error == RUN_TIMEOUT:
                raise
            return await self._try_other_approach(attempt, exc)
        await self._note_success(attempt)
        self._waits_at = None  # the same step in the next round of a loop has its own time
        return index + 1

    async def enough(self, run: TaskRun, index: int) -> bool:
        """Return whether the run may stop before that step (WR 5.3)."""
        policy = self.policy(run)
        if run.depth > 0 or self._nodes or not policy.allow_early_exit or index >= len(run.steps):
            return False
        return is_enough(await self.parts(run), policy)

    async def parts(self, run: TaskRun) -> tuple[CompletionPart, ...]:
        """Return the task's steps with what is done of each so far."""
        return await build_completion_parts(run, self.policy(run), self._engine.session.knowledge)

    def _begin_wait(self, run: TaskRun, index: int) -> None:
        """Give a step its time for finding the element; another approach to the same step has what is left."""
        step = run.authored(index)
        place = run.place_of(step)
        if place != self._waits_at:
            self._waits_at = place
            given_s = self._engine.session.step_timeout_s
            stated_s = self.policy(run).step_timeout_s if step.timeout_s is None else step.timeout_s
            self._engine.session.element_wait.begin(stated_s if given_s is None else given_s)

    def check_time(self) -> None:
        """Raise `StepFailed` if the time of the run is over."""
        if self._ends_at is not None and time.monotonic() > self._ends_at:
            raise StepFailed("the run exceeded its `timeout_s`", error=RUN_TIMEOUT)

    @asynccontextmanager
    async def _within_time(self, step: TaskStep) -> AsyncIterator[None]:
        """End a step that is under way when the time of the run is over (WR 1.2). Raises `StepFailed` then.

        One that must not be repeated is finished first: whether it happened would not be known. Steps of tasks and loops
        within a step are ended one by one.
        """
        composite = step.action.canonical_type in COMPOSITE_ACTIONS
        if self._ends_at is None or composite or not await self._engine.steps.repeatable(step):
            yield
            return
        limit = asyncio.timeout(max(0.0, self._ends_at - time.monotonic()))
        try:
            async with limit:
                yield
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise StepFailed(
                f"the run exceeded its `timeout_s` in step {step.step_id!r}, which was cut off",
                error=RUN_TIMEOUT,
                acted=True,
            ) from exc

    async def _attempt(self, run: TaskRun, index: int) -> _StepAttempt:
        session, step, plan = self._engine.session, run.steps[index], run.plan_of(index)
        situation = AttemptSituation(session.screen_id, session.page.url)
        approach = StepApproach(
            place=run.place_of(step),
            action=step.action.canonical_type,
            target=await self._target(step, situation.screen_id),
            way=AUTHORED if plan is None else plan.label,
            item=run.item,
            state=situation.state,
        )
        return _StepAttempt(run, index, step, situation, plan, approach)

    async def _target(self, step: TaskStep, screen_id: str | None) -> object:
        """What identifies the target: an element with its selector, as corrected knowledge is another approach."""
        call, selector = step.action, None
        if isinstance(call.target, Selector):
            selector = call.target
        elif call.target is not None and screen_id is not None:
            screen = await self._engine.session.knowledge.screen(screen_id)
            selector = next((e.selector for e in screen.ui_elements if e.element_id == call.target), None)
        named = call.target if isinstance(call.target, str) else None
        return [
            named,
            None if selector is None else selector.to_json(),
            call.url,
            call.target_screen,
            call.task_id,
            call.method,
            call.parameters,
        ]

    async def _skip_failed_approach(self, attempt: _StepAttempt) -> int:
        """Skip an approach that failed in this run; look for the next one."""
        earlier = next(
            (t for t in attempt.run.ledger.tried if t.fingerprint == attempt.approach.fingerprint), None
        )
        why = earlier.error if earlier is not None and earlier.error else "it failed"
        error = StepFailed(
            f"step {attempt.step.step_id!r} failed in this run already and is not repeated: {why}",
            error=FAILED_BEFORE,
        )
        attempt.run.note(
            self._record(attempt, str(error), StepStatus.FAILED),
            attempt.situation.url,
            repeatable=await self._engine.steps.repeatable(attempt.step),
        )
        return await self._try_other_approach(attempt, error)

    async def _note_success(self, attempt: _StepAttempt) -> None:
        """Note that a step is done or was skipped; an optional step may have failed."""
        run, record = attempt.run, attempt.run.last_record(attempt.step.step_id)
        run.clear_first_failure(attempt.index)
        if record is not None and record.status is StepStatus.SKIPPED and record.error is not None:
            self._note(attempt, "failed", StepFailed(record.error))
        elif attempt.plan is not None:
            run.amend(attempt.step.step_id, approach=attempt.plan.strategy)
            self._note(attempt, "worked", None)
            await self._learn(attempt, None)
            place = attempt.index, attempt.situation.screen_id
            await remember_suggested_element(self._engine.session, run, attempt.plan, *place)
            run.restore(attempt.index)

    async def _note_failure(self, attempt: _StepAttempt, error: Exception) -> None:
        attempt.run.amend(attempt.step.step_id, share=completed_share(error))
        if isinstance(error, StepFailed) and error.error == FAILED_BEFORE:
            return
        if is_counted_failure(error):
            self._note(attempt, "failed", error)
            await self._learn(attempt, error)
            await self._note_tried_fallbacks(attempt, error)

    async def _note_tried_fallbacks(self, attempt: _StepAttempt, error: Exception) -> None:
        """Note the fallback actions that the step itself tried; they are no other approaches any more."""
        run, step = attempt.run, attempt.run.authored(attempt.index)
        if attempt.plan is not None:
            return
        for number, fallback in enumerate(step.action.fallback_actions, start=1):
            if fallback not in self._engine.actions.tried_fallbacks:
                continue
            plan = plan_fallback(step, fallback, number)
            run.use(attempt.index, plan)
            self._note(await self._attempt(run, attempt.index), "failed", error)
            run.restore(attempt.index)
            run.ledger.offered.setdefault(attempt.approach.place, []).append(plan.label)

    # -- after a failure -------------------------------------------------------------------------

    async def _try_other_approach(self, attempt: _StepAttempt, error: Exception) -> int:
        """Try another approach, or go on without the step. Raises the step's error if neither is possible."""
        run = attempt.run
        first = run.trouble.setdefault(attempt.step.step_id, error)
        run.note_first_failure(attempt.index, first)
        index = await self._replan(attempt, error)
        if index is not None:
            return index
        run.restore(attempt.index)
        if isinstance(error, StepRefused) and not _may_be_left_out(attempt.step):
            raise error
        if await self._may_go_on(run, attempt.index):
            return await self._go_on_without(attempt, first)
        raise self._quote_page(
            attempt, _headline(attempt, self._add_tried_approaches(run, attempt.step, first))
        )

    async def _replan(self, attempt: _StepAttempt, error: Exception) -> int | None:
        """Choose another approach; return the index of the step to go on with; None: none is left or allowed."""
        run, policy, place = attempt.run, self.policy(attempt.run), attempt.approach.place
        failure = await self._failure(attempt, error)
        if not policy.enable_replanning or not _may_be_tried_again(failure):
            return None
        if not run.ledger.may_replan(place, policy):
            return None
        self.check_time()
        lessons = await self._memory.of_step(
            failure.situation.screen_id, run.task.task_id, failure.step.step_id
        )
        async for plan in self._replanner.plans(failure, lessons):
            if plan.label in run.ledger.offered.get(place, ()):
                continue
            if not run.ledger.may_replan(place, policy):
                break
            run.ledger.replan(place, plan.label)
            number = run.ledger.replans[place]
            self._engine.session.bus.tell(
                Replanned(run.task.task_id, attempt.step.step_id, plan.strategy, plan.detail, number)
            )
            index = await self._prepare(attempt, plan)
            if index is not None:
                return index
        return None

    async def _failure(self, attempt: _StepAttempt, error: Exception) -> UnresolvedStepFailure:
        session, situation = self._engine.session, attempt.situation
        if session.page.url == situation.url:  # the screen may have been identified only now
            situation = AttemptSituation(session.screen_id, situation.url)
        step = attempt.run.authored(attempt.index)
        return UnresolvedStepFailure(
            self._engine,
            attempt.run,
            attempt.index,
            step,
            attempt.run.trouble.get(step.step_id, error),
            situation,
            touched=touched_the_page(error),
            repeatable=await self._engine.steps.repeatable(step),
        )

    async def _prepare(self, attempt: _StepAttempt, plan: StepReplan) -> int | None:
        """Prepare the plan; return the index to go on from, or None if it failed before its step began."""
        run, index = attempt.run, None
        try:
            if plan.prepare is not None:
                async with self._engine.without_checkpoints():
                    with self._engine.session.entries.guarded():
                        index = await plan.prepare()
        except UnknownToKnowledge as exc:
            failed: Exception = exc
        except FINAL:
            raise
        except (AgentError, PageError) as exc:
            failed = exc
        else:
            run.use(attempt.index, plan)
            return attempt.index if index is None else index
        run.use(attempt.index, plan)
        tried = await self._attempt(run, attempt.index)
        self._note(tried, "failed", failed)
        await self._learn(tried, failed)
        run.restore(attempt.index)
        return None

    async def _may_go_on(self, run: TaskRun, index: int) -> bool:
        """Whether no later step can do harm without this one (WR degradation; decision 0021)."""
        policy = self.policy(run)
        if not policy.enable_degradation:
            return False
        parts = await self.parts(run)
        step = run.steps[index]
        if parts[index].critical and parts[index].share <= 0:
            return False
        if _may_be_left_out(step):
            return True
        if index + 1 == len(run.steps):
            return parts[index].share > 0  # the last step: report what it did in part
        return not any(each.changes for each in parts[index + 1 :])

    async def _go_on_without(self, attempt: _StepAttempt, error: Exception) -> int:
        """Pass over the step, and over the later steps that depend on the page it leads to."""
        run, engine, index = attempt.run, self._engine, attempt.index
        following = index + 1
        run.pass_over(index, engine.session.page.url)
        if leads_somewhere(attempt.step):
            why = f"not reached: {attempt.step.step_id} failed"
            while following < len(run.steps) and not _starts_anywhere(run.steps[following]):
                step = run.steps[following]
                record = self._record(attempt, why, StepStatus.SKIPPED, step).model_copy(
                    update={"degraded": True}
                )
                run.note(record, engine.session.page.url, repeatable=True)
                following += 1
        told = self._quote_page(attempt, self._add_tried_approaches(run, attempt.step, error))
        run.error = run.error or str(told)
        await engine.keep(run)
        return following

    def _add_tried_approaches(self, run: TaskRun, step: TaskStep, error: Exception) -> Exception:
        """Return the step's own error with the other approaches that were tried."""
        others = run.ledger.offered.get(run.place_of(step), ())
        if not others or (isinstance(error, StepFailed) and error.error == FAILED_BEFORE):
            return error
        limit = run.ledger.describe_limit(run.place_of(step), self.policy(run))
        return StepFailed(
            f"{error}; also tried: {', '.join(others)}{limit}",
            error=classify_failure(error),
            acted=touched_the_page(error),
            hint=getattr(error, "hint", None),
        )

    def _quote_page(self, attempt: _StepAttempt, error: Exception) -> Exception:
        """Return the error with what the page complained of when the step failed first that the error is about."""
        run, first = attempt.run, attempt.run.first_failure
        index = attempt.index if first is None else min(first.index, attempt.index)
        complaint = run.complaints.get(run.steps[index].step_id)
        return quote_complaint(error, complaint, run.values, run.input_names, kind=classify_failure(error))

    # -- what is remembered ----------------------------------------------------------------------

    def _note(self, attempt: _StepAttempt, outcome: str, error: Exception | None) -> None:
        redact = self._engine.session.context.redact
        plan = attempt.plan
        attempt.run.ledger.note(
            TriedApproach.model_validate(
                {
                    "fingerprint": attempt.approach.fingerprint,
                    "task_id": attempt.run.task.task_id,
                    "step_id": attempt.step.step_id,
                    "approach": AUTHORED if plan is None else plan.strategy,
                    "detail": "" if plan is None else redact(plan.detail),
                    "item": attempt.run.item,
                    "screen_id": attempt.situation.screen_id,
                    "outcome": outcome,
                    "error": None if error is None else redact(str(error))[:LONGEST],
                }
            )
        )

    async def _learn(self, attempt: _StepAttempt, error: Exception | None) -> None:
        run, step = attempt.run, attempt.step
        screen_id = attempt.situation.screen_id
        await self._memory.learn(screen_id, run.task.task_id, step.step_id, attempt.label, error)

    def _record(
        self, attempt: _StepAttempt, error: str, status: StepStatus, step: TaskStep | None = None
    ) -> StepRecord:
        step = step or attempt.step
        return StepRecord(
            task_id=attempt.run.task.task_id,
            step_id=step.step_id,
            action_type=step.action.canonical_type,
            status=status,
            duration_ms=0,
            screen_id=self._engine.session.screen_id,
            error=self._engine.session.context.redact(error),
        )


def _may_be_tried_again(failure: UnresolvedStepFailure) -> bool:
    """Whether another approach may be tried.

    A step that must not be repeated only qualifies if the page was not touched; otherwise
    `UncertainEffects.settled` decides. A sub-task has done its own replanning.
    """
    if isinstance(failure.error, OptionMissing):
        return False  # the list is there: no other way to it has the option
    if failure.step.action.canonical_type in COMPOSITE_ACTIONS:
        return not failure.touched
    return failure.repeatable or not failure.touched


def _may_be_left_out(step: TaskStep) -> bool:
    """Whether the author allows the task to go on without all of the step."""
    return step.allow_partial_success or step.critical is False


def _headline(attempt: _StepAttempt, error: Exception) -> Exception:
    """Return the error to report: that of the step that failed first, if an earlier step failed when it was repeated.

    A recovery goes back to earlier steps; if one of these fails then, it is not the reason.
    """
    first = attempt.run.first_failure
    if first is None or first.index <= attempt.index:
        return error
    step_id = attempt.run.steps[first.index].step_id
    return StepFailed(
        f"{first.error}; step {step_id!r} could not be repeated, because step {attempt.step.step_id!r} failed"
        f" then: {error}",
        error=classify_failure(first.error),
        acted=touched_the_page(first.error) or touched_the_page(error),
    )


def _starts_anywhere(step: TaskStep) -> bool:
    return step.action.canonical_type == "run_task" or can_start_anywhere(step.action)
