"""Running a task: inputs, steps in order, outputs, and what the result rests on.

One step is `steps.py`, single actions `actions.py`, loops `iterate.py`, reading values `extract.py`,
carrying on after a crash `resuming.py`, whether something happened `effects.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from agent.engine.actions import Actions
from agent.engine.calls import names_used
from agent.engine.companion import Companion
from agent.engine.effects import Effects
from agent.engine.extract import extract, places
from agent.engine.inputs import MISSING, refresh_inputs, resolve_inputs
from agent.engine.keeping import Keeper, KeepingPort
from agent.engine.resuming import Resuming
from agent.engine.running import Run
from agent.engine.spare_tab import SpareTab
from agent.engine.state import Frame, RunState, without_secrets
from agent.engine.steps import Steps
from agent.engine.stopping import Stop
from agent.engine.undoing import note_reversal
from agent.errors import (
    AgentError,
    InputMissing,
    KnowledgeUnavailable,
    NotInKnowledge,
    PersonNeeded,
    SiteUnreachable,
    StepFailed,
    SubtaskFailed,
)
from agent.events import InputResolved, OverlayDismissed, TaskEnded, TaskStarted
from agent.guide import Guide
from agent.inputs.types import as_declared
from agent.page.errors import GateFailed, PageError, PageGone
from agent.recovering.recovering import Recovering
from agent.resilience.carrying import Resilience
from agent.resilience.judging import Judging
from agent.resilience.ledger import meaningful
from agent.resilience.memory import FailureMemory
from agent.resilience.outcome import End, result_of, status_at
from agent.resilience.replanner import Replanner
from agent.resilience.strategies import usual_strategies
from agent.session import Session
from agent.telemetry import span
from kb_schema.calls import ActionCall
from kb_schema.read_backs import Happened
from kb_schema.runs import RunResult, RunStatus, StepStatus
from kb_schema.tasks import Task, TaskStep
from kb_schema.values import Extraction, ValueRule
from kb_schema.websites import Overlay

MAX_DEPTH = 8
"""How deep tasks may call tasks: deeper is a mistake in the knowledge."""
FATAL = (NotInKnowledge, KnowledgeUnavailable, SiteUnreachable, PageGone)
"""What ends a run at once. Where nothing was done by then it is raised, else it is in the result."""


class Engine:
    """Runs tasks on a session's page. One engine per session.

    With a `keeping` port a run can be carried on after a crash: `resume` is what was kept of it, and
    `decided` what a person says of the step that was cut off, where nothing else tells. Once `stop` is
    asked for, no further step begins: `Stopped` is raised.
    """

    def __init__(
        self,
        session: Session,
        companion: Companion | None = None,
        *,
        keeping: KeepingPort | None = None,
        resume: RunState | None = None,
        decided: Happened | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.session = session
        self.stop = stop or Stop()
        self.companion = companion or Companion()
        self.actions = Actions(session, self, self.companion)
        self.recovering = Recovering(self)
        self.guide = Guide(session, self)
        self.effects = Effects(self)
        self.resuming = Resuming(self, decided)
        self.steps = Steps(self)
        self.keeper = Keeper(keeping, session.context, resume)
        self.judging = Judging(self)
        self.resilience = Resilience(
            self,
            session.resilience,
            Replanner(usual_strategies(session.inferencer)),
            FailureMemory(session.website.website_id, session.lessons),
        )
        self._running: tuple[str, ...] = ()
        """The tasks that run now, the outermost first."""
        self.spare_tab = SpareTab(lambda: self.session.page.context)
        self.dismissing = False
        """Something that is in the way is being put away."""
        self.depth = 0
        """Of the task that runs now."""
        self.groups: dict[str, Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]] = {}
        """Task that stands for a workflow's group -> what runs its nodes for one item."""
        self.place: str | None = None
        """Path of the step that runs now; None where nothing is kept of what it leads to."""

    @asynccontextmanager
    async def elsewhere(self) -> AsyncIterator[Engine]:
        """An engine in a tab of its own, in the same session; nothing is kept of what it does, and it tries
        nothing but what it is told: it only looks.
        """
        async with self.spare_tab.lent() as tab:
            session = self.session.on(tab)
            session.resilience = session.resilience.model_copy(update={"enable_replanning": False})
            yield Engine(session)

    # -- tasks -----------------------------------------------------------------------------------

    async def run_task(
        self, task_id: str, given: Mapping[str, Any] | None = None, *, depth: int = 0
    ) -> RunResult:
        """Run a task to its end and say how it came out.

        Raises `NotInKnowledge`, `KnowledgeUnavailable`, `SiteUnreachable` and `PageGone` where nothing was
        done by then; everything else that goes wrong is in the result, with all the data there is.
        """
        if depth > MAX_DEPTH:
            raise StepFailed(f"tasks call each other more than {MAX_DEPTH} deep", error="too_deep")
        told = {"website_id": self.session.website.website_id, "run_id": self.session.context.run_id}
        with span("task", task_id=task_id, depth=depth, **told):
            async with self.spare_tab.kept():
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
                session.context.keep_secret(given[spec.name])  # before anything of it is kept
        run = await self._begin(task, given, depth)
        end = End()
        (outer, self.depth), place, running = (self.depth, depth), self.place, self._running
        self._running = (*running, task_id)
        try:
            await self._carry_out(run, given)
        except (InputMissing, PersonNeeded) as exc:
            end = End(str(exc), exc.hint, needs_person=True)
        except FATAL as exc:
            if depth > 0 or not _got_anywhere(run):
                session.bus.tell(TaskEnded(task_id, RunStatus.FAILURE, depth))
                raise
            end = End(str(exc), getattr(exc, "hint", None))
        except (AgentError, PageError) as exc:
            end = End(str(exc), getattr(exc, "hint", None), closing=run.closing)
        finally:
            self.depth, self.place, self._running = outer, place, running
        status = await status_at(self, run, end)
        await self._end(run, status)
        session.bus.tell(TaskEnded(task_id, status, depth))
        return await result_of(self, run, end, status, started_at, started)

    async def _begin(self, task: Task, given: Mapping[str, Any], depth: int) -> Run:
        """A task's run: a new one, or what is left of it where the run is carried on."""
        if depth > 0 or self.place is not None:
            path = None if self.place is None else f"{self.place}>{task.task_id}"
        else:
            path = task.task_id
            await self.begin(task.task_id, given)
        state = self.keeper.state
        frame = Frame(task_id=task.task_id) if path is None else state.frames.get(path)
        if frame is None or frame.task_id != task.task_id:
            frame = Frame(task_id=task.task_id)
        if path is not None:
            state.frames[path] = frame
        run = Run(task, frame, depth, path)
        run.ledger, run.running = state.ledger, frozenset({*self._running, task.task_id})
        if depth == 0:
            self.resilience.begin(run)
        return run

    async def begin(self, name: str, given: Mapping[str, Any]) -> None:
        """What is kept of a run of that name: nothing yet, or all there is where it is carried on."""
        context = self.session.context
        kept = await self.keeper.carry_on()
        if kept is None:
            known = without_secrets(dict(given), context.redact(dict(given)))
            self.keeper.state = RunState(
                website_id=self.session.website.website_id, task_id=name, given=known
            )
            return
        context.session.update(kept.session)
        context.outputs.update({task_id: dict(outputs) for task_id, outputs in kept.outputs.items()})
        kept.ledger.carried_on()

    async def _carry_out(self, run: Run, given: Mapping[str, Any]) -> None:
        if run.frame.over:
            run.values = {**run.frame.values, **run.outputs}
            return
        if run.depth == 0:
            async with _beside(self.session.knowledge.fetch_ahead(run.task)):
                await self.guide.arrive()
        run.values = {**run.frame.values, **await self._inputs(run, given)}
        index = await self.resuming.enter(run)
        await self.keep(run)
        while index < len(run.steps):
            self.stop.check()
            index = await self.resilience.step(run, index)
            if await self.resilience.enough(run, index):
                run.early_exit = True
                break
        await self._close(run)

    async def _close(self, run: Run) -> None:
        """The task's steps are over: what it gives, and whether what it is for is there.

        Of a run that went on without something, or left early, less is asked: its criteria tell what its
        result rests on, and do not fail it once more.
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
                await self.judging.task(run, self.resilience.policy(run))
        except StepFailed:
            if run.closing:
                raise
        await self._see_the_effect(run)

    async def _see_the_effect(self, run: Run) -> None:
        """What the task is for is there, seen apart from what its own page said (DESIGN 6)."""
        rule = run.task.read_back
        if rule is None or rule.only_in_doubt or not run.frame.looked:
            return
        effect = await self.effects.happened(run, self.resuming.no_sign_in)
        if effect.status is Happened.HAPPENED:
            run.proven = True
        elif effect.status is Happened.DID_NOT_HAPPEN:
            run.contradicted = run.read_back_contradicts = True
            raise StepFailed(
                f"the page said it was done, but reading it back says: {effect.reason}",
                error="contradicted",
                acted=True,
            )

    async def _end(self, run: Run, status: RunStatus) -> None:
        context = self.session.context
        context.keep_outputs(run.task.task_id, run.outputs, run.task.io_spec.context_persistence)
        if status is not RunStatus.SUCCESS:
            context.forget_fetched(run.task.task_id)
        if run.path is None:
            return
        await note_reversal(self, run, succeeded=status is RunStatus.SUCCESS)
        if status is RunStatus.SUCCESS:  # of the run itself, too: its end may not be noted anywhere yet
            run.frame.over = True
            await self.keep(run)
        elif run.depth == 0:
            run.ledger.over = True
            await self.keep(run)

    async def perform_call(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """One action call on the way somewhere, with its fallback actions (KS 4.4) while the page was
        not touched. Nothing is kept of it: a way is found again.
        """
        async with self.unkept():
            await self.actions.perform(call, values)

    async def sub_task(self, task_id: str, inputs: Mapping[str, Any], depth: int) -> RunResult:
        """A task as part of another. Raises `StepFailed`, `InputMissing` or `PersonNeeded`."""
        result = await self.run_task(task_id, inputs, depth=depth + 1)
        if result.status is RunStatus.NEEDS_PERSON:
            raise PersonNeeded(result.error or f"task {task_id!r} needs a person", hint=result.hint)
        if not result.succeeded:
            partly = result.status in (RunStatus.PARTIAL, RunStatus.DEGRADED)
            share = result.completion_percentage / 100 if partly else 0.0
            raise SubtaskFailed(f"task {task_id!r}: {result.error}", share=min(share, 0.99))
        return result

    # -- what is kept ----------------------------------------------------------------------------

    @asynccontextmanager
    async def unkept(self) -> AsyncIterator[None]:
        """What is run inside is done anew if the run is carried on later."""
        place, self.place = self.place, None
        try:
            yield
        finally:
            self.place = place

    async def keep(self, run: Run) -> None:
        """A checkpoint: everything up to now need not be done again."""
        if run.path is None:
            return
        context = self.session.context
        run.frame.values = without_secrets(run.values, context.redact(run.values))
        run.frame.outputs = without_secrets(run.outputs, context.redact(run.outputs))
        run.frame.proven = run.proven
        await self.keep_state()

    async def keep_state(self) -> None:
        """The same, of what belongs to no single task."""
        context, state = self.session.context, self.keeper.state
        state.session = without_secrets(context.session, context.redact(context.session))
        state.outputs = {
            name: without_secrets(outputs, context.redact(outputs))
            for name, outputs in context.outputs.items()
        }
        await self.keeper.checkpoint(self.session.page)

    # -- inputs and outputs ----------------------------------------------------------------------

    async def _inputs(self, run: Run, given: Mapping[str, Any]) -> dict[str, Any]:
        session, task = self.session, run.task
        run.fixed = frozenset(given)
        for output in task.io_spec.outputs:
            if output.secret:
                await self._hide(output.extraction)
        built_ins = session.context.built_ins(
            website_id=session.website.website_id,
            base_url=session.base_url,
            screen_id=session.screen_id,
            url=session.page.url,
        )
        values = await resolve_inputs(
            task,
            given,
            session.context,
            scrape=self.scrape,
            tell=lambda name, source: session.bus.tell(InputResolved(task.task_id, name, source)),
            known=run.frame.values,
            built_ins=built_ins,
        )
        return {**built_ins, **values}

    async def refresh(self, run: Run, step: TaskStep) -> None:
        """What a step is about to use and is never good for long, got once more (DESIGN 6)."""
        names = names_used(step.action, run.task)
        run.values |= await refresh_inputs(
            run.task, names, run.fixed, run.values, self.session.context, scrape=self.scrape
        )

    async def scrape(self, rule: ValueRule, values: Mapping[str, Any]) -> Any:
        """Read an input off the site: on the open page, or on its screen in a tab of its own."""
        if rule.extraction is None:
            return MISSING
        if getattr(rule, "secret", False):
            await self._hide(rule.extraction, rule.screen_id)
        if rule.screen_id is None or rule.screen_id == self.session.screen_id:
            return await self.read(rule.extraction, values)
        async with self.elsewhere() as other:
            await other.guide.go_to(rule.screen_id, method="direct_url")
            return await other.read(rule.extraction, values)

    async def _hide(self, rule: Extraction, screen_id: str | None = None) -> None:
        """Leave out of snapshots where a secret is going to be read: it is not known yet, but shown."""
        session = self.session
        known = () if screen_id is None else (await session.knowledge.screen(screen_id)).ui_elements
        elements = {element.element_id: element.selector for element in known}
        session.secret_fields += [
            place for place in places(rule, elements) if place not in session.secret_fields
        ]

    async def read(self, rule: Extraction, values: Mapping[str, Any]) -> Any:
        """What a rule reads on the page now; `MISSING` where it finds nothing."""
        elements = {name: e.selector for name, e in (await self.session.elements()).items()}
        return await extract(rule, self.session.page, values, elements)

    async def read_outputs(self, run: Run, after: str | None) -> None:
        """The outputs due after that step (None: at the end) into the run, kept the moment they exist.

        Raises `StepFailed` where required ones are not there, after it has read all that are.
        """
        missing = []
        for output in run.task.io_spec.outputs:
            if output.after_step != after or meaningful(run.outputs.get(output.name)):
                continue  # what was read stays: a second look may be at something else
            value = run.given.get(output.name, MISSING)
            if value is MISSING:
                value = await self.read(output.extraction, {**run.values, **run.outputs})
            if value is MISSING:
                if output.required and run.seen_elsewhere is None and output.name not in run.outputs:
                    missing.append(output.name)
                continue
            self._keep_output(run, output.name, as_declared(output, value), secret=output.secret)
        run.missing_outputs.difference_update(run.outputs)
        if missing:
            run.missing_outputs.update(missing)
            told = ", ".join(map(repr, missing))
            raise StepFailed(
                f"output{'s' if len(missing) > 1 else ''} {told} {'were' if len(missing) > 1 else 'was'} not found",
                error="extraction_failed", acted=True,
            )  # fmt: skip

    def _keep_output(self, run: Run, name: str, value: Any, *, secret: bool) -> None:
        """In the run at once, and among the data of the run; never in place of something that says more."""
        if secret:
            self.session.context.keep_secret(value)
        if not meaningful(value) and name in run.outputs:
            return
        run.outputs[name] = value
        run.values[name] = value
        if run.path is not None and self.session.context.redact(value) == value:
            run.ledger.keep(run.path, {name: value})

    async def dismiss_overlays(self) -> bool:
        """Close what the website says may get in the way, by its own controls; whether any was."""
        if self.dismissing:
            return False  # its control is covered by another one: that one must go first
        overlays = self.session.website.overlays
        verdicts = await self.session.judge([overlay.present_when for overlay in overlays])
        present = [overlay for overlay, verdict in zip(overlays, verdicts, strict=True) if verdict.held]
        self.dismissing = True
        try:
            closed = [await self._dismissed(overlay) for overlay in present]
            if any(closed):  # once more for what was covered by one that is gone now
                for overlay in present:
                    await self._dismissed(overlay)
        finally:
            self.dismissing = False
        return any(closed)

    async def _dismissed(self, overlay: Overlay) -> bool:
        """Whether it was there and is put away."""
        (verdict,) = await self.session.judge([overlay.present_when])
        if not verdict.held:
            return False
        try:
            await self.actions.perform(overlay.dismiss, {})
        except (GateFailed, StepFailed):
            return False  # still opening, or gone by itself: the step's own gate will tell
        self.session.bus.tell(OverlayDismissed(overlay.overlay_id))
        return True


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do that while something else is waited for, and no longer."""
    working = asyncio.create_task(work)
    try:
        yield
    finally:
        working.cancel()
        await asyncio.wait({working})


def _got_anywhere(run: Run) -> bool:
    """Whether a result is worth more than an error: something was done, or read."""
    return bool(run.outputs or run.ledger.data) or any(
        record.status is StepStatus.DONE for record in run.records
    )
