"""Tasks: linear steps with what they need, give and prove (KS 4.3)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from kb_schema.base import Document, LocalId, Metadata, Model, Probability, TaskRef
from kb_schema.calls import ActionCall, _loops
from kb_schema.conditions import Condition
from kb_schema.handling import ErrorRules, FailureRecovery
from kb_schema.iterators import IteratorSpec, NoIterator
from kb_schema.read_backs import ReadBack
from kb_schema.resilience import ResilienceRules
from kb_schema.values import Extraction, IoSpec, VariableName

NO_GRAPH_LOOPS = "no_graph_loops"


class TaskStep(Model):
    """One step. Steps run in `order`; none may point to another (KS 10.1)."""

    step_id: LocalId
    order: int = Field(ge=1)
    type: Literal[
        "navigation", "form_fill", "submit", "click", "interaction", "iterator", "wait", "extract", "verify",
        "task",
    ] = "interaction"  # fmt: skip
    action: ActionCall
    description: str = ""
    preconditions: tuple[Condition, ...] = ()
    postconditions: tuple[Condition, ...] = ()
    validation: Condition | None = None
    error_handling: ErrorRules = ()
    required: bool = True
    can_skip: bool = False
    skip_when: tuple[Condition, ...] = ()
    """The step is left out when any of these holds."""
    repeatable: bool | None = None
    """Whether doing it once more is the same as doing it once; None: as its action, or the
    affordance of its element, says."""
    acceptable_outcomes: tuple[Condition, ...] = ()
    """Any of these is acceptable where the postconditions do not hold (WR 3.1), the closest first."""
    required_evidence: tuple[Condition, ...] = ()
    """Without all of these it has failed, whatever else holds (WR 3.1)."""
    optional_evidence: tuple[Condition, ...] = ()
    """What makes one surer where it is there (WR 3.1)."""
    min_success_confidence: Probability | None = None
    """Of an acceptable outcome that is to count in full, and of a part that is to count at all; None: as
    the run is configured, and WR's 0.5 for a part."""
    allow_partial_success: bool = False
    """A part of its postconditions counts, and the task goes on without the rest (WR 3.1)."""
    critical: bool | None = None
    """Whether nothing counts without it (WR `criticalSteps`); None: it does where it changes the site."""


class FormerValue(Model):
    """What was there before the task changed it: read off the page just before a step.

    Where the step is left out, nothing was changed: what undoes the task is not given the value. The same name
    may stand before several steps, of which one is taken.
    """

    name: VariableName
    before_step: LocalId
    extraction: Extraction


class TaskReversal(Model):
    """The task that undoes this one (KS 9.7, which says it of actions)."""

    task_id: TaskRef
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    """Input of that task -> value, with `{x}` of this one's inputs, outputs and former values."""
    former: tuple[FormerValue, ...] = ()


class Task(Document):
    """A complete, reusable piece of work."""

    type: Literal["task"] = "task"
    task_id: LocalId
    name: str = ""
    description: str = ""
    category: str = ""
    complexity: Literal["low", "medium", "high"] | None = None
    estimated_duration: float | None = Field(default=None, ge=0)
    io_spec: IoSpec = IoSpec()
    steps: tuple[TaskStep, ...] = Field(min_length=1)
    success_criteria: tuple[Condition, ...] = ()
    already_done_when: tuple[Condition, ...] = ()
    """All hold: what the task is for has already happened; asked before a repeat."""
    read_back: ReadBack | None = None
    """How its effect is seen apart from the click: read before and after what may not be repeated."""
    acceptable_outcomes: tuple[Condition, ...] = ()
    """Any of these is acceptable where the success criteria do not hold (WR 3.1)."""
    required_evidence: tuple[Condition, ...] = ()
    optional_evidence: tuple[Condition, ...] = ()
    min_success_confidence: Probability | None = None
    allow_partial_success: bool = False
    """A part of its success criteria makes it a partial success instead of a failure."""
    resilience: ResilienceRules = ResilienceRules()
    """What holds for runs of this task only."""
    reversible_by: TaskRef | None = None
    """The task that undoes what this one did."""
    reversibility: TaskReversal | None = None
    """The same, with what that task is given."""
    failure_recovery: FailureRecovery = FailureRecovery()
    reusable_subtasks: tuple[str, ...] = ()
    """Names of smaller pieces this one is made of; a note, not a reference."""
    iterator_spec: IteratorSpec = NoIterator(type="none")

    @model_validator(mode="before")
    @classmethod
    def _linear_steps_with_ids(cls, data: Any) -> Any:
        """Steps without id or order get them from their place; jumps are refused."""
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
        """How it is undone, if at all."""
        if self.reversibility is None and self.reversible_by is not None:
            return TaskReversal(task_id=self.reversible_by)
        return self.reversibility

    @property
    def ordered_steps(self) -> tuple[TaskStep, ...]:
        """The steps as they run."""
        return tuple(sorted(self.steps, key=lambda step: step.order))

    def step(self, step_id: str) -> TaskStep | None:
        """The step of that id."""
        return next((step for step in self.steps if step.step_id == step_id), None)


def _refuse_jump(step: Metadata | dict[str, Any], index: int) -> None:
    action = step.get("action")
    name, target = action, step.get("target")
    if isinstance(action, dict):
        name, target = action.get("action_type", action.get("action")), action.get("target")
    if _loops(name, target):
        raise PydanticCustomError(
            NO_GRAPH_LOOPS,
            "step {number} jumps to another step ({action}): task steps are linear (KS 10.1); state the "
            "repetition in `iterator_spec`",
            {"number": index + 1, "action": str(name), "step_index": index},
        )
