"""What a run has to remember to carry on elsewhere: which steps are done, with which values.

Pure data, kept as a checkpoint. A task within a task has a *path*: the steps that lead to it
(`create_agents/each[2]>create_agent`). Secrets are never in here; they are resolved again.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent.resilience.ledger import Ledger
from kb_schema.runs import StepRecord
from kb_schema.tasks import Task


class _State(BaseModel):
    """Written to while the run goes on, unlike the values of the vocabulary."""

    model_config = ConfigDict(extra="forbid", validate_assignment=False)


class DoneStep(_State):
    """A step that is over, and where the page was then."""

    record: StepRecord
    url: str = ""
    repeatable: bool = True
    """Whether doing it again would be harmless."""


class Frame(_State):
    """One task of a run, as far as it got."""

    task_id: str
    url: str = ""
    screen_id: str | None = None
    """Where the page was when it began."""
    values: dict[str, JsonValue] = Field(default_factory=dict)
    """Its inputs, resolved before step 1, and what its steps added; no secrets."""
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    done: dict[str, DoneStep] = Field(default_factory=dict)
    """Step id -> how it came out."""
    items: dict[str, int] = Field(default_factory=dict)
    """Step id of an iterator -> items that are dealt with."""
    chosen: dict[str, bool] = Field(default_factory=dict)
    """Of a workflow: what was decided of a node, once."""
    before: JsonValue = None
    """What the task's read-back said before anything was changed."""
    looked: bool = False
    """Whether `before` was read (None is a reading, too)."""
    proven: bool = False
    over: bool = False
    """The task came to its good end; whoever called it has not noted that yet."""

    @property
    def ends_at(self) -> DoneStep | None:
        """The last step that is over."""
        return next(reversed(self.done.values()), None)

    def resumes_at(self, task: Task) -> int:
        """Index of the first step that is not done."""
        for index, step in enumerate(task.ordered_steps):
            if step.step_id not in self.done:
                return index
        return len(task.steps)


class RunState(_State):
    """A run that may be carried on: from a checkpoint, with a new browser."""

    website_id: str
    task_id: str
    given: dict[str, JsonValue] = Field(default_factory=dict)
    """What the caller gave, without secrets."""
    frames: dict[str, Frame] = Field(default_factory=dict)
    """Path -> task."""
    session: dict[str, JsonValue] = Field(default_factory=dict)
    """KS `session_context`, without secrets."""
    outputs: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """Task id -> its last outputs, without secrets."""
    ledger: Ledger = Field(default_factory=Ledger)
    """Approaches that failed, replans, and what was read (WR)."""
    storage: JsonValue = None
    """Cookies and local storage of the browser, so that the site still knows whom it has."""

    def below(self, path: str) -> list[str]:
        """Paths of the tasks that a step led to."""
        return [each for each in self.frames if each.startswith((f"{path}>", f"{path}["))]

    def forget(self, path: str) -> None:
        """Drop what a step led to: it is done, and only its result counts."""
        for each in self.below(path):
            del self.frames[each]


def without_secrets(values: dict[str, Any], redacted: dict[str, Any]) -> dict[str, Any]:
    """The values that are the same after redaction; the others are left out."""
    return {name: value for name, value in values.items() if redacted.get(name) == value}
