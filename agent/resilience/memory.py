"""What failed where, and what worked instead: asked before replanning, told afterwards (WR phase 4).

The memory is a help, no condition: where whoever keeps it does not answer, runs go on without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent.errors import StepFailed
from agent.page.errors import GateFailed
from kb_schema.lessons import MAX_APPROACH, MAX_ERROR, NO_SCREEN, Lesson, LessonKey


class Lessons(Protocol):
    """Where lessons are kept. Capped in number there; raises nothing."""

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Count one more, atomically."""

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Of a task on a screen, those used last first."""


class FailureMemory:
    """One engine's view of it."""

    def __init__(self, website_id: str, port: Lessons | None = None) -> None:
        self._website_id, self._port = website_id, port

    async def of_step(self, screen_id: str | None, task_id: str, step_id: str) -> dict[str, Lesson]:
        """What is known of a step there, by the label of the approach."""
        if self._port is None:
            return {}
        found = await self._port.lessons(self._website_id, screen_id or NO_SCREEN, task_id)
        return {each.approach: each for each in found if each.step_id == step_id}

    async def learn(
        self, screen_id: str | None, task_id: str, step_id: str, approach: str, error: Exception | None
    ) -> None:
        """How an approach went: `error` None, it worked."""
        if self._port is None:
            return
        key = LessonKey(
            website_id=self._website_id,
            screen_id=(screen_id or NO_SCREEN)[:200],
            task_id=task_id,
            step_id=step_id,
            approach=approach[:MAX_APPROACH],
        )
        sort = None if error is None else sort_of(error)[:MAX_ERROR]
        await self._port.learn(key, worked=error is None, error=sort)


def sort_of(error: Exception) -> str:
    """What kind of failure it was, without anything of the page or of values."""
    if isinstance(error, GateFailed):
        return error.point.value
    return error.error if isinstance(error, StepFailed) else type(error).__name__
