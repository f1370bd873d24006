"""Workflows: a published ActionGraph as an ordered list of nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from kb_schema.base import Document, LocalId, Model, TaskRef
from kb_schema.conditions import Condition
from kb_schema.io_specs import InputMapping, IoSpec
from kb_schema.iterators import IteratorSpec, NoIterator
from kb_schema.read_backs import PageReadBack


class _WorkflowNodeBase(Model):
    node_id: LocalId
    when: tuple[Condition, ...] = ()
    """If all hold, the node runs, else its `else_nodes`; both continue at the next node."""
    can_skip: bool = False
    skip_unless: Condition | None = None
    """`if the target is there`: an optional step runs only if this holds."""
    else_nodes: tuple[WorkflowNode, ...] = ()


class TaskNode(_WorkflowNodeBase):
    """Run a task with its inputs bound."""

    type: Literal["task"]
    task_id: TaskRef
    inputs: dict[str, InputMapping] = Field(default_factory=dict)
    iterator_spec: IteratorSpec = NoIterator(type="none")
    """An iterator whose item action runs this task, or another one, once per item."""

    @model_validator(mode="after")
    def _has_no_nodes(self) -> TaskNode:
        if self.iterator_spec.type != "none" and self.iterator_spec.item_action.runs_nodes:
            raise ValueError("a task node has no nodes to run: `runs_nodes` is for groups")
        return self


class GroupNode(_WorkflowNodeBase):
    """Several nodes as one: a branch, judged once before it begins, or the body of a loop."""

    type: Literal["group"]
    nodes: tuple[WorkflowNode, ...] = Field(min_length=1)
    iterator_spec: IteratorSpec = NoIterator(type="none")

    @model_validator(mode="after")
    def _repeats_its_nodes(self) -> GroupNode:
        if self.iterator_spec.type != "none" and not self.iterator_spec.item_action.runs_nodes:
            raise ValueError("the iterator of a group repeats its nodes: `item_action: {runs_nodes: true}`")
        return self


class WaitNode(_WorkflowNodeBase):
    """Wait for a person (MA `UserInputsRequired`)."""

    type: Literal["wait"]
    prompt: str = Field(min_length=1)
    outputs: tuple[str, ...] = ()


class AgentNode(_WorkflowNodeBase):
    """A decision by the language model, within bounds; without an inferencer: `needs_person`."""

    type: Literal["agent"]
    goal: str = Field(min_length=1)
    max_steps: int = Field(default=5, ge=1, le=50)
    until: Condition | None = None


AnyNode = TaskNode | GroupNode | WaitNode | AgentNode
WorkflowNode = Annotated[AnyNode, Field(discriminator="type")]


class ShownSentence(Model):
    """What a trace was asked for, and the inputs that it shows."""

    sentence: str = Field(min_length=1)
    values: dict[str, str | list[str]] = Field(default_factory=dict)


class Provenance(Model):
    """Where a workflow came from."""

    trace_ids: tuple[str, ...] = ()
    sentences: tuple[ShownSentence, ...] = ()
    """Sentences of the traces that no template in `sentences` of the workflow binds with certainty."""
    synthesis_strategy: str = ""
    confidence: float | None = Field(default=None, ge=0, le=1)


class Workflow(Document):
    """Tasks, waits and agent steps in order, with authored branches and loops."""

    type: Literal["workflow"] = "workflow"
    workflow_id: LocalId
    name: str = Field(min_length=1)
    description: str = ""
    sentences: tuple[str, ...] = ()
    """Sentences that ask for it, with `{input}` for values; synthesis keeps the template of the traces' sentences."""
    io_spec: IoSpec = IoSpec()
    nodes: tuple[WorkflowNode, ...] = Field(min_length=1)
    success_criteria: tuple[Condition, ...] = ()
    read_back: PageReadBack | None = None
    """Where the effect is read if the success criteria do not show it."""
    unverified: bool = False
    """Whether it may have no success criteria: every result of it then has the status `unverified`."""
    provenance: Provenance | None = None

    @model_validator(mode="after")
    def _node_ids_are_distinct(self) -> Workflow:
        ids = [node.node_id for node in walk(self.nodes)]
        if len(set(ids)) != len(ids):
            raise ValueError(f"node ids used twice: {sorted({i for i in ids if ids.count(i) > 1})}")
        return self

    @model_validator(mode="after")
    def _shown_values_are_of_inputs(self) -> Workflow:
        known = {spec.name: spec for spec in self.io_spec.inputs}
        for shown in () if self.provenance is None else self.provenance.sentences:
            for name in shown.values:
                if name not in known:
                    raise ValueError(
                        f"provenance: {shown.sentence!r} has a value for {name}, which is no input"
                    )
                if known[name].secret:
                    raise ValueError(f"provenance: {shown.sentence!r} has a value of the secret input {name}")
        return self

    @property
    def kind(self) -> str:
        return "workflow"

    @property
    def local_id(self) -> str:
        return self.workflow_id


def walk(nodes: tuple[AnyNode, ...]) -> list[AnyNode]:
    """Return every node, including those in groups and branches, in document order."""
    found: list[AnyNode] = []
    for node in nodes:
        inner = walk(node.nodes) if isinstance(node, GroupNode) else []
        found += [node, *inner, *walk(node.else_nodes)]
    return found
