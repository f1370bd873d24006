"""Runs one step of a task: preconditions, action, postconditions, and recoveries if it fails."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agent import retry_limits
from agent.browser.browser_life import is_alive
from agent.errors import (
    AgentError,
    InputMissing,
    JournalWriteRefused,
    KnowledgeUnavailable,
    OtherThingOpened,
    PersonNeeded,
    SiteUnreachable,
    StepFailed,
    StepRefused,
    UnknownToKnowledge,
    ValueRefused,
    touched_the_page,
)
from agent.events import StepEnded, StepStarted
from agent.execution.asked_addresses import read_asked_address
from agent.execution.call_templates import COMPOSITE_ACTIONS, fill_call, fill_conditions, is_idempotent
from agent.execution.effects.person_handover import hand_over_before_press
from agent.execution.effects.refusal_watch import STORED_AT_ONCE, RefusalWatch, RefusedChoices
from agent.execution.effects.uncertain_effects import (
    EarlierStepsNeeded,
    UncertainEffects,
    build_uncertain_step_error,
)
from agent.execution.effects.undo import read_former_value
from agent.execution.loops.iterators import run_iterator
from agent.execution.missing_sign_in import MissingSignIn
from agent.execution.page_complaints import read_complaint, read_signs
from agent.execution.recovery.precondition_remedies import PreconditionRemedies
from agent.execution.recovery.recovery_registry import RecoveryOutcome
from agent.execution.recovery.recovery_rules import Remedy
from agent.execution.recovery.recovery_runner import StepRecoveries
from agent.execution.step_conditions import PageBeforeStep, StepConditions
from agent.execution.task_run import TaskRun
from agent.execution.values.value_validation import check_step_value, check_task_values, is_certainly_skipped
from agent.healing.element_memory import StepTarget
from agent.page.errors import ChoiceInDoubt, OptionMissing, PageError, PageGone
from agent.page.page_writes import watch_writes
from agent.telemetry import span
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition, OnScreen
from kb_schema.probes import Verdict
from kb_schema.read_backs import ReadBackStatus
from kb_schema.run_records import StepRecord, StepStatus
from kb_schema.selectors import Selector
from kb_schema.tasks import DRAFT, TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution

PRECONDITION_S = 1.5
"""Seconds a hard precondition may take to hold: the page may still be loading."""
CONFIRM_S = 10.0
"""Seconds postconditions may take to hold after an action."""
FINAL = (
    InputMissing,
    PersonNeeded,
    PageGone,
    UnknownToKnowledge,
    SiteUnreachable,
    KnowledgeUnavailable,
    JournalWriteRefused,
    OtherThingOpened,
)
"""Errors that retrying cannot fix."""


_AGREED = "the page asked {!r} and was answered yes, as allowed"
PRESSES = frozenset({"click", "double_click", "right_click", "drag", "press"})
"""Actions after which a page complains of what was entered."""


class _StepSkipped(Exception):
    """A rule of the knowledge base says to go on without the step."""


class _AlreadyDone(Exception):
    """The page shows that what the step is for is so already."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        super().__init__("already so")
        self.verdicts = verdicts


