"""The state from which a run is resumed: which steps are done, with which values.

Pure data, stored as a checkpoint. A task inside a task has a path: the steps that lead to it
(`create_agents/each[2]>create_agent`). Secrets are never stored; they are resolved again.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent.execution.persistence.failure_record import FailureRecord
from kb_schema.run_records import StepRecord
from kb_schema.tasks import Task


class _CheckpointModel(BaseModel):
    """A mutable model, unlike the documents of `kb_schema`."""

    model_config = ConfigDict(extra="forbid", validate_assignment=False)


class CompletedStep(_CheckpointModel):
    """A step that is over, and the address where the page was then."""

    record: StepRecord
    url: str = ""
    repeatable: bool = True
    """Whether repeating it does no harm."""


class TaskFrame(_CheckpointModel):
    """One task of a run, as far as it got."""

    task_id: str
    url: str = ""
    screen_id: str | None = None
    """Screen where the task began."""
    values: dict[str, JsonValue] = Field(default_factory=dict)
    """Its inputs, resolved before step 1, and values its steps added; without secrets."""
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    done: dict[str, CompletedStep] = Field(default_factory=dict)
    """Step id -> the completed step."""
    items: dict[str, int] = Field(default_factory=dict)
    """Step id of an iterator -> items dealt with."""
    chosen: dict[str, bool] = Field(default_factory=dict)
    """For a workflow: decisions on nodes, made once."""
    before: JsonValue = None
    """The baseline of the task's read-back."""
    looked: bool = False
    """Whether `before` was read (None is a valid reading)."""
    proven: bool = False
    over: bool = False
    """The task succeeded; its caller may not have stored that yet."""

    @property
    def ends_at(self) -> CompletedStep | None:
        """The last step that is over."""
        return next(reversed(self.done.values()), None)

    def resumes_at(self, task: Task) -> int:
        """Return the index of the first step that is not done."""
        for index, step in enumerate(task.ordered_steps):
            if step.step_id not in self.done:
                return index
        return len(task.steps)


class CheckpointState(_CheckpointModel):
    """A run that can be resumed with a new browser."""

    website_id: str
    task_id: str
    workflow_version: str | None = None
    """The version of the workflow that runs, if it is one."""
    given: dict[str, JsonValue] = Field(default_factory=dict)
    """Inputs from the caller, without secrets."""
    frames: dict[str, TaskFrame] = Field(default_factory=dict)
    """Path -> task."""
    session: dict[str, JsonValue] = Field(default_factory=dict)
    """KS `session_context`, without secrets."""
    outputs: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """Task id -> its last outputs, without secrets."""
    ledger: FailureRecord = Field(default_factory=FailureRecord)
    """Approaches that failed, replans, and values read (WR)."""
    entered: bool = False
    """Whether the page held entries of ended tasks that were sent nowhere."""
    storage: JsonValue = None
    """Cookies and local storage of the browser, which keep the session signed in."""

    def below(self, path: str) -> list[str]:
        """Return the paths of the tasks that a step called."""
        return [each for each in self.frames if each.startswith((f"{path}>", f"{path}["))]

    def within(self, path: str) -> list[TaskFrame]:
        """Return the tasks inside the task of a path, at any depth."""
        return [frame for each, frame in self.frames.items() if each.startswith((f"{path}/", f"{path}>"))]

    def forget(self, path: str) -> None:
        """Drop the tasks that a step called: it is done, and only its result counts."""
        for each in self.below(path):
            del self.frames[each]


def remove_secret_values(values: dict[str, Any], redacted: dict[str, Any]) -> dict[str, Any]:
    """Return the values that redaction leaves unchanged."""
    return {name: value for name, value in values.items() if redacted.get(name) == value}
