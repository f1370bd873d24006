"""Finds other approaches to a failed step by asking strategies in order; a language model only when all else failed.

A strategy only proposes plans. To add one, write one module in `strategies` and add it to
`usual_strategies`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent.errors import AgentError, KnowledgeUnavailable
from agent.page.errors import PageError
from kb_schema.lessons import Lesson
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.replanning.step_approaches import AttemptSituation
    from agent.execution.task_run import StepReplan, TaskRun


@dataclass(frozen=True, slots=True)
class UnresolvedStepFailure:
    """A step that failed after all its retries and authored recoveries."""

    engine: TaskExecution
    run: TaskRun
    index: int
    step: TaskStep
    """The step as the task has it."""
    error: Exception
    """The error of the task's own approach."""
    situation: AttemptSituation
    """Screen and URL where the step began."""
    touched: bool
    """Whether the last attempt may have changed something on the page."""
    repeatable: bool


class ReplanStrategy(Protocol):
    """One way of finding other approaches."""

    name: str

    async def plans(self, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
        """Return plans, the best first. Raises `AgentError` if the strategy cannot decide."""


class Replanner:
    """Asks its strategies in order. Lessons change the order of plans, never what is allowed."""

    def __init__(self, strategies: Sequence[ReplanStrategy], last: ReplanStrategy | None = None) -> None:
        """`last`: is asked only when no plan of the others is left, because asking it costs something."""
        self._strategies, self._last = tuple(strategies), last

    async def plans(
        self, failure: UnresolvedStepFailure, lessons: Mapping[str, Lesson]
    ) -> AsyncIterator[StepReplan]:
        """Yield all plans in the order in which to try them. `lessons`: of earlier runs, by the plan's label."""
        found: list[StepReplan] = []
        for strategy in self._strategies:
            found += await _ask(strategy, failure)
        labels = {plan.label: plan for plan in reversed(found)}  # of equal plans the first
        first = [plan for plan in found if labels[plan.label] is plan]
        for plan in sorted(first, key=lambda plan: rank_replans(lessons.get(plan.label))):
            yield plan
        if self._last is not None:
            for plan in await _ask(self._last, failure):
                yield plan


async def _ask(strategy: ReplanStrategy, failure: UnresolvedStepFailure) -> Sequence[StepReplan]:
    """Return a strategy's plans; none if it cannot decide. Raises `KnowledgeUnavailable`."""
    try:
        return await strategy.plans(failure)
    except KnowledgeUnavailable:
        raise
    except (AgentError, PageError):
        return ()


def rank_replans(lesson: Lesson | None) -> int:
    """Return the sort rank: 0 for what worked here last, 2 for what failed here last, else 1."""
    if lesson is None:
        return 1
    return 0 if lesson.worked_last else 2
