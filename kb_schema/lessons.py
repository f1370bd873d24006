"""Lessons: which approach failed or worked for which step, from earlier runs (WR phase 4).

Kept per screen and task for the replanner of later runs. They contain no values and no page texts.
"""

from __future__ import annotations

from pydantic import Field

from kb_schema.base import LocalId, Model
from kb_schema.run_records import Count, Moment

LESSON_TTL_S = 30 * 86_400.0
"""How long a lesson lives after its last use: sites change."""
MAX_LESSONS = 50
"""The most lessons of one task on one screen; those used longest ago are dropped (WR: capped in number)."""
MAX_APPROACH = 400
"""The most characters of an approach's label (WR: capped in size)."""
MAX_ERROR = 400

NO_SCREEN = "-"
"""Stands for a page that no known screen matches."""


class LessonKey(Model):
    """An approach to a step of a task on a screen."""

    website_id: LocalId
    screen_id: str = Field(min_length=1, max_length=200)
    task_id: LocalId
    step_id: LocalId
    approach: str = Field(min_length=1, max_length=MAX_APPROACH)
    """The plan's label, or `authored`."""


class Lesson(LessonKey):
    """How often the approach worked and failed there."""

    worked: Count = 0
    failed: Count = 0
    worked_at: Moment | None = None
    failed_at: Moment | None = None
    error: str | None = Field(default=None, max_length=MAX_ERROR)
    """The class of the last failure (`not_found`, `postcondition`): no values, no page texts."""

    @property
    def worked_last(self) -> bool:
        """Whether it worked when it was last tried."""
        if self.worked_at is None:
            return False
        return self.failed_at is None or self.worked_at >= self.failed_at
