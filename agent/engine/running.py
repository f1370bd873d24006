"""One task while it runs: its values, what is done, what that rests on."""

from __future__ import annotations

from typing import Any

from agent.engine.state import DoneStep, Frame
from kb_schema.runs import EvidenceLevel, RunStatus, StepRecord, StepStatus
from kb_schema.tasks import Task, TaskStep


class Run:
    """What one task has so far. `path` is None where nothing of it is kept (remediation, ways)."""

    def __init__(self, task: Task, frame: Frame, depth: int, path: str | None) -> None:
        self.task, self.frame, self.depth, self.path = task, frame, depth, path
        self.steps: tuple[TaskStep, ...] = task.ordered_steps
        self.values: dict[str, Any] = {}
        self.outputs: dict[str, Any] = dict(frame.outputs)
        self.records: list[StepRecord] = [done.record for done in frame.done.values()]
        self.proven = frame.proven
        """Whether a condition held that speaks for the last thing that changed the site."""
        self.contradicted = False
        """Whether a condition spoke against it."""
        self.seen_elsewhere: str | None = None
        """How it is known that what the task is for happened, where the page did not say so."""
        self.fixed: frozenset[str] = frozenset()
        """Inputs that the caller gave: they are never got anew."""
        self.given: dict[str, Any] = {}
        """Outputs that the read-back found."""
        self.again: dict[str, int] = {}
        """Step id -> how often the task went back because of it."""

    def key(self, step: TaskStep) -> str | None:
        """Of a step, for journal and paths."""
        return None if self.path is None else f"{self.path}/{step.step_id}"

    def note(self, record: StepRecord, url: str, *, repeatable: bool) -> None:
        """A step is over, well or not."""
        self.records.append(record)
        if record.status is not StepStatus.FAILED:
            done = DoneStep(record=record, url=url, repeatable=repeatable)
            self.frame.done[record.step_id] = done

    def place(self, index: int) -> tuple[str, str | None]:
        """Address and screen where the step of that index begins."""
        for step in reversed(self.steps[:index]):
            done = self.frame.done.get(step.step_id)
            if done is not None:
                return done.url, done.record.screen_id
        return self.frame.url, self.frame.screen_id

    def doors(self, index: int) -> list[int]:
        """Steps up to that one that begin on a page of their own, the latest first, none of them
        before a step that was done and may not be repeated.
        """
        floor = 0
        for number, step in enumerate(self.steps[:index]):
            done = self.frame.done.get(step.step_id)
            if done is not None and done.record.status is StepStatus.DONE and not done.repeatable:
                floor = number + 1
        return [
            door for door in range(index, floor - 1, -1)
            if door == floor or self.place(door) != self.place(door - 1)
        ]  # fmt: skip

    def back_to(self, index: int) -> None:
        """The steps from that one on are to be done again; a loop that is not over goes on where it was."""
        for step in self.steps[index:]:
            if self.frame.done.pop(step.step_id, None) is not None:
                self.frame.items.pop(step.step_id, None)

    def evidence(self, status: RunStatus) -> EvidenceLevel:
        """Verified: the task's own criteria held, or a postcondition since the site was last changed."""
        if self.contradicted:
            return EvidenceLevel.CONTRADICTED
        if status is RunStatus.SUCCESS and self.proven:
            return EvidenceLevel.VERIFIED
        return EvidenceLevel.UNVERIFIED
