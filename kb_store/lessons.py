"""The memory of failures, as a store keeps it (WR phase 4): `agent.resilience.memory.Lessons` is its user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kb_schema.lessons import Lesson, LessonKey


class LessonShelf(Protocol):
    """Lessons of a run store. All methods raise `StoreUnavailable` where it does not answer.

    A task on a screen has at most `MAX_LESSONS`: the ones used longest ago go first. Each lives for
    `LESSON_TTL_S` after its last use.
    """

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Count one more, atomically."""

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Of a task on a screen, those used last first."""
