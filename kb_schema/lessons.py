"""What failed where, and what worked instead: the memory of runs (WR phase 4).

Kept per page (screen) and task, for the replanner of later runs. No values, no texts of pages.
"""

from __future__ import annotations

from pydantic import Field

from kb_schema.base import LocalId, Model
from kb_schema.runs import Count, Moment

LESSON_TTL_S = 30 * 86_400.0
"""A site is another one after a month. Every use renews it."""
MAX_LESSONS = 50
"""Of one task on one screen; the ones used longest ago go first (WR: capped in number)."""
MAX_APPROACH = 400
"""Characters of an approach's label (WR: capped in size)."""
MAX_ERROR = 400

NO_SCREEN = "-"
"""Stands for a page that no screen of the knowledge is."""


class LessonKey(Model):
    """Which approach to which step of which task, on which screen."""

    website_id: LocalId
    screen_id: str = Field(min_length=1, max_length=200)
    task_id: LocalId
    step_id: LocalId
    approach: str = Field(min_length=1, max_length=MAX_APPROACH)
    """The plan's label; `authored`."""


class Lesson(LessonKey):
    """How it went there."""

    worked: Count = 0
    failed: Count = 0
    worked_at: Moment | None = None
    failed_at: Moment | None = None
    error: str | None = Field(default=None, max_length=MAX_ERROR)
    """Of the last failure, its sort only (`not_found`, `postcondition`): no values, nothing of pages."""

    @property
    def worked_last(self) -> bool:
        """Whether it worked the last time it was tried."""
        if self.worked_at is None:
            return False
        return self.failed_at is None or self.worked_at >= self.failed_at
