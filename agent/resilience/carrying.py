"""One step with all that may be done about it: its own attempts, then other approaches, then without it.

The order (WR, DESIGN 6): attempts and authored recoveries (`agent.engine.steps`) -> a replan, within its
limits -> going on without the step, where that is safe -> the task fails. One per engine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.engine.calls import finds_its_own_way
from agent.engine.doubting import Again
from agent.engine.steps import COMPOSITE, FINAL
from agent.errors import AgentError, NotInKnowledge, StepFailed, share_of, touched_the_page
from agent.events import Replanned
from agent.page.errors import PageError
from agent.resilience.approaches import AUTHORED, Approach, Situation, counts
from agent.resilience.completion import Part, enough
from agent.resilience.memory import FailureMemory, sort_of
from agent.resilience.parts import leads_somewhere, parts_of
from agent.resilience.replanner import Failure, Plan, Replanner
from kb_schema.resilience import MAX_TOTAL_REPLANS, ResiliencePolicy
from kb_schema.runs import StepRecord, StepStatus, Tried
from kb_schema.selectors import Selector
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run

FAILED_BEFORE = "failed_before"
"""The error of an approach that is not begun, for it failed in this run already."""
RUN_TIMEOUT = "run_timeout"
LONGEST = 1_000
"""Characters of an error that are kept with what was tried."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt at a step that has begun."""

    run: Run
    index: int
    step: TaskStep
    """As it is tried: a plan's, or the task's own."""
    situation: Situation
    plan: Plan | None
    approach: Approach

    @property
    def label(self) -> str:
        return AUTHORED if self.plan is None else self.plan.label


