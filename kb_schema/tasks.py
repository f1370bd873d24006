"""Tasks: linear steps with inputs, outputs and evidence (KS 4.3)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from kb_schema.action_calls import ActionCall, _is_jump
from kb_schema.base import Document, LocalId, Metadata, Model, Probability, Seconds, TaskRef, VariableName
from kb_schema.conditions import Condition
from kb_schema.error_handling import ErrorRules, FailureRecovery
from kb_schema.io_specs import Extraction, IoSpec
from kb_schema.iterators import IteratorSpec, NoIterator
from kb_schema.objectives import Objective
from kb_schema.read_backs import ReadBack
from kb_schema.resilience_policy import ResilienceRules

NO_GRAPH_LOOPS = "no_graph_loops"
DRAFT = "draft"
"""Metadata key of a task that was drafted and not tried: where it comes from."""


class TaskStep(Model):
    """One step. Steps run in `order`; a step cannot point to another (KS 10.1)."""

    step_id: LocalId
    order: int = Field(ge=1)
    type: Literal[
        "navigation",
        "form_fill",
        "submit",
        "click",
        "interaction",
        "iterator",
        "wait",
        "extract",
        "verify",
        "task",
    ] = "interaction"
    action: ActionCall
    description: str = ""
    preconditions: tuple[Condition, ...] = ()
    postconditions: tuple[Condition, ...] = ()
    validation: Condition | None = None
    error_handling: ErrorRules = ()
    required: bool = True
    can_skip: bool = False
    skip_when: tuple[Condition, ...] = ()
    """The step is skipped if any of these holds."""
    already_done_when: tuple[Condition, ...] = ()
    """If all hold, what the step is for is so already, and it is not performed: a press may undo it."""
    repeatable: bool | None = None
    """Whether doing it twice has the effect of doing it once. None: as its action, or the affordance, says.
    """
    acceptable_outcomes: tuple[Condition, ...] = ()
    """If the postconditions do not hold, any of these is acceptable (WR 3.1), the closest first."""
    required_evidence: tuple[Condition, ...] = ()
    """Without all of these the step has failed, whatever else holds (WR 3.1)."""
    optional_evidence: tuple[Condition, ...] = ()
    """Evidence that raises the confidence if it is present (WR 3.1)."""
    min_success_confidence: Probability | None = None
    """The confidence from which an acceptable outcome counts fully, and a partial one at all.

    None: as configured for the run, and WR's 0.5 for a partial one.
    """
    allow_partial_success: bool = False
    """Accept a part of its postconditions and continue without the rest (WR 3.1)."""
    critical: bool | None = None
    """Whether the run fails without it (WR `criticalSteps`); None: yes if it changes the site."""
    timeout_s: Seconds | None = None
    """How long the step may wait for its element; None: `step_timeout_s` of the task, the website or the run."""


class FormerValue(Model):
    """A value read from the page just before a step changes it.

    If the step is skipped, nothing changed, and the task that undoes this one gets no value. The same name
    may occur before several alternative steps.
    """

    name: VariableName
    before_step: LocalId
    extraction: Extraction


class TaskReversal(Model):
    """The task that undoes this one (KS 9.7, which defines it for actions)."""

    task_id: TaskRef
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    """Input of that task -> value, with `{x}` of this one's inputs, outputs and former values."""
    former: tuple[FormerValue, ...] = ()


