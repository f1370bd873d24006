"""The ActionGraph: the compiled form of a workflow, as a tree of actions, forks and loops (MA 7).

Values are templates over variables (`{name}`; in selectors `{{name}}`). The graph is JSON in both
directions, is made by a fluent builder, and is lowered to a `workflow` document by `lowering`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from kb_schema import vocabulary
from kb_schema.base import Model, Probability
from kb_schema.conditions import Condition
from kb_schema.selectors import Selector


class GraphReading(Model):
    """A value read off the page before an action."""

    name: str = Field(min_length=1)
    selector: str = Field(min_length=1)
    """CSS."""
    pattern: str | None = None


class GraphParameter(Model):
    """A variable of the graph, and where its value comes from."""

    name: str = Field(min_length=1)
    source: Literal["input", "item", "output", "user_input"]
    key: str = ""
    description: str = ""
    secret: bool = False
    evidence: str = ""


class ActionNode(Model):
    """One action, or a bounded piece of judgement where `action_type` is the graph's agent."""

    type: Literal["action"] = "action"
    action_type: str = Field(min_length=1)
    target: Selector | Literal[True] | str | None = None
    """True: a person is waited for. Words: an agent's goal."""
    args: dict[str, JsonValue] = Field(default_factory=dict)
    no_action_if_target_not_found: bool = False
    only_if: Condition | None = None
    """An optional action is done only while this holds."""
    left_out: str | None = None
    """Why an optional action is not done at all."""
    reads: tuple[GraphReading, ...] = ()
    awaits: Selector | None = None
    """What has to be there first."""
    position: int | None = None
    """Of the alignment it was made from."""
    confidence: Probability = 1.0
    decision_source: Literal["rule", "llm", "hybrid"] = "rule"


class Branch(Model):
    """One way of a fork."""

    label: str
    condition: Condition | None = None
    """None: taken where no other is."""
    nodes: tuple[GraphNode, ...] = ()


class ConditionNode(Model):
    """A fork (MA `ConditionContext`). The ways join behind it."""

    type: Literal["condition"] = "condition"
    branches: tuple[Branch, ...] = Field(min_length=1)
    description: str
    source: str | None = None
    """None: nothing tells which way is taken."""


class LoopNode(Model):
    """A loop. Always bounded."""

    type: Literal["loop"] = "loop"
    kind: Literal["collection", "list", "pages", "until", "fixed", "unknown"]
    nodes: tuple[GraphNode, ...] = Field(min_length=1)
    min_iterations: int = Field(ge=0)
    max_iterations: int = Field(ge=0)
    """As observed."""
    until: Condition | None = None
    collection: str | None = None
    shrinking: bool = False
    items: str | None = None
    times: int | None = None
    turn: Selector | None = None
    """What turns to the next page (`pages`); the last one has none."""
    description: str = ""


GraphNode = Annotated[ActionNode | ConditionNode | LoopNode, Field(discriminator="type")]


class ActionGraph(Model):
    """A workflow as synthesized."""

    name: str = Field(default="workflow", min_length=1)
    task_description: str = ""
    agent_action_type: str = "meta_workflow_agent"
    parameters: tuple[GraphParameter, ...] = ()
    nodes: tuple[GraphNode, ...] = ()
    success: Condition | None = None
    trace_ids: tuple[str, ...] = ()
    strategy: str = "rule_based"
    confidence: Probability = 1.0

    def to_json_text(self) -> str:
        """As JSON text."""
        return self.model_dump_json(by_alias=True)

    @classmethod
    def from_json_text(cls, text: str) -> ActionGraph:
        """The graph of such a text. Raises `pydantic.ValidationError`."""
        return cls.model_validate_json(text)

    def actions(self) -> Iterator[ActionNode]:
        """Every action, in document order."""
        yield from _actions(self.nodes)


for _model in (Branch, ConditionNode, LoopNode, ActionGraph):
    _model.model_rebuild()


def _actions(nodes: tuple[ActionNode | ConditionNode | LoopNode, ...]) -> Iterator[ActionNode]:
    for node in nodes:
        if isinstance(node, ActionNode):
            yield node
        elif isinstance(node, LoopNode):
            yield from _actions(node.nodes)
        else:
            for branch in node.branches:
                yield from _actions(branch.nodes)


class GraphBuilder:
    """Makes a graph step by step (MA: the fluent API)."""

    def __init__(self, **fields: Any) -> None:
        """`fields` of `ActionGraph` other than its nodes."""
        self._fields = fields
        self._nodes: list[ActionNode | ConditionNode | LoopNode] = []

    def action(
        self, action_type: str, target: Any = None, args: dict[str, Any] | None = None, **more: Any
    ) -> GraphBuilder:
        """An action. A target in words is CSS, of an agent its goal. `more`: further fields of `ActionNode`."""
        if isinstance(target, str) and vocabulary.canonical(action_type) is not None:
            target = Selector.model_validate(target)
        fields = {"action_type": action_type, "target": target, "args": args or {}, **more}
        self._nodes.append(ActionNode.model_validate(fields))
        return self

    def condition(
        self, *branches: tuple[str, Any, Callable[[GraphBuilder], object]], **more: Any
    ) -> GraphBuilder:
        """A fork: (label, condition or None, what adds the way's nodes) per way."""
        ways = [
            {"label": label, "condition": condition, "nodes": _added(add)}
            for label, condition, add in branches
        ]
        self._nodes.append(ConditionNode.model_validate({"branches": ways, **more}))
        return self

    def loop(self, add: Callable[[GraphBuilder], object], **more: Any) -> GraphBuilder:
        """A loop over the nodes that `add` adds."""
        self._nodes.append(LoopNode.model_validate({"nodes": _added(add), **more}))
        return self

    def build(self) -> ActionGraph:
        """The graph. Raises `pydantic.ValidationError`."""
        return ActionGraph.model_validate({**self._fields, "nodes": tuple(self._nodes)})

    @property
    def nodes(self) -> tuple[ActionNode | ConditionNode | LoopNode, ...]:
        """What was added so far."""
        return tuple(self._nodes)


def _added(add: Callable[[GraphBuilder], object]) -> tuple[ActionNode | ConditionNode | LoopNode, ...]:
    inner = GraphBuilder()
    add(inner)
    return inner.nodes
