"""Runs a task: inputs, steps in order, outputs, result.

Steps are `step_runner`, single actions `action_runner`, loops `loops`, reading values `values`, resuming
after a crash `run_resumption`, checking whether something happened `effects`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from playwright.async_api import Error as PlaywrightError

from agent.errors import (
    AgentError,
    InputMissing,
    KnowledgeUnavailable,
    PersonNeeded,
    SiteUnreachable,
    StepFailed,
    SubtaskFailed,
    UnknownToKnowledge,
)
from agent.events import OverlayDismissed, TaskEnded, TaskStarted
from agent.execution.action_runner import ActionRunner
from agent.execution.call_templates import can_start_anywhere
from agent.execution.effects.effect_read_backs import EffectReader
from agent.execution.effects.spare_tab import SpareTab
from agent.execution.effects.undo import note_reversal
from agent.execution.entered_texts import EnteredTexts, FindRecord, is_judged_by_texts
from agent.execution.execution_ports import LoneAction
from agent.execution.page_complaints import quote_complaint, read_complaint
from agent.execution.persistence.checkpoint_state import CheckpointState, TaskFrame, remove_secret_values
from agent.execution.persistence.checkpoints import CheckpointWriter, CheckpointWriterPort
from agent.execution.recovery.recovery_runner import RecoveryRunner
from agent.execution.replanning.failure_lessons import FailureLessons
from agent.execution.replanning.replanner import Replanner
from agent.execution.replanning.strategies import usual_strategies
from agent.execution.replanning.strategies.inferencer_suggestions import InferencerSuggestions
from agent.execution.resilient_step_runner import ResilientStepRunner
from agent.execution.results.outcome_checks import OutcomeChecker
from agent.execution.results.task_result import TaskRunEnd, build_result, choose_end_status
from agent.execution.run_observer import RunObserver
from agent.execution.run_resumption import RunResumption
from agent.execution.step_runner import StepRunner
from agent.execution.stop_request import StopRequest
from agent.execution.task_dependencies import TaskDependencies
from agent.execution.task_run import TaskRun
from agent.execution.values.kept_values import KeptValues
from agent.execution.values.task_values import TaskValues
from agent.guide import Guide
from agent.page.errors import GateFailed, PageError, PageGone
from agent.page.page_readings import find_until, wait_until_settled
from agent.page.page_writes import PressAnswers
from agent.page.server_answers import ServerAnswers
from agent.session import Session
from agent.telemetry import span
from kb_schema.action_calls import ActionCall
from kb_schema.io_specs import Extraction, ValueRule
from kb_schema.read_backs import ReadBackStatus
from kb_schema.run_records import RunResult, RunStatus, StepStatus
from kb_schema.tasks import Task, TaskStep
from kb_schema.websites import Overlay

MAX_DEPTH = 8
"""How deep tasks may call tasks; deeper nesting is a mistake in the knowledge base."""
FATAL_ERRORS = (UnknownToKnowledge, KnowledgeUnavailable, SiteUnreachable, PageGone)
"""Errors that end a run at once. Raised if nothing was done yet; otherwise recorded in the result."""


class TaskRunner:
    """Runs tasks on a session's page. One task runner per session.

    `keeping`: port for checkpoints and journal, which make a run resumable. `resume`: the state of the run
    to resume. `decided`: a person's decision about the interrupted step, used if nothing else can tell.
    `stop`: once it is requested, no further step begins and `RunStopped` is raised.
    """

    def __init__(
        self,
        session: Session,
        observer: RunObserver | None = None,
        *,
        keeping: CheckpointWriterPort | None = None,
        resume: CheckpointState | None = None,
        decided: ReadBackStatus | None = None,
        stop: StopRequest | None = None,
    ) -> None:
        self.session = session
        self.stop = stop or StopRequest()
        self.observer = observer or RunObserver()
        self.actions = ActionRunner(session, self, self.observer)
        self.recovering = RecoveryRunner(self)
        self.guide = Guide(session, self)
        self.effects = EffectReader(self)
        self.values = TaskValues(self)
        self.dependencies = TaskDependencies(self)
        self.kept_values = KeptValues(session)
        self.resumption = RunResumption(self, decided)
        self.steps = StepRunner(self)
        self.checkpoints = CheckpointWriter(keeping, session.context, resume, keeps_storage=not session.lent)
        self.outcomes = OutcomeChecker(self)
        inferencer = session.inferencer
        self.resilience = ResilientStepRunner(
            self,
            session.resilience,
            Replanner(usual_strategies(), None if inferencer is None else InferencerSuggestions(inferencer)),
            FailureLessons(session.website.website_id, session.lessons),
        )
        self._running: tuple[str, ...] = ()
        """Tasks that run now, outermost first."""
        self.spare_tab = SpareTab(lambda: self.session.browser or self.session.page.context)
        self.dismissing = False
        """True while an overlay is being closed."""
        self.depth = 0
        """Nesting of the task that runs now."""
        self.groups: dict[str, Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]] = {}
        """Task that stands for a workflow's group -> function that runs its nodes for one item."""
        self.alone: LoneAction | None = None
        """The single action that runs now and stays on its page."""
        self.place: str | None = None
        """Path of the step that runs now; None if nothing below it is checkpointed."""

    @asynccontextmanager
    async def in_spare_tab(self) -> AsyncIterator[TaskRunner]:
        """A task runner in its own tab of the same session, for reading only: without checkpoints and
        replanning.
        """
        async with self.spare_tab.lent() as tab:
            session = self.session.on(tab)
            session.resilience = session.resilience.model_copy(update={"enable_replanning": False})
            yield TaskRunner(session)

    # -- tasks -----------------------------------------------------------------------------------

    async def run_task(
        self, task_id: str, given: Mapping[str, Any] | None = None, *, depth: int = 0
    ) -> RunResult:
        """Run a task to its end and return its result.

        Raises `UnknownToKnowledge`, `KnowledgeUnavailable`, `SiteUnreachable` and `PageGone` if nothing was
        done yet. Every other error is in the result, with all data read so far.
        """
        if depth > MAX_DEPTH:
            raise StepFailed(f"tasks call each other more than {MAX_DEPTH} levels deep", error="too_deep")
        attributes = {"website_id": self.session.website.website_id, "run_id": self.session.context.run_id}
        with span("task", task_id=task_id, depth=depth, **attributes):
            async with self.spare_tab.kept():
                with self.session.entries.keeping():
                    return await self._run_task(task_id, given or {}, depth)

    async def _run_task(self, task_id: str, given: Mapping[str, Any], depth: int) -> RunResult:
        session = self.session
        task = await session.knowledge.task(task_id)
        if task.read_back is not None:
            self.spare_tab.ahead()
        started_at, started = datetime.now(UTC), time.monotonic()
        session.bus.tell(TaskStarted(task_id, task.name or task_id, depth))
        for spec in task.io_spec.inputs:
            if spec.secret and spec.name in given:
                session.context.keep_secret(given[spec.name])  # before anything is stored
        path = self.place and f"{self.place}>{task_id}"
        if depth == 0 and self.place is None:
            given, path = await self.begin(task_id, given), task_id
        run = self._begin(task, depth, path)
        end = TaskRunEnd()
        (outer, self.depth), place, running = (self.depth, depth), self.place, self._running
        outer_values, outer_objective = session.context.task_values, session.task_objective
        session.task_objective = task.objective or outer_objective
        self._running = (*running, task_id)
        try:
            await self._carry_out(run, given)
        except (InputMissing, PersonNeeded) as exc:
            end = TaskRunEnd(str(exc), exc.hint, needs_person=True)
            if self.alone is not None:
                self.alone.failure = exc
        except FATAL_ERRORS as exc:
            if depth > 0 or not _has_progress(run, self.checkpoints.state):
                session.bus.tell(TaskEnded(task_id, RunStatus.FAILURE, depth))
                raise
            end = TaskRunEnd(str(exc), getattr(exc, "hint", None))
        except (AgentError, PageError) as exc:
            end = TaskRunEnd(str(exc), getattr(exc, "hint", None), closing=run.closing)
        finally:
            self.depth, self.place, self._running = outer, place, running
            session.context.task_values, session.task_objective = outer_values, outer_objective
        parts = await self.resilience.parts(run)
        status = choose_end_status(run, end, parts, self.resilience.policy(run))
        await self._end(run, status)
        if depth == 0 and place is None:
            status = status.with_evidence(run.evidence(status))
            session.memory.conclude(session.bus.tell, verified=status is RunStatus.SUCCESS)
        session.bus.tell(TaskEnded(task_id, status, depth))
        parts = await self.resilience.parts(run)
        return build_result(self, run, end, status, parts, started_at, started)

    def _begin(self, task: Task, depth: int, path: str | None) -> TaskRun:
        """Return the state of a task: new, or restored from that path of the checkpoint if the run is resumed."""
        state = self.checkpoints.state
        frame = TaskFrame(task_id=task.task_id) if path is None else state.frames.get(path)
        if frame is None or frame.task_id != task.task_id:
            frame = TaskFrame(task_id=task.task_id)
        if path is not None:
            state.frames[path] = frame
        run = TaskRun(task, frame, depth, path)
        run.entered = EnteredTexts(task) if depth == 0 and is_judged_by_texts(task) else None
        run.ledger, run.running = state.ledger, frozenset({*self._running, task.task_id})
        if depth == 0 and self.place is None:
            self.resilience.begin(task.resilience)
        return run

    async def begin(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Start the checkpoint state of a run of that name, or restore it if the run is resumed.

        Returns the inputs: a resumed run has those with which it began, but for secrets, beside what is given now.
        """
        context = self.session.context
        await self.kept_values.load(given)
        kept = await self.checkpoints.carry_on()
        self.session.presses = PressAnswers(forgotten=kept is not None)
        if kept is None:
            known = remove_secret_values(dict(given), context.redact(dict(given)))
            self.checkpoints.state = CheckpointState(
                website_id=self.session.website.website_id, task_id=name, given=known
            )
            return dict(given)
        if kept.entered:
            raise PersonNeeded(
                "the run was interrupted while the page held what earlier steps had entered and not sent: that is lost",
                hint="look on the website what is done already, then start a new run",
            )
        context.session.update(kept.session)
        context.outputs.update({task_id: dict(outputs) for task_id, outputs in kept.outputs.items()})
        context.succeeded.update(frame.task_id for frame in kept.frames.values() if frame.over)
        kept.ledger.carried_on()
        return {**kept.given, **given}

    async def _carry_out(self, run: TaskRun, given: Mapping[str, Any]) -> None:
        if run.frame.over:
            run.values = {**run.frame.values, **run.outputs}
            return
        if run.depth == 0:
            async with _run_beside(self.session.knowledge.fetch_ahead(run.task)):
                leaves = can_start_anywhere(run.steps[0].action)
                leaves = leaves and not await self.dependencies.of(run.task.task_id)
                await self.guide.arrive(leaves=leaves)
        await self.dependencies.carry_out(run, given)
        run.values = {**run.frame.values, **await self.values.resolve(run, given)}
        self.session.context.task_values = run.values
        index = await self.resumption.enter(run)
        await self.keep(run)
        while index < len(run.steps):
            self.stop.check()
            index = await self.resilience.step(run, index)
            if await self.resilience.enough(run, index):
                run.early_exit = True
                break
        await self._close(run)
        if not run.early_exit:
            await self.dependencies.repeat(run, given)

    async def _close(self, run: TaskRun) -> None:
        """After the last step: read the outputs and check the success criteria.

        A run that went on without a step or exited early is not failed again by its criteria; they only
        count as evidence.
        """
        try:
            await self.read_outputs(run, after=None)
        except StepFailed as exc:
            run.error = run.error or str(exc)
        run.closing = not (run.missing_outputs or run.error or run.early_exit)
        if run.seen_elsewhere is not None:
            return
        try:
            if not run.early_exit:
                await self.outcomes.task(run, self.resilience.policy(run))
        except StepFailed as exc:
            if run.closing:
                complaint = await read_complaint(self.session)
                raise quote_complaint(exc, complaint, run.values, run.input_names, kind=exc.error) from exc
        await self._check_effect(run)

    async def _check_effect(self, run: TaskRun) -> None:
        """Check the task's effect apart from its own page. Raises `StepFailed` if it is missing."""
        if run.entered is not None and not run.proven and not run.error:
            run.proven = await run.entered.are_kept(self._reopen)
        rule = run.task.read_back
        if rule is None or rule.only_in_doubt or not run.frame.looked:
            return
        effect = await self.effects.happened(run, self.resumption.no_sign_in)
        if effect.status is ReadBackStatus.HAPPENED:
            run.proven = True
        elif effect.status is ReadBackStatus.DID_NOT_HAPPEN:
            run.contradicted = run.read_back_contradicts = True
            raise StepFailed(
                f"the page reported success, but the read-back contradicts it: {effect.reason}",
                error="contradicted",
                acted=True,
            )

    async def _reopen(self, url: str, find: FindRecord) -> bool:
        """Open an address in another tab; return whether a record comes to be there, stays, and is from a server."""
        try:
            async with self.in_spare_tab() as other:
                page = other.session.page
                async with ServerAnswers(page) as answers:
                    await other.guide.open(url)
                    if not await find_until(page, find) or answers.failed:
                        return False
                    await wait_until_settled(page)
                    found = await find(page)
                    return (
                        found is not None
                        and await answers.have(found)
                        and await other.session.signed_in() is not False
                    )
        except (AgentError, PageError, PlaywrightError):
            return False

    async def _end(self, run: TaskRun, status: RunStatus) -> None:
        context = self.session.context
        context.keep_outputs(run.task.task_id, run.outputs, run.task.io_spec.lasting)
        await self.kept_values.keep(run.task, run.outputs)
        if status is RunStatus.SUCCESS:
            context.succeeded.add(run.task.task_id)
        else:
            context.forget_fetched(run.task.task_id)
        if run.path is None:
            return
        await note_reversal(self, run, succeeded=status is RunStatus.SUCCESS)
        if status is RunStatus.SUCCESS:  # also for the requested task: its end may not be stored yet
            run.frame.over = True
            await self.keep(run)
        elif run.depth == 0:
            run.ledger.over = True
            await self.keep(run)

    async def perform_call(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """Perform one action call of a transition, with its fallback actions (KS 4.4) while the page was not
        touched. Not checkpointed: a path can be found again.
        """
        async with self.without_checkpoints():
            await self.actions.perform(call, values)

    async def sub_task(self, task_id: str, inputs: Mapping[str, Any], depth: int) -> RunResult:
        """Run a task as part of another. Raises `StepFailed`, `InputMissing` or `PersonNeeded`."""
        result = await self.run_task(task_id, inputs, depth=depth + 1)
        if result.status is RunStatus.NEEDS_PERSON:
            raise PersonNeeded(result.error or f"task {task_id!r} needs a person", hint=result.hint)
        if not result.complete:
            partly = result.status in (RunStatus.PARTIAL, RunStatus.DEGRADED)
            share = result.completion_percentage / 100 if partly else 0.0
            raise SubtaskFailed(
                f"task {task_id!r}: {result.error}",
                share=min(share, 0.99),
                hint=result.hint,
                at_end=result.completed_steps == result.total_steps,
            )
        return result

    # -- what is kept ----------------------------------------------------------------------------

    @asynccontextmanager
    async def without_checkpoints(self) -> AsyncIterator[None]:
        """A block of which nothing is checkpointed: a resumed run does it again."""
        place, self.place = self.place, None
        try:
            yield
        finally:
            self.place = place

    async def keep(self, run: TaskRun) -> None:
        """Write a checkpoint: a resumed run does not repeat what is done so far."""
        if run.path is None:
            return
        context = self.session.context
        run.frame.values = remove_secret_values(run.values, context.redact(run.values))
        run.frame.outputs = remove_secret_values(run.outputs, context.redact(run.outputs))
        run.frame.proven = run.proven
        await self.keep_state()

    async def keep_state(self) -> None:
        """Write a checkpoint of the values that belong to no single task."""
        context, state = self.session.context, self.checkpoints.state
        state.entered = self.session.entries.are_of_ended_tasks
        state.session = remove_secret_values(context.session, context.redact(context.session))
        state.outputs = {
            name: remove_secret_values(outputs, context.redact(outputs))
            for name, outputs in context.outputs.items()
        }
        await self.checkpoints.checkpoint(self.session.page)

    # -- inputs and outputs ----------------------------------------------------------------------

    async def refresh(self, run: TaskRun, step: TaskStep) -> None:
        """Resolve again the volatile inputs that a step is about to use (KS 9.12)."""
        await self.values.refresh(run, step)

    async def scrape(self, rule: ValueRule, values: Mapping[str, Any]) -> Any:
        """Read an input from the website: from the open page, or from its screen in a tab of its own."""
        return await self.values.scrape(rule, values)

    async def read(self, rule: Extraction, values: Mapping[str, Any]) -> Any:
        """Return what a rule reads on the page now; `MISSING` if it finds nothing."""
        return await self.values.read(rule, values)

    async def read_outputs(self, run: TaskRun, after: str | None) -> None:
        """Read the outputs due after that step (None: at the end) and store them at once. Raises `StepFailed`."""
        await self.values.read_outputs(run, after)

    async def dismiss_overlays(self) -> bool:
        """Close the website's overlays by their own controls; return whether one was closed."""
        if self.dismissing:
            return False  # its control is covered by another overlay, which is being closed
        overlays = self.session.website.overlays
        verdicts = await self.session.judge([overlay.present_when for overlay in overlays], recent=True)
        present = [overlay for overlay, verdict in zip(overlays, verdicts, strict=True) if verdict.held]
        self.dismissing = True
        try:
            closed = [await self._dismiss(overlay) for overlay in present]
            if any(closed):  # again, for overlays that the closed ones covered
                for overlay in present:
                    await self._dismiss(overlay)
        finally:
            self.dismissing = False
        return any(closed)

    async def _dismiss(self, overlay: Overlay) -> bool:
        """Close an overlay; return whether it was there and is closed."""
        (verdict,) = await self.session.judge([overlay.present_when], recent=True)
        if not verdict.held:
            return False
        try:
            await self.actions.perform(overlay.dismiss, {})
        except (GateFailed, StepFailed):
            return False  # still opening, or closed by itself: the gate of the step decides
        self.session.bus.tell(OverlayDismissed(overlay.overlay_id))
        return True


@asynccontextmanager
async def _run_beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine while the block runs, and cancel it at its end."""
    working = asyncio.create_task(work)
    try:
        yield
    finally:
        working.cancel()
        await asyncio.wait({working})


def _has_progress(run: TaskRun, state: CheckpointState) -> bool:
    """Whether something was done or read, also inside a loop or a sub-task that did not come to its end."""
    inside = () if run.path is None else state.within(run.path)
    done = [*run.records, *(step.record for frame in inside for step in frame.done.values())]
    return (
        bool(run.outputs or run.ledger.data or any(run.frame.items.values()))
        or any(any(frame.items.values()) for frame in inside)
        or any(record.status is StepStatus.DONE for record in done)
    )
