"""One step of a task: left out or not, its preconditions, the action, what must hold afterwards, and
what is done where it failed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agent.engine.calls import fill_call, fill_conditions, is_idempotent
from agent.engine.doubting import Again, Doubt
from agent.engine.iterate import run_iterator
from agent.engine.running import Run
from agent.engine.undoing import read_former
from agent.errors import (
    AgentError,
    InputMissing,
    KnowledgeUnavailable,
    NotInKnowledge,
    NotKept,
    PersonNeeded,
    SiteUnreachable,
    StepFailed,
    ValueRefused,
    touched_the_page,
)
from agent.events import StepEnded, StepStarted
from agent.page.errors import PageError, PageGone
from agent.recovering.cases import Outcome
from agent.recovering.checking import check_step, check_task, left_out_for_certain
from agent.recovering.recovering import Mending
from agent.recovering.remedying import Remedying
from agent.recovering.rules import Remedy
from agent.telemetry import span
from kb_schema import vocabulary
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.evaluation import passed
from kb_schema.probes import Status, Verdict
from kb_schema.read_backs import Happened
from kb_schema.runs import StepRecord, StepStatus
from kb_schema.screens import Affordance
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.engine.engine import Engine

DEFAULT_ATTEMPTS = 2
"""Of a step that no rule is for, whose failure left the page untouched or whose action may be repeated."""
PRECONDITION_S = 1.5
"""How long a hard precondition may take to come true: the page may still be drawing."""
CONFIRM_S = 10.0
"""How long postconditions may take to come true after an action."""
COMPOSITE = frozenset({"run_task", "execute_iterator"})
"""Steps made of other steps: each of those is kept by itself."""
FINAL = (InputMissing, PersonNeeded, PageGone, NotInKnowledge, SiteUnreachable, KnowledgeUnavailable, NotKept)
"""Errors that no further attempt mends."""


class _LeftOut(Exception):
    """A rule of the knowledge says to go on without the step."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What one look before a step showed."""

    skip: list[Verdict]
    needed: list[tuple[BaseCondition, Verdict]]
    covered: bool
    """Something lies over the page that the website knows how to close."""


