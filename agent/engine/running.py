"""One task while it runs: its values, what is done, what that rests on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agent.engine.state import DoneStep, Frame
from agent.resilience.evaluation import Evaluation
from agent.resilience.ledger import Ledger
from kb_schema.runs import EvidenceLevel, RunStatus, StepRecord, StepStatus
from kb_schema.tasks import Task, TaskStep

if TYPE_CHECKING:
    from agent.resilience.replanner import Plan

_ITEM = re.compile(r"\[(\d+)\]")


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

        self.ledger = Ledger()
        """The run's, with that of the tasks around this one."""
        self.running: frozenset[str] = frozenset({task.task_id})
        """This task and those around it: none of them is run within itself."""
        self.repeatable: dict[str, bool] = {}
        """Step id -> whether it may be done again, as was found when it was done."""
        self.judged: dict[str, Evaluation] = {}
        """Step id -> what its last attempt came to."""
        self.criteria: Evaluation | None = None
        """What the task as a whole came to."""
        self.missing_outputs: set[str] = set()
        """Required outputs that were not to be had at the end."""
        self.trouble: dict[str, Exception] = {}
        """Step id -> its first error."""
        self.error: str | None = None
        """Why the run went on without something."""
        self.read_back_contradicts = False
        """Seen apart from its own page, what the task is for is not there."""
        self.closing = False
        """Its steps are over, all of them, and what is missing now is what it is for."""
        self.early_exit = False
        self._plans: dict[int, Plan] = {}

    # -- approaches

    @property
    def item(self) -> str | None:
        """Of the iterator around it, if there is one: which item, from 1."""
        numbers = _ITEM.findall(self.path or "")
        return str(int(numbers[-1]) + 1) if numbers else None

    def place_of(self, step: TaskStep) -> str:
        """What tells this step from every other of the run."""
        return self.key(step) or f"~{self.task.task_id}/{step.step_id}"

    def authored(self, index: int) -> TaskStep:
        """The step as the task has it."""
        return self.task.ordered_steps[index]

    def plan_of(self, index: int) -> Plan | None:
        """The plan by which the step is tried; None: as authored."""
        return self._plans.get(index)

    def use(self, index: int, plan: Plan) -> None:
        """Try the step by a plan from now on."""
        self._plans[index] = plan
        self.steps = (*self.steps[:index], plan.step, *self.steps[index + 1 :])

    def restore(self, index: int) -> None:
        """The step is as its task has it again."""
        if self._plans.pop(index, None) is not None:
            self.steps = (*self.steps[:index], self.authored(index), *self.steps[index + 1 :])

    # -- records

    def last_record(self, step_id: str) -> StepRecord | None:
        """How the step came out the last time."""
        return next((each for each in reversed(self.records) if each.step_id == step_id), None)

    def amend(self, step_id: str, **more: Any) -> None:
        """Say more of how the step came out the last time."""
        for number in range(len(self.records) - 1, -1, -1):
            if self.records[number].step_id == step_id:
                record = self.records[number] = self.records[number].model_copy(update=more)
                if step_id in self.frame.done:
                    self.frame.done[step_id].record = record
                return

    def pass_over(self, index: int, url: str) -> None:
        """The run goes on without the step: carried on later, it is not begun again."""
        step_id = self.steps[index].step_id
        record = self.last_record(step_id)
        if record is None:
            return
        status = StepStatus.DONE if record.share else StepStatus.SKIPPED
        self.amend(step_id, status=status, degraded=True)
        self.frame.done[step_id] = DoneStep(
            record=self.records[-1], url=url, repeatable=self.repeatable.get(step_id, True)
        )

    def key(self, step: TaskStep) -> str | None:
        """Of a step, for journal and paths."""
        return None if self.path is None else f"{self.path}/{step.step_id}"

    def note(self, record: StepRecord, url: str, *, repeatable: bool) -> None:
        """A step is over, well or not."""
        judged = self.judged.pop(record.step_id, None)
        if judged is not None and record.status is StepStatus.DONE:
            record = record.model_copy(
                update={
                    "outcome": judged.outcome,
                    "confidence": judged.confidence,
                    "share": None if judged.share == 1 else judged.share,
                }
            )
        self.repeatable.setdefault(record.step_id, repeatable)
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