class Resilience:
    """Carries a task's steps out, one after the other, for one engine."""

    def __init__(
        self, engine: Engine, configured: ResiliencePolicy, replanner: Replanner, memory: FailureMemory
    ) -> None:
        self._engine, self._configured = engine, configured
        self._replanner, self._memory = replanner, memory
        self._ends_at: float | None = None
        self._total: int | None = None

    # -- limits ----------------------------------------------------------------------------------

    def begin(self, run: Run) -> None:
        """The task that was asked for begins: its limits are those of everything within it."""
        policy = self._configured.under(self._engine.session.website.resilience, run.task.resilience)
        self._total = policy.max_total_replans
        self._ends_at = None if policy.timeout_s is None else time.monotonic() + policy.timeout_s

    def policy(self, run: Run) -> ResiliencePolicy:
        """What holds for a task: configured, then the website's word, then its own; of the run's total
        what the task that was asked for has.
        """
        policy = self._configured.under(self._engine.session.website.resilience, run.task.resilience)
        total = policy.max_total_replans if self._total is None else self._total
        return policy.model_copy(update={"max_total_replans": min(total, MAX_TOTAL_REPLANS)})

    def may_go_back(self, run: Run, step: TaskStep) -> bool:
        """Whether a step that did not take effect may be done again; counts it if so."""
        place = run.place_of(step)
        if not run.ledger.may_replan(place, self.policy(run)):
            return False
        run.ledger.replan(place)
        return True

    # -- steps -----------------------------------------------------------------------------------

    async def step(self, run: Run, index: int) -> int:
        """The step of that index, by whichever approach; the index of the step to go on with.

        Raises what ends the task.
        """
        self._in_time()
        attempt = await self._attempt(run, index)
        try:
            if run.ledger.has_failed(attempt.approach.fingerprint):
                return await self._not_again(attempt)
            await self._engine.steps.run(run, index)
        except Again as again:
            self._note(attempt, "did_not_happen", again)
            try:
                start = index if again.index is None else again.index
                return await self._engine.resuming.go_back(run, start, again.reason)
            except StepFailed as exc:
                return await self._after(attempt, exc)
        except FINAL:
            raise
        except (AgentError, PageError) as exc:
            await self._failed(attempt, exc)
            return await self._after(attempt, exc)
        await self._came_off(attempt)
        return index + 1

    async def enough(self, run: Run, index: int) -> bool:
        """Whether the run may stop before that step (WR 5.3)."""
        policy = self.policy(run)
        if run.depth > 0 or not policy.allow_early_exit or index >= len(run.steps):
            return False
        return enough(await self.parts(run), policy)

    async def parts(self, run: Run) -> tuple[Part, ...]:
        """The task's steps as they came out so far."""
        return await parts_of(run, self.policy(run), self._engine.session.knowledge)

    def _in_time(self) -> None:
        if self._ends_at is not None and time.monotonic() > self._ends_at:
            raise StepFailed("the time of the run is over", error=RUN_TIMEOUT)

    async def _attempt(self, run: Run, index: int) -> _Attempt:
        session, step, plan = self._engine.session, run.steps[index], run.plan_of(index)
        situation = Situation(session.screen_id, session.page.url)
        approach = Approach(
            place=run.place_of(step),
            action=step.action.canonical_type,
            target=await self._target(step, situation.screen_id),
            way=AUTHORED if plan is None else plan.label,
            item=run.item,
            state=situation.state,
        )
        return _Attempt(run, index, step, situation, plan, approach)

    async def _target(self, step: TaskStep, screen_id: str | None) -> object:
        """What a step acts on: an element with the selector that leads to it, so that knowledge that was
        corrected makes another approach.
        """
        call, selector = step.action, None
        if isinstance(call.target, Selector):
            selector = call.target
        elif call.target is not None and screen_id is not None:
            screen = await self._engine.session.knowledge.screen(screen_id)
            selector = next((e.selector for e in screen.ui_elements if e.element_id == call.target), None)
        named = call.target if isinstance(call.target, str) else None
        return [
            named, None if selector is None else selector.to_json(), call.url, call.target_screen, call.task_id,
            call.method, call.parameters,
        ]  # fmt: skip

    async def _not_again(self, attempt: _Attempt) -> int:
        """An approach that failed in this run is not begun again: the next one is looked for."""
        told = next(
            (t for t in attempt.run.ledger.tried if t.fingerprint == attempt.approach.fingerprint), None
        )
        why = told.error if told is not None and told.error else "it failed"
        error = StepFailed(
            f"step {attempt.step.step_id!r} failed in this run already: {why}", error=FAILED_BEFORE
        )
        attempt.run.note(
            self._record(attempt, str(error), StepStatus.FAILED),
            attempt.situation.url,
            repeatable=await self._engine.steps.repeatable(attempt.step),
        )
        return await self._after(attempt, error)

    async def _came_off(self, attempt: _Attempt) -> None:
        """It is done, or was left out; an optional step may have failed all the same."""
        run, record = attempt.run, attempt.run.last_record(attempt.step.step_id)
        if record is not None and record.status is StepStatus.SKIPPED and record.error is not None:
            self._note(attempt, "failed", StepFailed(record.error))
        elif attempt.plan is not None:
            run.amend(attempt.step.step_id, approach=attempt.plan.strategy)
            self._note(attempt, "worked", None)
            await self._learn(attempt, None)
            run.restore(attempt.index)

    async def _failed(self, attempt: _Attempt, error: Exception) -> None:
        attempt.run.amend(attempt.step.step_id, share=share_of(error))
        if isinstance(error, StepFailed) and error.error == FAILED_BEFORE:
            return
        if counts(error):
            self._note(attempt, "failed", error)
            await self._learn(attempt, error)

    # -- after a failure -------------------------------------------------------------------------

    async def _after(self, attempt: _Attempt, error: Exception) -> int:
        """Another approach, or on without the step. Raises the step's error where neither is to be had."""
        run = attempt.run
        first = run.trouble.setdefault(attempt.step.step_id, error)
        index = await self._replanned(attempt, error)
        if index is not None:
            return index
        run.restore(attempt.index)
        if await self._may_go_on(run, attempt.index):
            return await self._go_on_without(attempt, first)
        raise self._told(run, attempt.step, first)

    async def _replanned(self, attempt: _Attempt, error: Exception) -> int | None:
        """The step to go on with by another approach; None where there is none, or no more may be tried."""
        run, policy, place = attempt.run, self.policy(attempt.run), attempt.approach.place
        failure = await self._failure(attempt, error)
        if not policy.enable_replanning or not _may_be_tried_again(failure):
            return None
        if not run.ledger.may_replan(place, policy):
            return None
        self._in_time()
        lessons = await self._memory.of_step(
            failure.situation.screen_id, run.task.task_id, failure.step.step_id
        )
        for plan in await self._replanner.plans(failure, lessons):
            if plan.label in run.ledger.offered.get(place, ()):
                continue
            if not run.ledger.may_replan(place, policy):
                break
            run.ledger.replan(place, plan.label)
            number = run.ledger.replans[place]
            self._engine.session.bus.tell(
                Replanned(run.task.task_id, attempt.step.step_id, plan.strategy, plan.detail, number)
            )
            index = await self._prepared(attempt, plan)
            if index is not None:
                return index
        return None

    async def _failure(self, attempt: _Attempt, error: Exception) -> Failure:
        session, situation = self._engine.session, attempt.situation
        if session.page.url == situation.url:  # perhaps it was only now recognised
            situation = Situation(session.screen_id, situation.url)
        step = attempt.run.authored(attempt.index)
        return Failure(
            self._engine, attempt.run, attempt.index, step,
            attempt.run.trouble.get(step.step_id, error), situation,
            touched=touched_the_page(error), repeatable=await self._engine.steps.repeatable(step),
        )  # fmt: skip

    async def _prepared(self, attempt: _Attempt, plan: Plan) -> int | None:
        """The index to go on from with the plan; None where it failed before its step could begin."""
        run, index = attempt.run, None
        try:
            if plan.prepare is not None:
                async with self._engine.unkept():
                    index = await plan.prepare()
        except NotInKnowledge as exc:
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

    async def _may_go_on(self, run: Run, index: int) -> bool:
        """Whether nothing that follows can do harm for want of the step (WR degradation; decision 0021)."""
        policy = self.policy(run)
        if not policy.enable_degradation:
            return False
        parts = await self.parts(run)
        step = run.steps[index]
        if parts[index].critical and parts[index].share <= 0:
            return False
        if step.allow_partial_success or step.critical is False:
            return True
        if index + 1 == len(run.steps):
            return parts[index].share > 0  # nothing comes after it: only what it did in part is to be told
        return not any(each.changes for each in parts[index + 1 :])

    async def _go_on_without(self, attempt: _Attempt, error: Exception) -> int:
        """The step is passed over, and with it what depends on the page it would have led to."""
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
        run.error = run.error or str(self._told(run, attempt.step, error))
        await engine.keep(run)
        return following

    def _told(self, run: Run, step: TaskStep, error: Exception) -> Exception:
        """The step's own error, with what else was tried."""
        others = run.ledger.offered.get(run.place_of(step), ())
        if not others or (isinstance(error, StepFailed) and error.error == FAILED_BEFORE):
            return error
        return StepFailed(
            f"{error}; also tried: {', '.join(others)}", error=sort_of(error), acted=touched_the_page(error)
        )

    # -- what is remembered ----------------------------------------------------------------------

    def _note(self, attempt: _Attempt, outcome: str, error: Exception | None) -> None:
        redact = self._engine.session.context.redact
        plan = attempt.plan
        attempt.run.ledger.note(
            Tried.model_validate(
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

    async def _learn(self, attempt: _Attempt, error: Exception | None) -> None:
        run, step = attempt.run, attempt.step
        screen_id = attempt.situation.screen_id
        await self._memory.learn(screen_id, run.task.task_id, step.step_id, attempt.label, error)

    def _record(
        self, attempt: _Attempt, error: str, status: StepStatus, step: TaskStep | None = None
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


def _may_be_tried_again(failure: Failure) -> bool:
    """What may not be repeated only where the page was certainly not touched; everything else goes by
    the journal and the page (`Doubt.settled`), the one door. A task within the task has done its
    own replanning.
    """
    if failure.step.action.canonical_type in COMPOSITE:
        return not failure.touched
    return failure.repeatable or not failure.touched


def _starts_anywhere(step: TaskStep) -> bool:
    return step.action.canonical_type == "run_task" or finds_its_own_way(step.action)
