"""Returns to where steps can be repeated: after a crash with a new browser, or if a step did not happen.

A step that must not be repeated is never repeated here: steps up to the last such one that is done stay
done. The page returns to the last step that an address leads to, and values entered after it are entered
again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent.errors import AgentError, StepFailed
from agent.execution.call_templates import COMPOSITE_ACTIONS, can_start_anywhere
from agent.execution.effects.uncertain_effects import build_uncertain_step_error
from agent.execution.task_run import TaskRun
from agent.page.errors import PageError
from agent.session import ELSEWHERE_S, SETTLE_S
from kb_schema.conditions import OnScreen
from kb_schema.read_backs import ReadBackResult, ReadBackStatus
from kb_schema.run_records import StepRecord, StepStatus
from kb_schema.run_storage import JournalEntry
from kb_schema.tasks import TaskStep
from kb_schema.url_patterns import origin_of

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution


class RunResumption:
    """Finds the way back for the runs of one task runner."""

    def __init__(self, engine: TaskExecution, decided: ReadBackStatus | None = None) -> None:
        self._engine = engine
        self._decided = decided
        self._told_at: int | None = None
        """Presses of the run when a person said that a step had happened."""

    @property
    def told_happened(self) -> bool:
        """Whether a person said that the last press had happened: what its page showed then is not seen again."""
        return self._told_at == self._engine.session.presses.count

    async def enter(self, run: TaskRun) -> int:
        """Return the index of the step to begin with; the page is where that step begins."""
        engine, session = self._engine, self._engine.session
        index = run.frame.resumes_at(run.task)
        if not run.frame.url:  # a new run
            run.frame.url, run.frame.screen_id = session.page.url, session.screen_id
            return index
        if index < len(run.steps):
            step = run.steps[index]
            key = run.key(step)
            if key is None or (
                step.action.canonical_type in COMPOSITE_ACTIONS and engine.checkpoints.state.below(key)
            ):
                return index  # the steps inside it find their own way back
            if await self._already_happened(run, step, key):
                return index + 1
        elif run.frame.looked:  # only the end is missing, and its page may be gone
            effect = await engine.effects.happened(run, lambda: self.sign_in(run))
            if effect.status is ReadBackStatus.HAPPENED:
                await self.settle(run, run.steps[-1], effect)
                return index
        return await self._return_to(run, index)

    async def _already_happened(self, run: TaskRun, step: TaskStep, key: str) -> bool:
        """Whether the step was begun before the interruption, and happened."""
        engine = self._engine
        entry = engine.checkpoints.entry(key)
        if entry is None or entry.outcome == "did_not_happen":
            return False
        effect = await self._check_happened(run, step, entry)
        if effect.status is not ReadBackStatus.HAPPENED:
            await engine.checkpoints.conclude(entry.key, "did_not_happen")
            return False
        await self.settle(run, step, effect)
        run.note(_build_earlier_record(run, step, effect), engine.session.page.url, repeatable=False)
        return True

    async def _check_happened(self, run: TaskRun, step: TaskStep, entry: JournalEntry) -> ReadBackResult:
        """Return whether an action begun before the interruption happened. Raises `PersonNeeded`."""
        effect = await self._engine.effects.happened(run, lambda: self.sign_in(run))
        if entry.outcome == "happened":  # confirmed before; only the checkpoint is missing
            return ReadBackResult(ReadBackStatus.HAPPENED, "according to the journal", effect.row)
        if effect.status is ReadBackStatus.UNCLEAR and self._decided is not None:
            effect = ReadBackResult(self._decided, "a person decided")
            self.take_decision()
        if effect.status is ReadBackStatus.UNCLEAR:
            raise build_uncertain_step_error(run, step, "the run was interrupted during it", effect.reason)
        return effect

    def take_decision(self) -> ReadBackStatus | None:
        """Return a person's decision about an uncertain effect; once."""
        decided, self._decided = self._decided, None
        if decided is ReadBackStatus.HAPPENED:
            self._told_at = self._engine.session.presses.count
        return decided

    async def go_back(self, run: TaskRun, index: int, reason: str) -> int:
        """Go from a step that did not happen to the step to go on from. Raises `StepFailed` if it was tried
        too often.
        """
        step_id = run.steps[index].step_id
        run.again[step_id] = run.again.get(step_id, 0) + 1
        if not self._engine.resilience.may_go_back(run, run.steps[index]):
            raise StepFailed(f"step {step_id!r}: {reason}; tried {run.again[step_id]} times", acted=True)
        return await self.back_at(run, index)

    async def back_at(self, run: TaskRun, index: int) -> int:
        """Open the page where that step, or a harmless one before it, can begin; return its index. Raises
        `StepFailed` if there is none.
        """
        with self._engine.session.entries.guarded():
            return await self._return_to(run, index)

    async def settle(self, run: TaskRun, step: TaskStep, effect: ReadBackResult) -> None:
        """Record that a step happened although its page did not show it, and go where it leads."""
        engine, rule, key = self._engine, run.task.read_back, run.key(step)
        run.seen_elsewhere, run.proven, run.contradicted = effect.reason, True, False
        if rule is not None and effect.row is not None:
            run.given.update({name: effect.row.get(column) for name, column in rule.gives.items()})
        if key is not None:
            await engine.checkpoints.conclude(engine.checkpoints.latest(key), "happened")
        leads_to = next((c.screen_id for c in step.postconditions if isinstance(c, OnScreen)), None)
        with suppress(AgentError, PageError):  # the step is done; the page matters less
            if leads_to is None:
                index = run.steps.index(step)
                await self.is_at(run, *run.place(index))
            else:
                async with engine.without_checkpoints():
                    await engine.guide.go_to(leads_to)

    async def sign_in(self, run: TaskRun) -> bool:
        """Sign in, as the task itself would, if the website says that the session is signed out; return
        whether that was done.
        """
        engine = self._engine
        if not engine.session.website.authenticated_when:
            return False  # nothing can tell
        await engine.guide.open(engine.session.base_url)  # an error page does not show it
        await engine.session.look_for(timeout_s=SETTLE_S)
        if await engine.session.signed_in() is not False:
            return False
        for step in run.steps:
            for condition in step.preconditions:
                if condition.type == "authenticated" and condition.auto_remediate:
                    return (await engine.steps.remedy(condition, run.values, run.depth)).held
        return await self._sign_in_by_website_task(run)

    async def _sign_in_by_website_task(self, run: TaskRun) -> bool:
        engine = self._engine
        task_id = engine.session.website.login_task_id
        if task_id is None or task_id == run.task.task_id:
            return False
        async with engine.without_checkpoints():
            await engine.sub_task(task_id, {}, run.depth)
        return bool(await engine.session.signed_in())

    async def no_sign_in(self) -> bool:
        """For sessions that are certainly signed in."""
        return False

    # -- places ----------------------------------------------------------------------------------

    async def _return_to(self, run: TaskRun, index: int) -> int:
        """Return the latest step from which everything can be repeated that is not done before `index`."""
        for start in run.doors(index):
            if start < len(run.steps) and can_start_anywhere(run.steps[start].action):
                await self._engine.guide.arrive()  # its former page may be gone, for example a login page
                run.back_to(start)
                return start
            url, screen_id = run.place(start)
            if not url.startswith(("http://", "https://")) or await self.is_at(run, url, screen_id):
                run.back_to(start)
                return start
        where = run.steps[min(index, len(run.steps) - 1)].step_id
        raise StepFailed(
            f"cannot return to the page where step {where!r} begins",
            error="navigation_failed",
            acted=True,
        )

    async def is_at(self, run: TaskRun, url: str, screen_id: str | None) -> bool:
        """Open an address, signing in if necessary; return whether it shows the screen."""
        engine, session = self._engine, self._engine.session
        if origin_of(url) not in session.allowed_origins:
            return False
        for _ in range(2):
            await engine.guide.open(url)
            wanted = None if screen_id is None else [screen_id]
            found = await session.look_for(wanted, elsewhere_s=ELSEWHERE_S)
            if screen_id is None or found.screen_id == screen_id:
                return True
            try:
                if not await self.sign_in(run):
                    return False
            except AgentError:
                return False
        return False


def _build_earlier_record(run: TaskRun, step: TaskStep, effect: ReadBackResult) -> StepRecord:
    """The record of a step that was done before the interruption."""
    return StepRecord(
        task_id=run.task.task_id,
        step_id=step.step_id,
        action_type=step.action.canonical_type,
        status=StepStatus.DONE,
        duration_ms=0,
        evidence=(effect.reason,),
    )
