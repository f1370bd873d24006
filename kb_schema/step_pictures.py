"""What was seen at the steps of a run: pictures before and after, and what the page logged and requested in between.

One line of `pictures/steps.jsonl` for each step that ended, in their order.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kb_schema.base import Model

STEPS_FILE = "steps.jsonl"


class PictureFile(Model):
    """A picture beside the list."""

    name: str = Field(pattern=r"^[0-9]{4,8}\.jpg$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class PageLine(Model):
    """One line of the page's console, or one request."""

    kind: Literal["console", "error", "request", "failed"]
    """`failed`: a request without an answer, or with a status from 400 on."""
    text: str
    at_ms: float = Field(ge=0)
    """Milliseconds since the step began."""


class StepPictures(Model):
    """One step."""

    task_id: str
    step_id: str
    before: PictureFile | None = None
    """The page before the step; None if there was none, or its secrets could not be covered."""
    after: PictureFile | None = None
    lines: tuple[PageLine, ...] = ()
    left_out: int = Field(default=0, ge=0)
    """Further lines of the page in this step."""