class StepRunner:
    """Runs steps for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine
        self._session = engine.session
        self._uncertain = UncertainEffects(engine)
        watch_writes(self._session.page)  # what the page sends on its own is known before the first press
        self.under_way: list[str] = []
        """Tasks that run now, outermost first: none of them is used as a remedy within itself."""
        self.refused: ValueRefused | None = None
        """The last value that a field refused: a loop with `on_error: skip` passes over the item it belongs
        to.
        """
        self._remedies = PreconditionRemedies(engine)
        self._conditions = StepConditions(engine)
        self._refused_choices = RefusedChoices()
        self._missing_sign_in = MissingSignIn(engine)
        self._recoveries: WeakKeyDictionary[TaskRun, dict[str, StepRecoveries]] = WeakKeyDictionary()
        """Recoveries tried for steps that are not done yet, also after going back to an earlier step."""

    async def run(self, run: TaskRun, index: int) -> None:
        """Run the step of that index to its end. Raises what makes the task fail, and `EarlierStepsNeeded`."""
        step = run.steps[index]
        attributes = {
            "task_id": run.task.task_id,
            "step_id": step.step_id,
            "action": step.action.canonical_type,
        }
        with span("step", **attributes):
            await self._run(run, index)

    async def _run(self, run: TaskRun, index: int) -> None:
        session, step, started = self._session, run.steps[index], time.monotonic()
        action_type = step.action.canonical_type
        if index == 0:
            await self._check_values(run)
        session.bus.tell(
            StepStarted(
                run.task.task_id,
                step.step_id,
                index + 1,
                len(run.steps),
                action_type,
                session.context.redact(step.action.narration),
                run.depth,
            )
        )
        status, error = StepStatus.DONE, None
        verdicts: list[Verdict] = []
        repeatable = await self.repeatable(step)
        self._engine.place = run.key(step)
        self.under_way.append(run.task.task_id)
        try:
            came_out = await self._run_unless_skipped(run, index, repeatable=repeatable)
            if came_out is None:
                status = StepStatus.SKIPPED
            else:
                verdicts = came_out
                await self._engine.read_outputs(run, after=step.step_id)
                await self._engine.observer.after_step(run.task, step, run.values)
        except EarlierStepsNeeded as again:
            status, error = StepStatus.FAILED, session.context.redact(again.reason)
            raise
        except _AlreadyDone as so:
            status, verdicts = StepStatus.SKIPPED, so.verdicts
        except _StepSkipped as left:
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
                    evidence=(
                        *(session.context.redact(v.evidence) for v in verdicts),
                        *(
                            session.context.redact(_AGREED.format(each))
                            for each in self._engine.actions.agreed
                        ),
                    ),
                    error=error,
                ),
                session.page.url,
                repeatable=repeatable,
            )
            session.bus.tell(StepEnded(run.task.task_id, step.step_id, status, duration_ms, error))
        key = run.key(step)
        if key is not None:
            self._engine.checkpoints.state.forget(key)
            await self._engine.keep(run)

    async def _check_values(self, run: TaskRun) -> None:
        try:
            await check_task_values(self._session, run)
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
            if action_types.canonical(affordance.action_type) == call.canonical_type
        )

    # -- attempts --------------------------------------------------------------------------------

    async def _run_unless_skipped(
        self, run: TaskRun, index: int, *, repeatable: bool
    ) -> list[Verdict] | None:
        """Run the step unless one of its `skip_when` holds, or all of its `already_done_when`; return None then.

        The conditions are judged in the same look as the preconditions.
        """
        step = run.steps[index]
        if is_certainly_skipped(step, run.values):
            return None
        skip = fill_conditions(step.skip_when, run.values)
        before = await self._conditions.judge_before(run, step, skip)
        if any(verdict.held for verdict in before.skip):
            return None
        refused = self._refused_choices.has(run, step)  # then the page's own state tells nothing
        if not refused and (shown := await self._conditions.find_already_done(run, step)):
            self._session.presses.already = True
            run.proven = True
            raise _AlreadyDone(shown)
        return await self._attempts(run, index, before, repeatable=repeatable)

    async def _attempts(
        self, run: TaskRun, index: int, before: PageBeforeStep, *, repeatable: bool
    ) -> list[Verdict] | None:
        """Run the step, again if that is safe and its rules allow (KS 9.7). Returns None if what it is skipped for came about
        meanwhile: a page may go on by itself when a field is left.
        """
        step, tried_recoveries = run.steps[index], self._recoveries.setdefault(run, {})
        recoveries = tried_recoveries.setdefault(step.step_id, StepRecoveries(self._engine, run, index))
        if (
            repeatable
            and run.again.get(step.step_id)
            and (verdicts := await self._uncertain.holds_by_now(run, step))
        ):
            return verdicts
        first: PageBeforeStep | None = before
        while True:
            run.contradicted = False  # left over from a failed attempt
            try:
                verdicts = await self._attempt(run, step, first, repeatable=repeatable)
            except FINAL:
                raise
            except (AgentError, PageError) as exc:
                if step.step_id not in run.complaints:  # before a recovery changes the page
                    run.complaints[step.step_id] = await read_complaint(self._session)
                if self._engine.alone is not None:
                    self._engine.alone.note(exc, run.complaints[step.step_id])
                    raise
                if not touched_the_page(exc) and await self._is_skipped_by_now(run, step):
                    return None
                verdicts_now = await self._recover(recoveries, run, index, exc, repeatable=repeatable)
                if verdicts_now is not None:
                    run.contradicted = False
                    run.proven = run.proven or any(verdict.held for verdict in verdicts_now)
                    tried_recoveries.pop(step.step_id, None)
                    run.complaints.pop(step.step_id, None)
                    return verdicts_now
            else:
                tried_recoveries.pop(step.step_id, None)
                run.complaints.pop(step.step_id, None)
                return verdicts
            first = None

    async def _is_skipped_by_now(self, run: TaskRun, step: TaskStep) -> bool:
        """Whether one of the step's `skip_when` holds."""
        skip = fill_conditions(step.skip_when, run.values)
        return bool(skip) and any(
            each.held for each in (await self._conditions.judge_before(run, step, skip)).skip
        )

    async def _recover(
        self,
        recoveries: StepRecoveries,
        run: TaskRun,
        index: int,
        error: AgentError | PageError,
        *,
        repeatable: bool,
    ) -> list[Verdict] | None:
        """Handle a failure: apply the knowledge base's recoveries, else allow one more attempt if that is
        safe.

        Returns the verdicts if the step took effect after all, None if it is to be tried again. Raises the
        error if nothing is left to try, `EarlierStepsNeeded`, `_StepSkipped`, and `PersonNeeded` if the step
        may have happened and nothing can tell.
        """
        step, touched = run.steps[index], touched_the_page(error)
        _require_certainty(run, index, error)
        composite = step.action.canonical_type in COMPOSITE_ACTIONS
        # A refusal is the same again, also of a choice, and a list without the option has been waited for.
        refused = isinstance(error, OptionMissing) or (
            isinstance(error, StepRefused) and not error.server_error
        )
        if touched and not repeatable and not composite:
            happened = await self._uncertain.settled(run, step, error)
            if happened is not None:
                return happened
            refused = True
        if not touched:
            await self._missing_sign_in.sign_in(run, index, error)
        within = composite and touched
        if within and run.path is None:
            raise error  # there is no record of what it did, so nothing is repeated
        outcome, remedy = await recoveries.recover(error, own_only=within)
        match outcome:
            case RecoveryOutcome.NO_HELP if (
                refused or within or recoveries.attempts > retry_limits.STEP_ATTEMPTS
            ):
                raise recoveries.add_page_messages(error) from error
            case RecoveryOutcome.STOP if refused and remedy is not None:
                raise PersonNeeded(
                    str(recoveries.add_page_messages(error)), hint="give other input values"
                ) from error
            case RecoveryOutcome.STOP:
                raise recoveries.add_page_messages(error) from error
            case RecoveryOutcome.SKIP:
                raise _StepSkipped(str(error))
            case RecoveryOutcome.DONE:
                return await self._uncertain.holds_by_now(run, step)
            case RecoveryOutcome.BACK:
                raise EarlierStepsNeeded(str(error)) from error
        if remedy is not None and remedy.retry_step is not None:
            await self._from_step(run, index, remedy, error)
        reopened = await self._repair_or_fail(recoveries, run, index, error)
        if touched and (verdicts := await self._uncertain.holds_by_now(run, step)):
            return verdicts
        self._require_place(run, index, error, reopened=reopened)
        return None

    def _require_place(
        self, run: TaskRun, index: int, error: AgentError | PageError, *, reopened: bool
    ) -> None:
        """Raise `EarlierStepsNeeded` if the page is not as the earlier steps left it.

        The step's own screen is right, too: the page may have come to it while the step waited.
        """
        _, screen_id = run.place(index)
        if self._session.screen_id in _list_stated_screens(run.steps[index]):
            screen_id = self._session.screen_id
        if screen_id is not None and self._session.screen_id != screen_id:
            raise EarlierStepsNeeded(f"{error}; the page is not {screen_id} any more") from error
        if reopened and index > 0 and screen_id is not None:
            raise EarlierStepsNeeded(f"{error}; {screen_id} was opened again") from error

    async def _from_step(
        self, run: TaskRun, index: int, remedy: Remedy, error: AgentError | PageError
    ) -> None:
        """Go back to the earlier step that a rule names.

        Steps since then that must not be repeated are only repeated if the website shows that they did not
        happen.
        """
        ids = [step.step_id for step in run.steps]
        start = ids.index(remedy.retry_step) if remedy.retry_step in ids else index
        if start >= index:
            return
        since = [run.frame.done.get(step_id) for step_id in ids[start:index]]
        if any(d is not None and not d.repeatable and d.record.status is StepStatus.DONE for d in since):
            effect = await self._engine.effects.happened(run, lambda: self._engine.resumption.sign_in(run))
            if effect.status is not ReadBackStatus.DID_NOT_HAPPEN:
                raise error
        run.back_to(start)
        raise EarlierStepsNeeded(str(error), index=start) from error

    async def _repair_or_fail(
        self, recoveries: StepRecoveries, run: TaskRun, index: int, error: AgentError | PageError
    ) -> bool:
        """Repair the page; raise the step's own error if that fails: a failed recovery is not its reason."""
        try:
            return await self._repair(run, index)
        except FINAL:
            raise
        except (AgentError, PageError) as exc:
            raise recoveries.add_page_messages(error) from exc

    async def _repair(self, run: TaskRun, index: int) -> bool:
        """Between two attempts: close overlays, return to a known screen and to the screen of the step. Return
        whether that screen was opened again: what earlier steps filled in there is lost.

        A page on which no screen was known before, and which has the same address, is left as it is.
        """
        session, engine = self._session, self._engine
        url, screen_id = run.place(index)
        wanted = next(iter(_list_stated_screens(run.steps[index])), None)
        await engine.dismiss_overlays()
        with session.entries.guarded():
            found = await session.look_for(timeout_s=1.0)
            if found.screen_id is None and wanted is None and screen_id is None and session.page.url == url:
                return False
            if found.screen_id is None:
                await engine.guide.recover()
            if wanted is None or session.screen_id == wanted:
                return False
            await engine.guide.go_to(wanted)
        return True

    async def _attempt(
        self, run: TaskRun, step: TaskStep, before: PageBeforeStep | None, *, repeatable: bool
    ) -> list[Verdict]:
        engine = self._engine
        before = before or await self._conditions.judge_before(run, step)
        if await self._conditions.ensure(run, step, before, timeout_s=PRECONDITION_S) or before.covered:
            await engine.dismiss_overlays()
        step = await self._conditions.add_promised_postconditions(step)
        conditions = step.postconditions + ((step.validation,) if step.validation else ())
        engine.actions.expect(fill_conditions(conditions, run.values), _read_target(run, step))
        if isinstance(step.action.target, str) and step.action.value is not None:
            check_step_value(step, (await self._session.elements()).get(step.action.target), run.values)
        await engine.observer.before_step(run.task, step, run.values)
        await read_former_value(engine, run, step)
        entry = None
        if not repeatable:
            self._check_opened(run)
            run.proven = False  # earlier evidence says nothing about this attempt
            if step.action.canonical_type not in COMPOSITE_ACTIONS:
                entry = await self._begin_journal_entry(run, step)
        await engine.refresh(run, step)
        kind = step.action.canonical_type
        watched = kind in STORED_AT_ONCE if repeatable else kind not in COMPOSITE_ACTIONS
        watch = RefusalWatch(engine, run, step, repeatable=repeatable) if watched else None
        if run.entered is not None:
            await run.entered.before_step(self._session.page, step, self._find_typed(run, step), run.asked)
        try:
            verdicts = await self._act_and_judge(run, step, watch)
            if run.entered is not None and not repeatable:
                await run.entered.after_press(self._session.page)
            if kind == "navigate":
                run.asked = read_asked_address(step.action.url, run.values)
        except PageGone as gone:
            if entry is not None and self._is_page_closed():
                reason = "the page was closed after it"
                raise build_uncertain_step_error(run, step, str(gone), reason) from gone
            raise
        finally:
            if watch is not None:
                watch.end()
        if entry is not None:
            await engine.checkpoints.conclude(entry, "happened")
        return verdicts

    def _check_opened(self, run: TaskRun) -> None:
        """Raise `OtherThingOpened` if a drafted task is on the page of another thing than the one whose address it opened.

        A draft has no condition that tells. Recorded tasks have theirs.
        """
        url = self._session.page.url
        other = (
            run.asked.find_other_thing(url) if run.asked is not None and DRAFT in run.task.metadata else None
        )
        if run.asked is not None and other is not None:
            raise OtherThingOpened(run.asked.address, url, *other)

    def _is_page_closed(self) -> bool:
        """Whether the page is closed in a browser that goes on: a window for one form closes itself when that was sent."""
        page = self._session.page
        return page.is_closed() and page.context.browser is not None and is_alive(page.context.browser)

    def _find_typed(self, run: TaskRun, step: TaskStep) -> Any:
        """Return the text that a step types, if it is not secret."""
        if step.action.canonical_type != "fill":
            return None
        value = fill_call(step.action, run.values).value
        return value if self._session.context.redact(value) == value else None

    async def _act_and_judge(self, run: TaskRun, step: TaskStep, watch: RefusalWatch | None) -> list[Verdict]:
        """Perform the action and judge what it brought about. Raises `StepRefused` if the page refuses it."""
        engine, before = self._engine, None
        if watch is not None:
            before = await watch.begin()
        else:
            watch_writes(self._session.page).do_something_else()
            if step.action.canonical_type in PRESSES:
                before = await hand_over_before_press(self._session, await read_signs(self._session.page))
        if step.action.canonical_type == "execute_iterator":
            await run_iterator(engine, run, step.step_id)
        elif step.action.canonical_type == "run_task" and step.action.task_id:
            await self._call_task(run, step)
        else:
            await engine.actions.perform(step.action, run.values)
        if before is not None:
            self._session.before_press = before
        try:
            if watch is not None:
                await self._raise_refusal(run, step, watch)
            verdicts = await engine.outcomes.step(run, step, engine.resilience.policy(run))
        except StepFailed as exc:
            await engine.actions.settle(held=False)
            if engine.actions.replaced and not isinstance(exc, StepRefused):
                # Else the failure of the step's own action is told nowhere.
                exc.args = (f"{exc}; {engine.actions.replaced}",)
            if watch is not None and not isinstance(exc, StepRefused):
                await watch.raise_late_refusal(())
            raise
        await engine.actions.settle(held=True if verdicts else None)
        if watch is not None:
            await watch.raise_late_refusal(verdicts)
        return verdicts

    async def _raise_refusal(self, run: TaskRun, step: TaskStep, watch: RefusalWatch) -> None:
        """Raise `StepRefused` if the application refused the step, or refused it before and nothing was sent since."""
        stored_at_once = step.action.canonical_type in STORED_AT_ONCE
        try:
            await watch.raise_refusal()
        except StepRefused as exc:
            if stored_at_once:
                self._refused_choices.note(run, step, exc)
            raise
        if stored_at_once:
            self._refused_choices.settle(run, step, sent=watch.sent)

    async def _begin_journal_entry(self, run: TaskRun, step: TaskStep) -> str | None:
        """Write the journal entry of the step, with a baseline that tells later whether it happened. Raises
        `JournalWriteRefused`.
        """
        await self._engine.effects.look_before(run)
        key = run.key(step)
        if key is None:
            return None
        await self._engine.keep(run)
        return await self._engine.checkpoints.begin(key, step.action.canonical_type, {"step": step.step_id})

    async def _call_task(self, run: TaskRun, step: TaskStep) -> None:
        inputs = fill_call(step.action, run.values).inputs
        task_id = step.action.task_id or ""
        result = await self._engine.sub_task(task_id, inputs, run.depth)
        run.note_part(result.evidence)
        declared = {spec.name for spec in run.task.io_spec.inputs}
        outputs = self._session.context.outputs.get(task_id, {})
        run.values.update({name: value for name, value in outputs.items() if name not in declared})

    # -- conditions ------------------------------------------------------------------------------

    async def remediate(self, run: TaskRun, condition: BaseCondition) -> Verdict:
        """Apply a soft condition's remedy and return its new verdict. Raises `StepFailed`."""
        return await self.remedy(condition, run.values, run.depth)

    async def remedy(self, condition: BaseCondition, values: Mapping[str, Any], depth: int) -> Verdict:
        """Run a soft precondition's own task or action and judge the condition again. Raises `StepFailed`."""
        return await self._remedies.remedy(condition, values, depth)

    async def holds_by_now(self, run: TaskRun, step: TaskStep) -> list[Verdict]:
        """The verdicts of the step's postconditions if all of them hold now, else an empty list."""
        return await self._uncertain.holds_by_now(run, step)

    async def confirm(self, run: TaskRun, conditions: Sequence[BaseCondition], what: str) -> list[Verdict]:
        """Wait until all conditions hold; return the verdicts. Raises `StepFailed` if they do not hold in
        time.
        """
        timeout_s = CONFIRM_S if self._engine.alone is None else self._engine.alone.confirm_s
        return await self._conditions.confirm(run, conditions, what, timeout_s=timeout_s)


def _read_target(run: TaskRun, step: TaskStep) -> StepTarget | None:
    """Return what the step names by its own selector."""
    target = step.action.target
    if not isinstance(target, Selector):
        return None
    return StepTarget(run.task.task_id, step.step_id, target, step.action.fingerprint)


def _require_certainty(run: TaskRun, index: int, error: AgentError | PageError) -> None:
    """Raise `PersonNeeded` for a choice that may be stored."""
    if isinstance(error, ChoiceInDoubt):
        raise PersonNeeded(
            f"step {run.steps[index].step_id!r} of {run.task.task_id!r} may or may not have happened: {error}",
            hint="look on the website which option is chosen, then start a new run",
        ) from error


def _list_stated_screens(step: TaskStep) -> list[str]:
    """Return the screens on which a step takes place by its own preconditions."""
    return [each.screen_id for each in step.preconditions if isinstance(each, OnScreen)]
