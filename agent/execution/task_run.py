"""One task while it runs: its values, which steps are done, and the evidence for that."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.execution.outcome_evaluation import OutcomeEvaluation
from agent.execution.persistence.checkpoint_state import CompletedStep, TaskFrame
from agent.execution.persistence.failure_record import FailureRecord
from agent.page.page_refusals import PageComplaint
from kb_schema.run_records import EvidenceLevel, RunStatus, StepRecord, StepStatus
from kb_schema.tasks import Task, TaskStep

if TYPE_CHECKING:
    from agent.execution.asked_addresses import AskedAddress
    from agent.execution.entered_texts import EnteredTexts

_ITEM = re.compile(r"\[(\d+)\]")


Prepare = Callable[[], Awaitable[int | None]]
"""What a plan does before its step.

Returns the index of the step to go on from, None for the step itself. Raises `AgentError` or `PageError` if
the plan fails.
"""


@dataclass(frozen=True, slots=True)
class StepReplan:
    """One other approach: the step to run instead, and what to do before it."""

    strategy: str
    detail: str
    step: TaskStep
    prepare: Prepare | None = None

    @property
    def label(self) -> str:
        """The plan's name, the same in later runs."""
        return f"{self.strategy}: {self.detail}" if self.detail else self.strategy


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """The first failure of a step that has not succeeded since."""

    index: int
    error: Exception