class Steps:
    """Carries out steps for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session = engine.session
        self.doubt = Doubt(engine)
        self.under_way: list[str] = []
        """Tasks that run now, the outermost first: none of them is a remedy for its own troubles."""
        self.refused: ValueRefused | None = None
        """The last value that was refused: a loop passes over an item that it was of, where it is told to."""
        self.remedying = Remedying(engine)
        self._mendings: WeakKeyDictionary[Run, dict[str, Mending]] = WeakKeyDictionary()
        """What was tried for steps that have not come off yet, also where one went back for them."""

    async def run(self, run: Run, index: int) -> None:
        """The step of that index, to its end, whatever that is. Raises what makes the task fail, and
        `Again`.
        """
        step = run.steps[index]
        told = {"task_id": run.task.task_id, "step_id": step.step_id, "action": step.action.canonical_type}
        with span("step", **told):
            await self._run(run, index)

    async def _run(self, run: Run, index: int) -> None:
        session, step, started = self._session, run.steps[index], time.monotonic()
        action_type = step.action.canonical_type
        if index == 0:
            await self._check_values(run)
        session.bus.tell(
            StepStarted(
                run.task.task_id, step.step_id, index + 1, len(run.steps), action_type,
                session.context.redact(step.action.narration), run.depth,
            )
        )  # fmt: skip
        status, error = StepStatus.DONE, None
        verdicts: list[Verdict] = []
        repeatable = await self.repeatable(step)
        self._engine.place = run.key(step)
        self.under_way.append(run.task.task_id)
        try:
            came_out = await self._unless_left_out(run, index, repeatable=repeatable)
            if came_out is None:
                status = StepStatus.SKIPPED
            else:
                verdicts = came_out
                await self._engine.read_outputs(run, after=step.step_id)
                await self._engine.companion.after_step(run.task, step, run.values)
        except Again as again:
            status, error = StepStatus.FAILED, session.context.redact(again.reason)
            raise
        except _LeftOut as left:
            status, error = StepStatus.SKIPPED, session.context.redact(str(left))
        except (AgentError, PageError) as exc:
            error = session.context.redact(str(exc))
            self.refused = exc if isinstance(exc, ValueRefused) else self.refused
            if step.required and not step.can_skip:
                status = StepStatus.FAILED
                raise
            status = StepStatus.SKIPPED
        except BaseException as exc:
            status, error = StepStatus.FAILED, f"cut off ({type(exc).__name__})"
            raise
        finally:
            self.under_way.pop()
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

    async def _check_values(self, run: Run) -> None:
        try:
            await check_task(self._session, run)
        except ValueRefused as exc:
            self.refused = exc
            raise

    async def repeatable(self, step: TaskStep) -> bool:
        """Whether doing the step once more is the same as doing it once: as the step says, or its
        element's affordance, or its action.
        """
        if step.repeatable is not None:
            return step.repeatable
        return await self.harmless(step.action)

    async def harmless(self, call: ActionCall) -> bool:
        """Whether doing that once more is the same as doing it once, as its element's affordance says, or
        its action.
        """
        document = await self._session.knowledge.action(call.action_type)
        if is_idempotent(call, document):
            return True
        if not isinstance(call.target, str) or self._session.screen_id is None:
            return False
        element = (await self._session.elements()).get(call.target)
        affordances = () if element is None else element.affordances
        return any(
            affordance.idempotent
            for affordance in affordances
            if vocabulary.canonical(affordance.action_type) == call.canonical_type
        )

    # -- attempts --------------------------------------------------------------------------------

    async def _unless_left_out(self, run: Run, index: int, *, repeatable: bool) -> list[Verdict] | None:
        """The step, unless one of its `skip_when` holds: then None. They are judged in the same look as
        what must hold before the step.
        """
        step = run.steps[index]
        if left_out_for_certain(step, run.values):
            return None
        skip = fill_conditions(step.skip_when, run.values)
        before = await self._look_before(run, step, skip)
        if any(verdict.held for verdict in before.skip):
            return None
        return await self._attempts(run, index, before, repeatable=repeatable)

    async def _attempts(self, run: Run, index: int, before: _Before, *, repeatable: bool) -> list[Verdict]:
        """Carry the step out, again where that is safe and its rules allow (KS 9.7)."""
        step, mendings = run.steps[index], self._mendings.setdefault(run, {})
        mending = mendings.setdefault(step.step_id, Mending(self._engine, run, index))
        if (
            repeatable
            and run.again.get(step.step_id)
            and (verdicts := await self.doubt.holds_by_now(run, step))
        ):
            return verdicts
        first: _Before | None = before
        while True:
            run.contradicted = False  # of an attempt that failed and was made good
            try:
                verdicts = await self._attempt(run, step, first, repeatable=repeatable)
            except FINAL:
                raise
            except (AgentError, PageError) as exc:
                mended = await self._mend(mending, run, index, exc, repeatable=repeatable)
                if mended is not None:
                    run.contradicted = False
                    run.proven = run.proven or any(verdict.held for verdict in mended)
                    mendings.pop(step.step_id, None)
                    return mended
            else:
                mendings.pop(step.step_id, None)
                return verdicts
            first = None

    async def _mend(
        self, mending: Mending, run: Run, index: int, error: AgentError | PageError, *, repeatable: bool
    ) -> list[Verdict] | None:
        """What is done about a failure: the knowledge's recoveries, else one more try where that is safe.

        Returns where the step came about after all, None where it is to be tried again. Raises the error
        where nothing is left, `Again`, `_LeftOut`, and `PersonNeeded` where it may have happened and
        nothing tells.
        """
        step, touched = run.steps[index], touched_the_page(error)
        composite, refused = step.action.canonical_type in COMPOSITE, False
        if touched and not repeatable and not composite:
            happened = await self.doubt.settled(run, step, error)
            if happened is not None:
                return happened
            refused = True
        within = composite and touched
        if within and run.path is None:
            raise error  # what it did is written down nowhere: nothing of it is done again
        outcome, remedy = await mending.mend(error, own_only=within)
        match outcome:
            case Outcome.NO_HELP if refused or within or mending.attempts > DEFAULT_ATTEMPTS:
                raise mending.told(error) from error
            case Outcome.STOP if refused and remedy is not None:
                raise PersonNeeded(str(mending.told(error)), hint="give other values") from error
            case Outcome.STOP:
                raise mending.told(error) from error
            case Outcome.SKIP:
                raise _LeftOut(str(error))
            case Outcome.DONE:
                return await self.doubt.holds_by_now(run, step)
            case Outcome.BACK:
                raise Again(str(error)) from error
        if remedy is not None and remedy.retry_step is not None:
            await self._from_step(run, index, remedy, error)
        await self._repair(step)
        if touched and (verdicts := await self.doubt.holds_by_now(run, step)):
            return verdicts
        _, screen_id = run.place(index)
        if screen_id is not None and self._session.screen_id != screen_id:
            raise Again(f"{error}; the page is not {screen_id} any more") from error
        return None

    async def _from_step(self, run: Run, index: int, remedy: Remedy, error: AgentError | PageError) -> None:
        """On from the step that a rule names, where that is an earlier one. What was done since then and
        may not be repeated is only done again where the site says that it did not happen.
        """
        ids = [step.step_id for step in run.steps]
        start = ids.index(remedy.retry_step) if remedy.retry_step in ids else index
        if start >= index:
            return
        since = [run.frame.done.get(step_id) for step_id in ids[start:index]]
        if any(d is not None and not d.repeatable and d.record.status is StepStatus.DONE for d in since):
            effect = await self._engine.effects.happened(run, lambda: self._engine.resuming.sign_in(run))
            if effect.status is not Happened.DID_NOT_HAPPEN:
                raise error
        run.back_to(start)
        raise Again(str(error), index=start) from error

    async def _repair(self, step: TaskStep) -> None:
        """Between two attempts: out of the way what covers the page, back to a known screen."""
        session, engine = self._session, self._engine
        await engine.dismiss_overlays()
        found = await session.look_for(timeout_s=1.0)
        if found.screen_id is None:
            await engine.guide.recover()
        wanted = next((c.screen_id for c in step.preconditions if c.type == "on_screen"), None)
        if wanted is not None and session.screen_id != wanted:
            await engine.guide.go_to(wanted)

    async def _attempt(
        self, run: Run, step: TaskStep, before: _Before | None, *, repeatable: bool
    ) -> list[Verdict]:
        engine = self._engine
        before = before or await self._look_before(run, step)
        if await self._ensure(run, before) or before.covered:
            await engine.dismiss_overlays()
        step = await self._with_promises(step)
        conditions = step.postconditions + ((step.validation,) if step.validation else ())
        engine.actions.expect(fill_conditions(conditions, run.values))
        if isinstance(step.action.target, str) and step.action.value is not None:
            check_step(step, (await self._session.elements()).get(step.action.target), run.values)
        await engine.companion.before_step(run.task, step, run.values)
        await read_former(engine, run, step)
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

    async def _look_before(self, run: Run, step: TaskStep, skip: tuple[BaseCondition, ...] = ()) -> _Before:
        """Everything that is asked before a step, in one look: whether to leave it out, what must hold (of
        the step, and of what its element affords), and what lies over the page.
        """
        values, session = run.values, self._session
        needed = fill_conditions(step.preconditions + await self._afforded(step), values)
        overlays = tuple(overlay.present_when for overlay in session.website.overlays)
        verdicts = iter(await session.judge([*skip, *needed, *overlays], values))
        skipped = [next(verdicts) for _ in skip]
        return _Before(skipped, [(c, next(verdicts)) for c in needed], any(v.held for v in verdicts))

    async def _affordances(self, step: TaskStep) -> tuple[Affordance, ...]:
        """What the knowledge says of doing that with the step's element (KS 4.1). Of elements with
        parameters nothing is asked before they are filled in.
        """
        session = self._session
        if not isinstance(step.action.target, str) or session.screen_id is None:
            return ()
        element = (await session.elements()).get(step.action.target)
        if element is None or element.selector.parameterized:
            return ()
        return tuple(
            affordance
            for affordance in element.affordances
            if vocabulary.canonical(affordance.action_type) == step.action.canonical_type
        )

    async def _afforded(self, step: TaskStep) -> tuple[BaseCondition, ...]:
        """What must hold before that is done with the element, unless the step says it itself."""
        said = {condition.type for condition in step.preconditions}
        return tuple(
            condition
            for affordance in await self._affordances(step)
            for condition in affordance.preconditions
            if condition.type not in said
        )

    async def _with_promises(self, step: TaskStep) -> TaskStep:
        """The step, which brings about what its element affords where it does not say what itself."""
        if step.postconditions or step.validation or step.acceptable_outcomes:
            return step
        promised = [
            each for affordance in await self._affordances(step) for each in affordance.postconditions
        ]
        return step.model_copy(update={"postconditions": tuple(promised)})

    async def _ensure(self, run: Run, before: _Before) -> bool:
        """What must hold does, or is remediated where it is soft (KS 9.11); whether anything was done.

        Raises `StepFailed` with the type of what does not hold, or cannot be evaluated.
        """
        done = False
        for condition, first in before.needed:
            if first.held:
                continue
            if condition.hard_dependency:
                (verdict,) = await self._session.judge_until_held(
                    [condition], run.values, timeout_s=PRECONDITION_S
                )
            elif condition.auto_remediate:
                verdict = await self.remediate(run, condition)
                done = True
            else:
                continue  # soft, and nothing to be done about it: the step may try (KS 9.11)
            if not verdict.held and await self._engine.actions.find_again([condition]):
                (verdict,) = await self._session.judge([condition], run.values)
            if not verdict.held:
                word = "could not be evaluated" if verdict.status is Status.UNKNOWN else "does not hold"
                raise StepFailed(
                    f"precondition {condition.type} {word}: {verdict.evidence}", error=condition.type
                )
        return done

    async def remediate(self, run: Run, condition: BaseCondition) -> Verdict:
        """A soft condition's own task or action; how it comes out then. Raises `StepFailed`."""
        return await self.remedying.remedy(condition, run.values, run.depth)

    async def confirm(self, run: Run, conditions: Sequence[BaseCondition], what: str) -> list[Verdict]:
        """All conditions hold within their time; raises `StepFailed` otherwise."""
        filled = fill_conditions(tuple(conditions), run.values)
        if not filled:
            return []
        verdicts = await self._session.judge_until_held(filled, run.values, timeout_s=CONFIRM_S)
        astray = [each for each, verdict in zip(filled, verdicts, strict=True) if not passed(each, verdict)]
        if astray and await self._engine.actions.find_again(astray):
            verdicts = await self._session.judge(filled, run.values)
        for condition, verdict in zip(filled, verdicts, strict=True):
            if not passed(condition, verdict):
                run.contradicted = run.contradicted or verdict.status is not Status.UNKNOWN
                word = {Status.UNKNOWN: "could not be evaluated", Status.HELD: "holds"}.get(
                    verdict.status, "does not hold"
                )
                raise StepFailed(
                    f"{what} {condition.type} {word}: {verdict.evidence}", error="postcondition", acted=True
                )
        run.proven = run.proven or any(verdict.held for verdict in verdicts)
        return verdicts
