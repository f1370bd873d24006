"""Decides whether a step that must not be repeated happened after all.

Asked in this order: the page, the task's read-back, its `already_done_when`. Only this module allows such a
step to be repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.errors import PersonNeeded, StepRefused
from agent.execution.call_templates import fill_conditions
from agent.execution.recovery.failure_names import INVALID
from agent.execution.task_run import TaskRun
from agent.page.errors import PageError
from agent.page.page_problems import NO_PAGE_PROBLEMS, PageProblems, read_page_problems
from kb_schema.condition_evaluation import has_passed
from kb_schema.probes import Verdict
from kb_schema.read_backs import ReadBackStatus
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution


class EarlierStepsNeeded(Exception):
    """The step did not happen, and repeating it needs earlier steps."""

    def __init__(self, reason: str, *, index: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.index = reason, index
        """Index of the step to go on from; None: the one that failed."""


class UncertainEffects:
    """Decides for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine, self._session = engine, engine.session

    async def holds_by_now(self, run: TaskRun, step: TaskStep) -> list[Verdict]:
        """Return the verdicts of the step's postconditions if all of them hold now; empty if not, or if
        there are none.
        """
        conditions = fill_conditions(step.postconditions, run.values)
        verdicts = await self._session.judge(conditions, run.values)
        return verdicts if all(map(has_passed, conditions, verdicts)) else []

    async def settled(self, run: TaskRun, step: TaskStep, error: Exception) -> list[Verdict] | None:
        """Return the evidence if the step happened; None if the page refused it visibly.

        Raises `EarlierStepsNeeded` if it did not happen otherwise, `PersonNeeded` if nothing can tell.
        """
        engine = self._engine
        if isinstance(error, StepRefused) and error.did_not_happen:
            await self._conclude(run, step)
            return None
        problems = await self._read_problems()
        if any(field.marked for field in problems.fields) or await self._failed_visibly(run, step):
            await self._conclude(run, step)
            return None
        effect = await engine.effects.happened(run, lambda: engine.resumption.sign_in(run))
        if effect.status is ReadBackStatus.HAPPENED:
            await engine.resumption.settle(run, step, effect)
            return []
        if effect.status is ReadBackStatus.UNCLEAR:
            refused = isinstance(error, StepRefused)
            raise build_uncertain_step_error(run, step, str(error), effect.reason, refused=refused) from error
        await self._conclude(run, step)
        if isinstance(error, StepRefused) and not error.server_error:
            return None
        if problems.alerts and any(rule.condition in INVALID for rule in step.error_handling):
            return None  # for example a wrong password
        raise EarlierStepsNeeded(f"{error}; it did not happen: {effect.reason}") from error

    async def _conclude(self, run: TaskRun, step: TaskStep) -> None:
        """Note in the journal that the step did not happen."""
        key, checkpoints = run.key(step), self._engine.checkpoints
        if key is not None:
            await checkpoints.conclude(checkpoints.latest(key), "did_not_happen")

    async def _read_problems(self) -> PageProblems:
        try:
            return await read_page_problems(self._session.page, {})
        except PageError:
            return NO_PAGE_PROBLEMS  # the page cannot be read

    async def _failed_visibly(self, run: TaskRun, step: TaskStep) -> bool:
        """Whether the page shows one of the step's signs of failure."""
        signs = tuple(condition for condition in step.postconditions if condition.success is False)
        try:
            verdicts = await self._session.judge(fill_conditions(signs, run.values), run.values)
        except PageError:
            return False
        return any(verdict.held for verdict in verdicts)


def build_uncertain_step_error(
    run: TaskRun, step: TaskStep, error: str, reason: str, *, refused: bool = False
) -> PersonNeeded:
    """The error for a step that may have happened: a person must check. `refused`: the page's words come first."""
    may = f"step {step.step_id!r} of {run.task.task_id!r} may or may not have happened"
    return PersonNeeded(
        f"{error}; {may}: {reason}" if refused else f"{may}: {error}; {reason}",
        hint="check on the website whether it happened; then `periplus run --resume last --it-happened`,"
        " or `--it-did-not`",
    )
