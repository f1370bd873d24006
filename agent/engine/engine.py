"""Running a task: inputs, steps in order, outputs, and what the result rests on.

Single actions are `actions.py`, loops `iterate.py`, reading values `extract.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from agent.engine.actions import Actions
from agent.engine.calls import fill_call, fill_conditions, is_idempotent
from agent.engine.companion import Companion
from agent.engine.extract import extract
from agent.engine.inputs import MISSING, resolve_inputs
from agent.engine.iterate import run_iterator
from agent.errors import (
    AgentError,
    InputMissing,
    KnowledgeUnavailable,
    NotInKnowledge,
    PersonNeeded,
    SiteUnreachable,
    StepFailed,
    touched_the_page,
)
from agent.events import InputResolved, OverlayDismissed, StepEnded, StepStarted, TaskEnded, TaskStarted
from agent.guide import Guide
from agent.page.errors import GateFailed, PageError, PageGone
from agent.session import Session
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.handling import ErrorRule
from kb_schema.probes import Status, Verdict
from kb_schema.runs import EvidenceLevel, RunResult, RunStatus, StepRecord, StepStatus
from kb_schema.tasks import Task, TaskStep
from kb_schema.values import Extraction, InputSpec

MAX_DEPTH = 8
"""How deep tasks may call tasks: deeper is a mistake in the knowledge."""
DEFAULT_ATTEMPTS = 2
"""Of a step whose failure left the page untouched, or whose action may be repeated."""
MAX_ATTEMPTS = 4
PRECONDITION_S = 1.5
"""How long a hard precondition may take to come true: the page may still be drawing."""
CONFIRM_S = 10.0
"""How long postconditions may take to come true after an action."""


class _Run:
    """What one task has so far."""

    def __init__(self, task: Task, values: dict[str, Any], depth: int) -> None:
        self.task, self.values, self.depth = task, values, depth
        self.outputs: dict[str, Any] = {}
        self.records: list[StepRecord] = []
        self.proven = False
        """Whether a condition held that speaks for the last thing that changed the site."""
        self.contradicted = False
        """Whether a condition spoke against it."""


class Engine:
    """Runs tasks on a session's page. One engine per session."""

    def __init__(self, session: Session, companion: Companion | None = None) -> None:
        self.session = session
        self.companion = companion or Companion()
        self.actions = Actions(session, self, self.companion)
        self.guide = Guide(session, self)
        self._remediating: set[str] = set()
        self._dismissing = False
        self.depth = 0
        """Of the task that runs now."""

    async def run_task(
        self, task_id: str, given: Mapping[str, Any] | None = None, *, depth: int = 0
    ) -> RunResult:
        """Run a task to its end and say how it came out.

        Raises `NotInKnowledge`, `KnowledgeUnavailable`, `SiteUnreachable` and `PageGone`; everything
        else that goes wrong is in the result.
        """
        if depth > MAX_DEPTH:
            raise StepFailed(f"tasks call each other more than {MAX_DEPTH} deep", error="too_deep")
        session = self.session
        task = await session.knowledge.task(task_id)
        started_at, started = datetime.now(UTC), time.monotonic()
        session.bus.tell(TaskStarted(task_id, task.name or task_id, depth))
        run = _Run(task, {}, depth)
        status, error, hint = RunStatus.SUCCESS, None, None
        outer, self.depth = self.depth, depth
        try:
            if depth == 0:
                await self.guide.arrive()
            run.values = await self._inputs(task, given or {})
            for number, step in enumerate(task.ordered_steps, start=1):
                await self._run_step(run, step, number)
            await self._read_outputs(run, after=None)
            await self._confirm(run, task.success_criteria, "success criterion")
        except (InputMissing, PersonNeeded) as exc:
            status, error, hint = RunStatus.NEEDS_PERSON, str(exc), exc.hint
        except (NotInKnowledge, KnowledgeUnavailable, SiteUnreachable, PageGone):
            session.bus.tell(TaskEnded(task_id, RunStatus.FAILURE, depth))
            raise
        except AgentError as exc:
            status, error, hint = RunStatus.FAILURE, str(exc), exc.hint
        except PageError as exc:
            status, error = RunStatus.FAILURE, str(exc)
        finally:
            self.depth = outer
        session.context.outputs.pop(task_id, None)
        session.context.outputs[task_id] = dict(run.outputs)
        if task.io_spec.context_persistence != "task":
            session.context.session.update(run.outputs)
        session.bus.tell(TaskEnded(task_id, status, depth))
        return RunResult(
            run_id=session.context.run_id,
            website_id=session.website.website_id,
            task_id=task_id,
            status=status,
            evidence=_evidence(run, status),
            started_at=started_at,
            duration_ms=(time.monotonic() - started) * 1000,
            steps=tuple(run.records),
            outputs=session.context.redact(run.outputs),
            error=session.context.redact(error),
            hint=session.context.redact(hint),
        )

    async def perform_call(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """One action call, with its fallback actions (KS 4.4) while the page was not touched."""
        await self.actions.perform(call, values)

    async def sub_task(self, task_id: str, inputs: Mapping[str, Any], depth: int) -> RunResult:
        """A task as part of another. Raises `StepFailed`, `InputMissing` or `PersonNeeded`."""
        result = await self.run_task(task_id, inputs, depth=depth + 1)
        if result.status is RunStatus.NEEDS_PERSON:
            raise PersonNeeded(result.error or f"task {task_id!r} needs a person", hint=result.hint)
        if not result.succeeded:
            raise StepFailed(f"task {task_id!r}: {result.error}", error="subtask_failed", acted=True)
        return result

    # -- inputs and outputs ----------------------------------------------------------------------

    async def _inputs(self, task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
        session = self.session
        values = await resolve_inputs(
            task,
            given,
            session.context,
            scrape=self._scrape,
            tell=lambda name, source: session.bus.tell(InputResolved(task.task_id, name, source)),
        )
        built_ins = session.context.built_ins(
            website_id=session.website.website_id,
            base_url=session.base_url,
            screen_id=session.screen_id,
            url=session.page.url,
        )
        return {**built_ins, **values}

    async def _scrape(self, spec: InputSpec) -> Any:
        """Read an input off the site: on the open page, or on its screen in a tab of its own."""
        if spec.extraction is None:
            return MISSING
        if spec.screen_id is None or spec.screen_id == self.session.screen_id:
            return await self._read(spec.extraction, {})
        tab = await self.session.page.context.new_page()
        try:
            other = Engine(self.session.on(tab))
            await other.guide.go_to(spec.screen_id, method="direct_url")
            return await other._read(spec.extraction, {})
        finally:
            await tab.close()

    async def _read(self, rule: Extraction, values: Mapping[str, Any]) -> Any:
        elements = {name: e.selector for name, e in (await self.session.elements()).items()}
        return await extract(rule, self.session.page, values, elements)

    async def _read_outputs(self, run: _Run, after: str | None) -> None:
        for output in run.task.io_spec.outputs:
            if output.after_step != after:
                continue
            value = await self._read(output.extraction, {**run.values, **run.outputs})
            if value is MISSING:
                if output.required:
                    raise StepFailed(
                        f"output {output.name!r} was not found", error="extraction_failed", acted=True
                    )
                continue
            if output.secret:
                self.session.context.keep_secret(value)
            run.outputs[output.name] = value
            run.values[output.name] = value

    # -- steps -----------------------------------------------------------------------------------

    async def _run_step(self, run: _Run, step: TaskStep, number: int) -> None:
        session, started = self.session, time.monotonic()
        action_type = step.action.canonical_type
        session.bus.tell(
            StepStarted(
                run.task.task_id, step.step_id, number, len(run.task.steps), action_type,
                session.context.redact(step.action.narration), run.depth,
            )
        )  # fmt: skip
        status, error, verdicts = StepStatus.DONE, None, []
        try:
            if await self._left_out(run, step):
                status = StepStatus.SKIPPED
            else:
                verdicts = await self._attempts(run, step)
                await self._read_outputs(run, after=step.step_id)
                await self.companion.after_step(run.task, step, run.values)
        except (AgentError, PageError) as exc:
            error = session.context.redact(str(exc))
            if step.required and not step.can_skip:
                status = StepStatus.FAILED
                raise
            status = StepStatus.SKIPPED
        finally:
            duration_ms = (time.monotonic() - started) * 1000
            if error is not None and status is StepStatus.DONE:
                status = StepStatus.FAILED
            run.records.append(
                StepRecord(
                    task_id=run.task.task_id,
                    step_id=step.step_id,
                    action_type=action_type,
                    status=status,
                    duration_ms=duration_ms,
                    screen_id=session.screen_id,
                    evidence=tuple(session.context.redact(v.evidence) for v in verdicts),
                    error=error,
                )
            )
            session.bus.tell(StepEnded(run.task.task_id, step.step_id, status, duration_ms, error))

    async def _left_out(self, run: _Run, step: TaskStep) -> bool:
        conditions = fill_conditions(step.skip_when, run.values)
        return any(verdict.held for verdict in await self.session.judge(conditions, run.values))

    async def _attempts(self, run: _Run, step: TaskStep) -> list[Verdict]:
        """Carry the step out, again where that is safe and its rules allow (KS 9.7)."""
        attempt = 0
        while True:
            attempt += 1
            run.contradicted = False  # of an attempt that failed and was made good
            try:
                return await self._attempt(run, step)
            except (
                InputMissing,
                PersonNeeded,
                PageGone,
                NotInKnowledge,
                SiteUnreachable,
                KnowledgeUnavailable,
            ):
                raise
            except (AgentError, PageError) as exc:
                rule = _rule_for(step, exc)
                allowed = DEFAULT_ATTEMPTS if rule is None else 1 + (rule.max_retries if rule.retry else 0)
                if attempt >= min(allowed, MAX_ATTEMPTS):
                    raise
                document = await self.session.knowledge.action(step.action.action_type)
                if touched_the_page(exc) and not is_idempotent(step.action, document):
                    # It may have happened. Never repeated blindly: the task itself may say how to tell.
                    verdicts = await self._already_done(run)
                    if not verdicts:
                        raise
                    return verdicts
                await self._repair(step, rule)

    async def _repair(self, step: TaskStep, rule: ErrorRule | None) -> None:
        """Between two attempts: out of the way what covers the page, back to a known screen."""
        session = self.session
        if rule is not None and rule.recovery == "refresh_and_retry":
            await self.actions.perform(ActionCall(action_type="refresh"), {})
        await self.dismiss_overlays()
        found = await session.look_for(timeout_s=1.0)
        if found.screen_id is None:
            await self.guide.recover()
        wanted = next((c.screen_id for c in step.preconditions if c.type == "on_screen"), None)
        if wanted is not None and session.screen_id != wanted:
            await self.guide.go_to(wanted)

    async def _attempt(self, run: _Run, step: TaskStep) -> list[Verdict]:
        conditions = step.postconditions + ((step.validation,) if step.validation else ())
        self.actions.expect(fill_conditions(conditions, run.values))
        await self._ensure(run, step)
        await self.dismiss_overlays()
        await self.companion.before_step(run.task, step, run.values)
        document = await self.session.knowledge.action(step.action.action_type)
        if not is_idempotent(step.action, document):
            run.proven = False  # what held before says nothing of what is done now
        if step.action.canonical_type == "execute_iterator":
            await run_iterator(self, run.task, run.values, run.depth)
        elif step.action.canonical_type == "run_task" and step.action.task_id:
            await self._call_task(run, step)
        else:
            await self.actions.perform(step.action, run.values)
        try:
            verdicts = await self._confirm(run, conditions, f"step {step.step_id!r}: postcondition")
        except StepFailed:
            await self.actions.settle(held=False)
            raise
        await self.actions.settle(held=True if verdicts else None)
        return verdicts

    async def _call_task(self, run: _Run, step: TaskStep) -> None:
        inputs = fill_call(step.action, run.values).inputs
        task_id = step.action.task_id or ""
        await self.sub_task(task_id, inputs, run.depth)
        declared = {spec.name for spec in run.task.io_spec.inputs}
        outputs = self.session.context.outputs.get(task_id, {})
        run.values.update({name: value for name, value in outputs.items() if name not in declared})

    async def _ensure(self, run: _Run, step: TaskStep) -> None:
        """Preconditions hold, or are remediated where they are soft (KS 9.11)."""
        conditions = fill_conditions(step.preconditions, run.values)
        first = await self.session.judge(conditions, run.values)
        missing = [c for c, verdict in zip(conditions, first, strict=True) if not verdict.held]
        for condition in missing:
            if condition.hard_dependency:
                (verdict,) = await self.session.judge_until_held(
                    [condition], run.values, timeout_s=PRECONDITION_S
                )
            elif condition.auto_remediate:
                verdict = await self._remediate(run, condition)
            else:
                continue  # soft, and nothing to be done about it: the step may try (KS 9.11)
            if not verdict.held and await self.actions.find_again([condition]):
                (verdict,) = await self.session.judge([condition], run.values)
            if not verdict.held:
                word = "could not be evaluated" if verdict.status is Status.UNKNOWN else "does not hold"
                raise StepFailed(
                    f"precondition {condition.type} {word}: {verdict.evidence}", error=condition.type
                )

    async def _remediate(self, run: _Run, condition: BaseCondition) -> Verdict:
        """A soft condition's own task or action, once; never inside itself (login that needs login)."""
        task_id = condition.remediation_task_id
        if task_id is not None:
            if task_id in self._remediating or task_id == run.task.task_id:
                raise StepFailed(f"{task_id!r} cannot remediate its own precondition", error=condition.type)
            self._remediating.add(task_id)
            try:
                await self.sub_task(task_id, {}, run.depth)
            finally:
                self._remediating.discard(task_id)
        elif condition.remediation_action is not None:
            params = dict(condition.remediation_params)
            await self.actions.perform(
                ActionCall.model_validate({"action_type": condition.remediation_action, **params}), run.values
            )
        return (await self.session.judge_until_held([condition], run.values))[0]

    async def _confirm(self, run: _Run, conditions: Sequence[BaseCondition], what: str) -> list[Verdict]:
        """All conditions hold within their time; raises `StepFailed` otherwise."""
        filled = fill_conditions(tuple(conditions), run.values)
        if not filled:
            return []
        verdicts = await self.session.judge_until_held(filled, run.values, timeout_s=CONFIRM_S)
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

    async def _already_done(self, run: _Run) -> list[Verdict]:
        """The task's own sign that it happened, where it holds; asked before anything is repeated."""
        conditions = fill_conditions(run.task.already_done_when, run.values)
        if not conditions:
            return []
        await self.dismiss_overlays()
        verdicts = await self.session.judge_until_held(conditions, run.values)
        if not all(verdict.held for verdict in verdicts):
            return []
        run.proven = True
        return verdicts

    async def dismiss_overlays(self) -> bool:
        """Close what the website says may get in the way, by its own controls; whether any was."""
        if self._dismissing:
            return False  # its control is covered by another one: that one must go first
        overlays = self.session.website.overlays
        verdicts = await self.session.judge([overlay.present_when for overlay in overlays])
        present = [overlay for overlay, verdict in zip(overlays, verdicts, strict=True) if verdict.held]
        closed = False
        self._dismissing = True
        try:
            for overlay in [*present, *present]:  # a second time for what was covered by a later one
                (verdict,) = await self.session.judge([overlay.present_when])
                if not verdict.held:
                    continue
                try:
                    await self.actions.perform(overlay.dismiss, {})
                except (GateFailed, StepFailed):
                    continue  # still opening, or gone by itself: the step's own gate will tell
                closed = True
                self.session.bus.tell(OverlayDismissed(overlay.overlay_id))
        finally:
            self._dismissing = False
        return closed


def _rule_for(step: TaskStep, error: Exception) -> ErrorRule | None:
    """The step's own rule for this error (KS 4.3)."""
    names = {getattr(error, "error", ""), type(error).__name__}
    if isinstance(error, GateFailed):
        names |= {error.point.value, "element_not_found", "timeout"}
    if getattr(error, "error", "") == "postcondition":
        names |= {"timeout", "validation_failed", "validation_error"}
    return next((rule for rule in step.error_handling if rule.condition in names), None)


def _evidence(run: _Run, status: RunStatus) -> EvidenceLevel:
    """Verified: the task's own criteria held, or a postcondition since the site was last changed."""
    if run.contradicted:
        return EvidenceLevel.CONTRADICTED
    if status is RunStatus.SUCCESS and run.proven:
        return EvidenceLevel.VERIFIED
    return EvidenceLevel.UNVERIFIED