class Task(Document):
    """A complete, reusable unit of work."""

    type: Literal["task"] = "task"
    task_id: LocalId
    name: str = ""
    description: str = ""
    sentences: tuple[str, ...] = ()
    """Sentences that ask for the task, with `{input}` for values: `Delete the agent {agent_id}`."""
    category: str = ""
    complexity: Literal["low", "medium", "high"] | None = None
    estimated_duration: float | None = Field(default=None, ge=0)
    io_spec: IoSpec = IoSpec()
    steps: tuple[TaskStep, ...] = Field(min_length=1)
    success_criteria: tuple[Condition, ...] = ()
    already_done_when: tuple[Condition, ...] = ()
    """If all hold, the task is already done; checked before a repeat."""
    read_back: ReadBack | None = None
    """How its effect is read independently: before and after the non-idempotent step."""
    acceptable_outcomes: tuple[Condition, ...] = ()
    """If the success criteria do not hold, any of these is acceptable (WR 3.1)."""
    required_evidence: tuple[Condition, ...] = ()
    optional_evidence: tuple[Condition, ...] = ()
    min_success_confidence: Probability | None = None
    allow_partial_success: bool = False
    """Count a part of its success criteria as partial success instead of failure."""
    resilience: ResilienceRules = ResilienceRules()
    """Resilience rules for runs of this task only."""
    objective: Objective | None = None
    """By what its paths between screens are chosen (KS 9.6); None: as the run is configured."""
    reversible_by: TaskRef | None = None
    """The task that undoes this one."""
    reversibility: TaskReversal | None = None
    """The same, with the inputs of that task."""
    failure_recovery: FailureRecovery = FailureRecovery()
    reusable_subtasks: tuple[str, ...] = ()
    """Names of the smaller tasks it consists of; a note, not a reference."""
    iterator_spec: IteratorSpec = NoIterator(type="none")

    @model_validator(mode="before")
    @classmethod
    def _linear_steps_with_ids(cls, data: Any) -> Any:
        """Give steps without id or order their position; refuse jumps."""
        if not isinstance(data, dict) or not isinstance(data.get("steps"), list | tuple):
            return data
        steps = []
        for index, step in enumerate(data["steps"]):
            if isinstance(step, dict):
                _refuse_jump(step, index)
            place = {"step_id": f"step_{index + 1}", "order": index + 1}
            steps.append({**place, **step} if isinstance(step, dict) else step)
        return {**data, "steps": steps}

    @model_validator(mode="after")
    def _reversal_agrees(self) -> Task:
        if self.reversibility and self.reversible_by and self.reversibility.task_id != self.reversible_by:
            raise ValueError(
                f"reversible_by is {self.reversible_by!r} but reversibility names "
                f"{self.reversibility.task_id!r}"
            )
        return self

    @model_validator(mode="after")
    def _steps_are_distinct(self) -> Task:
        ids = [step.step_id for step in self.steps]
        if len(set(ids)) != len(ids):
            raise ValueError(f"step ids used twice: {sorted({i for i in ids if ids.count(i) > 1})}")
        orders = [step.order for step in self.steps]
        if len(set(orders)) != len(orders):
            raise ValueError(f"step orders used twice: {sorted({o for o in orders if orders.count(o) > 1})}")
        unknown = [name for name in self.resilience.critical_steps if name not in ids]
        if unknown:
            raise ValueError(f"resilience.critical_steps names no step of the task: {', '.join(unknown)}")
        return self

    @model_validator(mode="after")
    def _has_no_nodes(self) -> Task:
        if self.iterator_spec.type != "none" and self.iterator_spec.item_action.runs_nodes:
            raise ValueError("a task has no nodes to run: `runs_nodes` is for groups of a workflow")
        return self

    @property
    def kind(self) -> str:
        return "task"

    @property
    def local_id(self) -> str:
        return self.task_id

    @property
    def reversal(self) -> TaskReversal | None:
        """How it is undone, or None."""
        if self.reversibility is None and self.reversible_by is not None:
            return TaskReversal(task_id=self.reversible_by)
        return self.reversibility

    @property
    def ordered_steps(self) -> tuple[TaskStep, ...]:
        """The steps in the order they run."""
        return tuple(sorted(self.steps, key=lambda step: step.order))

    def step(self, step_id: str) -> TaskStep | None:
        """Return a step by id."""
        return next((step for step in self.steps if step.step_id == step_id), None)


def _refuse_jump(step: Metadata | dict[str, Any], index: int) -> None:
    action = step.get("action")
    name, target = action, step.get("target")
    if isinstance(action, dict):
        name, target = action.get("action_type", action.get("action")), action.get("target")
    if _is_jump(name, target):
        raise PydanticCustomError(
            NO_GRAPH_LOOPS,
            "step {number} jumps to another step ({action}): task steps are linear (KS 10.1); state the "
            "repetition in `iterator_spec`",
            {"number": index + 1, "action": str(name), "step_index": index},
        )
