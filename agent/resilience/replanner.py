"""Other approaches to a step that failed: strategies in order, none of them an LLM (DESIGN 6).

A strategy looks at the failure and says which plans it has; it carries nothing out. Adding one is one
file in `strategies` and its place in `STRATEGIES`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent.errors import AgentError, KnowledgeUnavailable
from agent.page.errors import PageError
from kb_schema.lessons import Lesson
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run
    from agent.resilience.approaches import Situation


Prepare = Callable[[], Awaitable[int | None]]
"""What a plan does before its step. Returns the index of the step to go on from, None for the step itself.
Raises `AgentError` or `PageError` where the plan fails already."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that failed by everything its task says about it."""

    engine: Engine
    run: Run
    index: int
    step: TaskStep
    """As the task has it."""
    error: Exception
    """Of the task's own approach."""
    situation: Situation
    """Where it began."""
    touched: bool
    """Whether the last attempt may have done something on the page."""
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """One other approach: the step to carry out in its place, and what is to be done before."""

    strategy: str
    detail: str
    step: TaskStep
    prepare: Prepare | None = None

    @property
    def label(self) -> str:
        """What the plan is called, in this run and in later ones."""
        return f"{self.strategy}: {self.detail}" if self.detail else self.strategy


class Strategy(Protocol):
    """One way of finding other approaches."""

    name: str

    async def plans(self, failure: Failure) -> Sequence[Plan]:
        """The best first; none where it has nothing to offer. Raises `AgentError` where it cannot tell."""


class Replanner:
    """Asks its strategies in order. Past experience changes the order of plans, never what is allowed."""

    def __init__(self, strategies: Sequence[Strategy]) -> None:
        self._strategies = tuple(strategies)

    async def plans(self, failure: Failure, lessons: Mapping[str, Lesson]) -> list[Plan]:
        """All plans, in the order in which to try them. `lessons`: by the plan's label, of earlier runs."""
        found: list[Plan] = []
        for strategy in self._strategies:
            try:
                found += await strategy.plans(failure)
            except KnowledgeUnavailable:
                raise
            except (AgentError, PageError):
                continue  # this one has nothing to say here
        labels = {plan.label: plan for plan in reversed(found)}  # of equal plans the first
        first = [plan for plan in found if labels[plan.label] is plan]
        return sorted(first, key=lambda plan: rank(lessons.get(plan.label)))


def rank(lesson: Lesson | None) -> int:
    """What worked here last comes first, what failed here last comes last; the rest keeps its order."""
    if lesson is None:
        return 1
    return 0 if lesson.worked_last else 2