class TaskRun:
    """The state of one task. `path` is None if it is not checkpointed (remedies, navigation)."""

    def __init__(self, task: Task, frame: TaskFrame, depth: int, path: str | None) -> None:
        self.task, self.frame, self.depth, self.path = task, frame, depth, path
        self.steps: tuple[TaskStep, ...] = task.ordered_steps
        self.values: dict[str, Any] = {}
        self.outputs: dict[str, Any] = dict(frame.outputs)
        self.records: list[StepRecord] = [done.record for done in frame.done.values()]
        self.proven = frame.proven
        """Whether a condition held that confirms the last change to the site."""
        self._parts: set[EvidenceLevel] = set()
        """The evidence for the tasks that it called."""
        self.contradicted = False
        """Whether a condition contradicted it."""
        self.first_failure: FirstFailure | None = None
        """What the result is about if repeating the steps before it fails, too."""
        self.seen_elsewhere: str | None = None
        """How the task's effect is known if its own page did not show it."""
        self.fixed: frozenset[str] = frozenset()
        """Inputs from the caller: they are never resolved again."""
        self.given: dict[str, Any] = {}
        """Outputs found by the read-back."""
        self.again: dict[str, int] = {}
        """Step id -> how often the task went back because of it."""

        self.ledger = FailureRecord()
        """The run's failures, shared with the tasks around this one."""
        self.running: frozenset[str] = frozenset({task.task_id})
        """This task and the tasks around it: none of them is run within itself."""
        self.repeatable: dict[str, bool] = {}
        """Step id -> whether it may be repeated, as found when it ran."""
        self.judged: dict[str, OutcomeEvaluation] = {}
        """Step id -> evaluation of its last attempt."""
        self.criteria: OutcomeEvaluation | None = None
        """Evaluation of the task's success criteria."""
        self.missing_outputs: set[str] = set()
        """Required outputs that were not found at the end."""
        self.trouble: dict[str, Exception] = {}
        """Step id -> its first error."""
        self.complaints: dict[str, PageComplaint | None] = {}
        """Step id -> what the page complained of when the step failed first."""
        self.error: str | None = None
        """Why the run went on without something."""
        self.read_back_contradicts = False
        """The read-back shows that the task's effect is missing."""
        self.closing = False
        """All steps are done; what is missing now is the task's effect."""
        self.early_exit = False
        self.asked: AskedAddress | None = None
        """The address with inputs that was opened last."""
        self.entered: EnteredTexts | None = None
        """What a drafted task types, by which it is judged."""
        self._plans: dict[int, StepReplan] = {}

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the task's inputs."""
        return tuple(spec.name for spec in self.task.io_spec.inputs)

    # -- approaches

    @property
    def item(self) -> str | None:
        """Number of the item of the innermost loop, from 1; None outside loops."""
        numbers = _ITEM.findall(self.path or "")
        return str(int(numbers[-1]) + 1) if numbers else None

    def place_of(self, step: TaskStep) -> str:
        """Return what identifies this step within the run."""
        return self.key(step) or f"~{self.task.task_id}/{step.step_id}"

    def authored(self, index: int) -> TaskStep:
        """Return the step as the task states it."""
        return self.task.ordered_steps[index]

    def plan_of(self, index: int) -> StepReplan | None:
        """Return the plan by which the step is tried; None: as authored."""
        return self._plans.get(index)

    def use(self, index: int, plan: StepReplan) -> None:
        """Try the step by a plan from now on."""
        self._plans[index] = plan
        self.steps = (*self.steps[:index], plan.step, *self.steps[index + 1 :])

    def restore(self, index: int) -> None:
        """Use the authored step again."""
        if self._plans.pop(index, None) is not None:
            self.steps = (*self.steps[:index], self.authored(index), *self.steps[index + 1 :])

    # -- records

    def last_record(self, step_id: str) -> StepRecord | None:
        """Return the last record of a step."""
        return next((each for each in reversed(self.records) if each.step_id == step_id), None)

    def amend(self, step_id: str, **more: Any) -> None:
        """Update the last record of a step."""
        for number in range(len(self.records) - 1, -1, -1):
            if self.records[number].step_id == step_id:
                record = self.records[number] = self.records[number].model_copy(update=more)
                if step_id in self.frame.done:
                    self.frame.done[step_id].record = record
                return

    def pass_over(self, index: int, url: str) -> None:
        """Go on without the step; a resumed run does not start it again."""
        step_id = self.steps[index].step_id
        record = self.last_record(step_id)
        if record is None:
            return
        status = StepStatus.DONE if record.share else StepStatus.SKIPPED
        self.amend(step_id, status=status, degraded=True)
        self.frame.done[step_id] = CompletedStep(
            record=self.records[-1], url=url, repeatable=self.repeatable.get(step_id, True)
        )

    def key(self, step: TaskStep) -> str | None:
        """Return the step's key for journal and paths."""
        return None if self.path is None else f"{self.path}/{step.step_id}"

    def note(self, record: StepRecord, url: str, *, repeatable: bool) -> None:
        """Record that a step ended, successful or not."""
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
            done = CompletedStep(record=record, url=url, repeatable=repeatable)
            self.frame.done[record.step_id] = done

    def place(self, index: int) -> tuple[str, str | None]:
        """Return address and screen where the step of that index begins."""
        for step in reversed(self.steps[:index]):
            done = self.frame.done.get(step.step_id)
            if done is not None:
                return done.url, done.record.screen_id
        return self.frame.url, self.frame.screen_id

    def doors(self, index: int) -> list[int]:
        """Return the steps up to that one that begin on a page of their own, the latest first, but none
        before a step that is done and must not be repeated.
        """
        first = 0
        for number, step in enumerate(self.steps[:index]):
            done = self.frame.done.get(step.step_id)
            if done is not None and done.record.status is StepStatus.DONE and not done.repeatable:
                first = number + 1
        return [
            door
            for door in range(index, first - 1, -1)
            if door == first or self.place(door) != self.place(door - 1)
        ]

    def back_to(self, index: int) -> None:
        """Mark the steps from that one on as not done; an unfinished loop goes on where it was."""
        for step in self.steps[index:]:
            if self.frame.done.pop(step.step_id, None) is not None:
                self.frame.items.pop(step.step_id, None)

    def note_part(self, evidence: EvidenceLevel) -> None:
        """Note the evidence for a task that this one called: it is verified if every one of them is."""
        self._parts.add(evidence)
        self.proven = self._parts == {EvidenceLevel.VERIFIED}

    def note_first_failure(self, index: int, error: Exception) -> None:
        """Remember that a step failed, unless an earlier failure is still open."""
        if self.first_failure is None:
            self.first_failure = FirstFailure(index, error)

    def clear_first_failure(self, index: int) -> None:
        """Forget the first failure once its step, or a later one, succeeded."""
        if self.first_failure is not None and index >= self.first_failure.index:
            self.first_failure = None

    def evidence(self, status: RunStatus) -> EvidenceLevel:
        """Verified: the task's criteria held, or a postcondition since the site was last changed."""
        if self.contradicted:
            return EvidenceLevel.CONTRADICTED
        if status.complete and self.proven:
            return EvidenceLevel.VERIFIED
        return EvidenceLevel.UNVERIFIED
