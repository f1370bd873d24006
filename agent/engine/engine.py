"""Running a task: inputs, steps in order, outputs, and what the result rests on.

One step is `steps.py`, single actions `actions.py`, loops `iterate.py`, reading values `extract.py`,
carrying on after a crash `resuming.py`, whether something happened `effects.py`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from agent.engine.actions import Actions
from agent.engine.calls import names_used
from agent.engine.companion import Companion
from agent.engine.effects import Effects
from agent.engine.extract import extract
from agent.engine.inputs import MISSING, refresh_inputs, resolve_inputs
from agent.engine.keeping import Keeper, KeepingPort
from agent.engine.resuming import Resuming
from agent.engine.running import Run
from agent.engine.state import Frame, RunState, without_secrets
from agent.engine.steps import Again, Steps
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
)
from agent.events import InputResolved, OverlayDismissed, TaskEnded, TaskStarted
from agent.guide import Guide
from agent.page.errors import GateFailed, PageError, PageGone
from agent.session import Session
from kb_schema.calls import ActionCall
from kb_schema.read_backs import Happened
from kb_schema.runs import RunResult, RunStatus
from kb_schema.tasks import Task, TaskStep
from kb_schema.values import Extraction, ValueRule

MAX_DEPTH = 8
"""How deep tasks may call tasks: deeper is a mistake in the knowledge."""
FATAL = (NotInKnowledge, KnowledgeUnavailable, SiteUnreachable, PageGone)
"""What no result can be made of: it is raised."""


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
        self.guide = Guide(session, self)
        self.effects = Effects(self)
        self.resuming = Resuming(self, decided)
        self.steps = Steps(self)
        self.keeper = Keeper(keeping, session.context, resume)
        self._dismissing = False
        self.depth = 0
        """Of the task that runs now."""
        self.place: str | None = None
        """Path of the step that runs now; None where nothing is kept of what it leads to."""

    @asynccontextmanager
    async def elsewhere(self) -> AsyncIterator[Engine]:
        """An engine in a tab of its own, in the same session; nothing is kept of what it does."""
        tab = await self.session.page.context.new_page()
        try:
            yield Engine(self.session.on(tab))
        finally:
            await tab.close()

    # -- tasks -----------------------------------------------------------------------------------

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
        run = await self._begin(task, given or {}, depth)
        for spec in task.io_spec.inputs:
            if spec.secret and given and spec.name in given:
                session.context.keep_secret(given[spec.name])  # before anything of it is kept
        status, error, hint = RunStatus.SUCCESS, None, None
        (outer, self.depth), place = (self.depth, depth), self.place
        try:
            await self._carry_out(run, given or {})
        except (InputMissing, PersonNeeded) as exc:
            status, error, hint = RunStatus.NEEDS_PERSON, str(exc), exc.hint
        except FATAL:
            session.bus.tell(TaskEnded(task_id, RunStatus.FAILURE, depth))
            raise
        except AgentError as exc:
            status, error, hint = RunStatus.FAILURE, str(exc), exc.hint
        except PageError as exc:
            status, error = RunStatus.FAILURE, str(exc)
        finally:
            self.depth, self.place = outer, place
        await self._end(run, status)
        session.bus.tell(TaskEnded(task_id, status, depth))
        return RunResult(
            run_id=session.context.run_id,
            website_id=session.website.website_id,
            task_id=task_id,
            status=status,
            evidence=run.evidence(status),
            started_at=started_at,
            duration_ms=(time.monotonic() - started) * 1000,
            steps=tuple(run.records),
            outputs=session.context.redact(run.outputs),
            error=session.context.redact(error),
            hint=session.context.redact(hint),
        )

    async def _begin(self, task: Task, given: Mapping[str, Any], depth: int) -> Run:
        """A task's run: a new one, or what is left of it where the run is carried on."""
        context = self.session.context
        if depth > 0:
            path = None if self.place is None else f"{self.place}>{task.task_id}"
        else:
            path = task.task_id
            kept = await self.keeper.carry_on()
            if kept is None:
                known = without_secrets(dict(given), context.redact(dict(given)))
                self.keeper.state = RunState(
                    website_id=self.session.website.website_id, task_id=task.task_id, given=known
                )
            else:
                context.session.update(kept.session)
                context.outputs.update({name: dict(outputs) for name, outputs in kept.outputs.items()})
        state = self.keeper.state
        frame = Frame(task_id=task.task_id) if path is None else state.frames.get(path)
        if frame is None or frame.task_id != task.task_id:
            frame = Frame(task_id=task.task_id)
        if path is not None:
            state.frames[path] = frame
        return Run(task, frame, depth, path)

    async def _carry_out(self, run: Run, given: Mapping[str, Any]) -> None:
        if run.frame.over:
            run.values = {**run.frame.values, **run.outputs}
            return
        if run.depth == 0:
            await self.guide.arrive()
        run.values = {**run.frame.values, **await self._inputs(run, given)}
        index = await self.resuming.enter(run)
        await self.keep(run)
        while index < len(run.steps):
            self.stop.check()
            try:
                await self.steps.run(run, index)
            except Again as again:
                index = await self.resuming.go_back(run, index, again.reason)
            else:
                index += 1
        await self.read_outputs(run, after=None)
        if run.seen_elsewhere is None:
            await self.steps.confirm(run, run.task.success_criteria, "success criterion")
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
            run.contradicted = True
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
        await note_reversal(self, run)
        if status is RunStatus.SUCCESS and run.depth == 0:
            await self.keeper.forget()
        elif status is RunStatus.SUCCESS:
            run.frame.over = True
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
            raise StepFailed(f"task {task_id!r}: {result.error}", error="subtask_failed", acted=True)
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
        context, state = self.session.context, self.keeper.state
        run.frame.values = without_secrets(run.values, context.redact(run.values))
        run.frame.outputs = without_secrets(run.outputs, context.redact(run.outputs))
        run.frame.proven = run.proven
        state.session = without_secrets(context.session, context.redact(context.session))
        state.outputs = {
            name: without_secrets(outputs, context.redact(outputs))
            for name, outputs in context.outputs.items()
        }
        await self.keeper.checkpoint(self.session.page)

    # -- inputs and outputs ----------------------------------------------------------------------

    async def _inputs(self, run: Run, given: Mapping[str, Any]) -> dict[str, Any]:
        session, task = self.session, run.task
        values = await resolve_inputs(
            task,
        run.fixed = frozenset(given)
        built_ins = session.context.built_ins(
            website_id=session.website.website_id,
            base_url=session.base_url,
            screen_id=session.screen_id,
            url=session.page.url,
        )
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

    async def scrape(self, rule: ValueRule) -> Any:
        """Read an input off the site: on the open page, or on its screen in a tab of its own."""
        if rule.extraction is None:
            return MISSING
        if rule.screen_id is None or rule.screen_id == self.session.screen_id:
            return await self.read(rule.extraction, {})
        async with self.elsewhere() as other:
            await other.guide.go_to(rule.screen_id, method="direct_url")
            return await other.read(rule.extraction, {})

    async def read(self, rule: Extraction, values: Mapping[str, Any]) -> Any:
        """What a rule reads on the page now; `MISSING` where it finds nothing."""
        elements = {name: e.selector for name, e in (await self.session.elements()).items()}
        return await extract(rule, self.session.page, values, elements)

    async def read_outputs(self, run: Run, after: str | None) -> None:
        """The outputs due after that step (None: at the end) into the run, kept the moment they exist."""
        for output in run.task.io_spec.outputs:
            if output.after_step != after or output.name in run.outputs:
                continue  # what was read stays: a second look may be at something else
            value = run.given.get(output.name, MISSING)
            if value is MISSING:
                value = await self.read(output.extraction, {**run.values, **run.outputs})
            if value is MISSING:
                if output.required and run.seen_elsewhere is None:
                    raise StepFailed(
                        f"output {output.name!r} was not found", error="extraction_failed", acted=True
                    )
                continue
            if output.secret:
                self.session.context.keep_secret(value)
            run.outputs[output.name] = value
            run.values[output.name] = value

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
