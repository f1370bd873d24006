"""Whether a step happened that may have, and must not be repeated blindly: the page, the task's read-back
and its own sign are asked, in that order. The one door to doing again what may not be repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.engine.calls import fill_conditions
from agent.engine.running import Run
from agent.errors import PersonNeeded
from agent.page.complaints import NO_COMPLAINTS, Complaints, complaints
from agent.page.errors import PageError
from agent.recovering.names import INVALID
from kb_schema.evaluation import passed
from kb_schema.probes import Verdict
from kb_schema.read_backs import Happened
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.engine.engine import Engine


class Again(Exception):
    """What the step was to do did not happen, and doing it again needs steps before it."""

    def __init__(self, reason: str, *, index: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.index = reason, index
        """`index`: of the step to go on from; None: the one that failed."""


class Doubt:
    """Asks for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._session = engine, engine.session

    async def holds_by_now(self, run: Run, step: TaskStep) -> list[Verdict]:
        """What the step was to bring about, where the page shows all of it after all: then it is not
        repeated. Empty where it does not, or the step names nothing.
        """
        conditions = fill_conditions(step.postconditions, run.values)
        verdicts = await self._session.judge(conditions, run.values)
        return verdicts if all(map(passed, conditions, verdicts)) else []

    async def settled(self, run: Run, step: TaskStep, error: Exception) -> list[Verdict] | None:
        """What speaks for the step, where it happened; None where the page refused it, in a way or in words
        for which the step has a rule.

        Raises `Again` where it did not happen otherwise, `PersonNeeded` where nothing tells.
        """
        engine = self._engine
        said = await self._complaints()
        if any(field.marked for field in said.fields) or await self._failed_visibly(run, step):
            await self._conclude(run, step)
            return None
        effect = await engine.effects.happened(run, lambda: engine.resuming.sign_in(run))
        if effect.status is Happened.HAPPENED:
            await engine.resuming.settle(run, step, effect)
            return []
        if effect.status is Happened.UNCLEAR:
            raise in_doubt(run, step, str(error), effect.reason) from error
        await self._conclude(run, step)
        if said.alerts and any(rule.condition in INVALID for rule in step.error_handling):
            return None  # a wrong password stays wrong
        raise Again(f"{error}; it did not happen: {effect.reason}") from error

    async def _conclude(self, run: Run, step: TaskStep) -> None:
        """It did not happen."""
        key, keeper = run.key(step), self._engine.keeper
        if key is not None:
            await keeper.conclude(keeper.latest(key), "did_not_happen")

    async def _complaints(self) -> Complaints:
        try:
            return await complaints(self._session.page, {})
        except PageError:
            return NO_COMPLAINTS  # there is no page to say anything

    async def _failed_visibly(self, run: Run, step: TaskStep) -> bool:
        """Whether the page shows what the step says is a sign of failure."""
        signs = tuple(condition for condition in step.postconditions if condition.success is False)
        try:
            verdicts = await self._session.judge(fill_conditions(signs, run.values), run.values)
        except PageError:
            return False
        return any(verdict.held for verdict in verdicts)


def in_doubt(run: Run, step: TaskStep, error: str, reason: str) -> PersonNeeded:
    """It may have happened, and nothing tells: a person looks."""
    return PersonNeeded(
        f"step {step.step_id!r} of {run.task.task_id!r} may have been done or not: {error}; {reason}",
        hint="look on the site whether it happened; then `periplus run --resume last --it-happened`,"
        " or `--it-did-not`",
    )
