"""One step of a task: left out or not, its preconditions, the action, what must hold afterwards, and
what is done where it failed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.engine.calls import fill_call, fill_conditions, is_idempotent
from agent.engine.iterate import run_iterator
from agent.engine.running import Run
from agent.errors import (
    AgentError,
    InputMissing,
    KnowledgeUnavailable,
    NotInKnowledge,
    NotKept,
    PersonNeeded,
    SiteUnreachable,
    StepFailed,
    touched_the_page,
)
from agent.events import StepEnded, StepStarted
from agent.page.errors import GateFailed, PageError, PageGone
from kb_schema import vocabulary
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition, ElementVisible
from kb_schema.handling import ErrorRule
from kb_schema.probes import Status, Verdict
from kb_schema.read_backs import Happened
from kb_schema.runs import StepRecord, StepStatus
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.engine.engine import Engine

DEFAULT_ATTEMPTS = 2
"""Of a step whose failure left the page untouched, or whose action may be repeated."""
MAX_ATTEMPTS = 4
PRECONDITION_S = 1.5
"""How long a hard precondition may take to come true: the page may still be drawing."""
CONFIRM_S = 10.0
"""How long postconditions may take to come true after an action."""
COMPOSITE = frozenset({"run_task", "execute_iterator"})
"""Steps made of other steps: each of those is kept by itself."""
FINAL = (InputMissing, PersonNeeded, PageGone, NotInKnowledge, SiteUnreachable, KnowledgeUnavailable, NotKept)
"""Errors that no further attempt mends."""


class Again(Exception):
    """What the step was to do did not happen, and doing it again needs steps before it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Steps:
    """Carries out steps for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session = engine.session
        self._remediating: set[str] = set()

    async def run(self, run: Run, index: int) -> None:
        """The step of that index, to its end, whatever that is. Raises what makes the task fail, and
        `Again`.
        """
        session, step, started = self._session, run.steps[index], time.monotonic()
        action_type = step.action.canonical_type
        session.bus.tell(
            StepStarted(
                run.task.task_id, step.step_id, index + 1, len(run.steps), action_type,
                session.context.redact(step.action.narration), run.depth,
            )
        )  # fmt: skip
        status, error, verdicts = StepStatus.DONE, None, []
        repeatable = await self.repeatable(step)
        self._engine.place = run.key(step)
        try:
            if await self._left_out(run, step):
                status = StepStatus.SKIPPED
            else:
                verdicts = await self._attempts(run, step, repeatable=repeatable)
                await self._engine.read_outputs(run, after=step.step_id)
                await self._engine.companion.after_step(run.task, step, run.values)
        except Again as again:
            status, error = StepStatus.FAILED, session.context.redact(again.reason)
            raise
        except (AgentError, PageError) as exc:
            error = session.context.redact(str(exc))
            if step.required and not step.can_skip:
                status = StepStatus.FAILED
                raise
            status = StepStatus.SKIPPED
        except BaseException as exc:
            status, error = StepStatus.FAILED, f"cut off ({type(exc).__name__})"
            raise
        finally:
            duration_ms = (time.monotonic() - started) * 1000
            if error is not None and status is StepStatus.DONE:
                status = StepStatus.FAILED
            run.note(
                StepRecord(
                    task_id=run.task.task_id,
                    step_id=step.step_id,
                    action_type=action_type,
                    status=status,
                    duration_ms=duration_ms,
                    screen_id=session.screen_id,
                    evidence=tuple(session.context.redact(v.evidence) for v in verdicts),
                    error=error,
                ),
                session.page.url,
                repeatable=repeatable,
            )
            session.bus.tell(StepEnded(run.task.task_id, step.step_id, status, duration_ms, error))
        key = run.key(step)
        if key is not None:
            self._engine.keeper.state.forget(key)
            await self._engine.keep(run)

    async def repeatable(self, step: TaskStep) -> bool:
        """Whether doing the step once more is the same as doing it once: as the step says, or its
        element's affordance, or its action.
        """
        if step.repeatable is not None:
            return step.repeatable
        document = await self._session.knowledge.action(step.action.action_type)
        if is_idempotent(step.action, document):
            return True
        if not isinstance(step.action.target, str) or self._session.screen_id is None:
            return False
        element = (await self._session.elements()).get(step.action.target)
        affordances = () if element is None else element.affordances
        return any(
            affordance.idempotent
            for affordance in affordances
            if vocabulary.canonical(affordance.action_type) == step.action.canonical_type
        )

    async def _left_out(self, run: Run, step: TaskStep) -> bool:
        conditions = fill_conditions(step.skip_when, run.values)
        return any(verdict.held for verdict in await self._session.judge(conditions, run.values))

    # -- attempts --------------------------------------------------------------------------------

    async def _attempts(self, run: Run, step: TaskStep, *, repeatable: bool) -> list[Verdict]:
        """Carry the step out, again where that is safe and its rules allow (KS 9.7)."""
        attempt = 0
        if repeatable and run.again.get(step.step_id) and (verdicts := await self._holds_by_now(run, step)):
            return verdicts
        while True:
            attempt += 1
            run.contradicted = False  # of an attempt that failed and was made good
            try:
                return await self._attempt(run, step, repeatable=repeatable)
            except FINAL:
                raise
            except (AgentError, PageError) as exc:
                rule = _rule_for(step, exc)
                composite = step.action.canonical_type in COMPOSITE
                if touched_the_page(exc) and not repeatable and not composite:
                    return await self._after_doubt(run, step, exc)
                allowed = DEFAULT_ATTEMPTS if rule is None else 1 + (rule.max_retries if rule.retry else 0)
                if attempt >= min(allowed, MAX_ATTEMPTS) or (composite and touched_the_page(exc)):
                    raise
                await self._repair(step, rule)
                if touched_the_page(exc) and (verdicts := await self._holds_by_now(run, step)):
                    return verdicts
                _, screen_id = run.place(run.steps.index(step))
                if screen_id is not None and self._session.screen_id != screen_id:
                    raise Again(f"{exc}; the page is not {screen_id} any more") from exc

    async def _holds_by_now(self, run: Run, step: TaskStep) -> list[Verdict]:
        """What the step was to bring about, where the page shows it after all: then it is not repeated."""
        conditions = fill_conditions(step.postconditions, run.values)
        verdicts = await self._session.judge(conditions, run.values)
        return verdicts if all(verdict.held for verdict in verdicts) else []

    async def _after_doubt(self, run: Run, step: TaskStep, error: Exception) -> list[Verdict]:
        """It may have happened, and must not be repeated blindly: page and knowledge are asked.

        Returns where it happened. Raises `Again` where it did not, the error itself where the page
        refused it, `PersonNeeded` where nothing tells.
        """
        engine, key = self._engine, run.key(step)
        if await self._refused(run, step):
            if key is not None:
                await engine.keeper.conclude(engine.keeper.latest(key), "did_not_happen")
            raise error
        effect = await engine.effects.happened(run, lambda: engine.resuming.sign_in(run))
        if effect.status is Happened.HAPPENED:
            await engine.resuming.settle(run, step, effect)
            return []
        if effect.status is Happened.DID_NOT_HAPPEN:
            if key is not None:
                await engine.keeper.conclude(engine.keeper.latest(key), "did_not_happen")
            raise Again(f"{error}; it did not happen: {effect.reason}") from error
        raise in_doubt(run, step, str(error), effect.reason) from error

    async def _refused(self, run: Run, step: TaskStep) -> bool:
        """Whether the page itself says that the form was not accepted."""
        signs: list[BaseCondition] = [ElementVisible(type="element_visible", element='[aria-invalid="true"]')]
        signs += [condition for condition in step.postconditions if condition.success is False]
        try:
            verdicts = await self._session.judge(fill_conditions(tuple(signs), run.values), run.values)
        except PageError:
            return False  # there is no page to say anything
        return any(verdict.held for verdict in verdicts)

    async def _repair(self, step: TaskStep, rule: ErrorRule | None) -> None:
        """Between two attempts: out of the way what covers the page, back to a known screen."""
        session, engine = self._session, self._engine
        if rule is not None and rule.recovery == "refresh_and_retry":
            await engine.perform_call(ActionCall(action_type="refresh"), {})
        await engine.dismiss_overlays()
        found = await session.look_for(timeout_s=1.0)
        if found.screen_id is None:
            await engine.guide.recover()
        wanted = next((c.screen_id for c in step.preconditions if c.type == "on_screen"), None)
        if wanted is not None and session.screen_id != wanted:
            await engine.guide.go_to(wanted)

    async def _attempt(self, run: Run, step: TaskStep, *, repeatable: bool) -> list[Verdict]:
        engine = self._engine
        conditions = step.postconditions + ((step.validation,) if step.validation else ())
        engine.actions.expect(fill_conditions(conditions, run.values))
        await self._ensure(run, step)
        await engine.dismiss_overlays()
        await engine.companion.before_step(run.task, step, run.values)
        entry = None
        if not repeatable:
            run.proven = False  # what held before says nothing of what is done now
            if step.action.canonical_type not in COMPOSITE:
                entry = await self._write_down(run, step)
        await engine.refresh(run, step)
        if step.action.canonical_type == "execute_iterator":
            await run_iterator(engine, run, step.step_id)
        elif step.action.canonical_type == "run_task" and step.action.task_id:
            await self._call_task(run, step)
        else:
            await engine.actions.perform(step.action, run.values)
        try:
            verdicts = await engine.judging.step(run, step, engine.resilience.policy(run))
        except StepFailed:
            await engine.actions.settle(held=False)
            raise
        await engine.actions.settle(held=True if verdicts else None)
        if entry is not None:
            await engine.keeper.conclude(entry, "happened")
        return verdicts

    async def _write_down(self, run: Run, step: TaskStep) -> str | None:
        """What is about to be done, with what tells later whether it was. Raises `NotKept`."""
        await self._engine.effects.look_before(run)
        key = run.key(step)
        if key is None:
            return None
        await self._engine.keep(run)
        return await self._engine.keeper.begin(key, step.action.canonical_type, {"step": step.step_id})

    async def _call_task(self, run: Run, step: TaskStep) -> None:
        inputs = fill_call(step.action, run.values).inputs
        task_id = step.action.task_id or ""
        await self._engine.sub_task(task_id, inputs, run.depth)
        declared = {spec.name for spec in run.task.io_spec.inputs}
        outputs = self._session.context.outputs.get(task_id, {})
        run.values.update({name: value for name, value in outputs.items() if name not in declared})

    # -- conditions ------------------------------------------------------------------------------

    async def _ensure(self, run: Run, step: TaskStep) -> None:
        """Preconditions hold, or are remediated where they are soft (KS 9.11)."""
        conditions = fill_conditions(step.preconditions, run.values)
        first = await self._session.judge(conditions, run.values)
        missing = [c for c, verdict in zip(conditions, first, strict=True) if not verdict.held]
        for condition in missing:
            if condition.hard_dependency:
                (verdict,) = await self._session.judge_until_held(
                    [condition], run.values, timeout_s=PRECONDITION_S
                )
            elif condition.auto_remediate:
                verdict = await self.remediate(run, condition)
            else:
                continue  # soft, and nothing to be done about it: the step may try (KS 9.11)
            if not verdict.held and await self._engine.actions.find_again([condition]):
                (verdict,) = await self._session.judge([condition], run.values)
            if not verdict.held:
                word = "could not be evaluated" if verdict.status is Status.UNKNOWN else "does not hold"
                raise StepFailed(
                    f"precondition {condition.type} {word}: {verdict.evidence}", error=condition.type
                )

    async def remediate(self, run: Run, condition: BaseCondition) -> Verdict:
        """A soft condition's own task or action, once; never inside itself (login that needs login)."""
        task_id = condition.remediation_task_id
        async with self._engine.unkept():
            if task_id is not None:
                if task_id in self._remediating or task_id == run.task.task_id:
                    raise StepFailed(
                        f"{task_id!r} cannot remediate its own precondition", error=condition.type
                    )
                self._remediating.add(task_id)
                try:
                    await self._engine.sub_task(task_id, {}, run.depth)
                finally:
                    self._remediating.discard(task_id)
            elif condition.remediation_action is not None:
                params = dict(condition.remediation_params)
                await self._engine.actions.perform(
                    ActionCall.model_validate({"action_type": condition.remediation_action, **params}),
                    run.values,
                )
        return (await self._session.judge_until_held([condition], run.values))[0]

    async def confirm(self, run: Run, conditions: Sequence[BaseCondition], what: str) -> list[Verdict]:
        """All conditions hold within their time; raises `StepFailed` otherwise."""
        filled = fill_conditions(tuple(conditions), run.values)
        if not filled:
            return []
        verdicts = await self._session.judge_until_held(filled, run.values, timeout_s=CONFIRM_S)
        for condition, verdict in zip(filled, verdicts, strict=True):
            wanted = Status.NOT_HELD if condition.success is False else Status.HELD
            if verdict.status is not wanted:
                run.contradicted = run.contradicted or verdict.status is not Status.UNKNOWN
                word = {Status.UNKNOWN: "could not be evaluated", Status.HELD: "holds"}.get(
                    verdict.status, "does not hold"
                )
                raise StepFailed(
                    f"{what} {condition.type} {word}: {verdict.evidence}", error="postcondition", acted=True
                )
        run.proven = run.proven or any(verdict.held for verdict in verdicts)
        return verdicts


def in_doubt(run: Run, step: TaskStep, error: str, reason: str) -> PersonNeeded:
    """It may have happened, and nothing tells: a person looks."""
    return PersonNeeded(
        f"step {step.step_id!r} of {run.task.task_id!r} may have been done or not: {error}; {reason}",
        hint="look on the site whether it happened; then `periplus run --resume last --it-happened`,"
        " or `--it-did-not`",
    )


def _rule_for(step: TaskStep, error: Exception) -> ErrorRule | None:
    """The step's own rule for this error (KS 4.3)."""
    names = {getattr(error, "error", ""), type(error).__name__}
    if isinstance(error, GateFailed):
        names |= {error.point.value, "element_not_found", "timeout"}
    if getattr(error, "error", "") == "postcondition":
        names |= {"timeout", "validation_failed", "validation_error"}
    return next((rule for rule in step.error_handling if rule.condition in names), None)
