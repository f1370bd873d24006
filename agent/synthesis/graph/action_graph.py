"""The ActionGraph: a synthesized workflow as a tree of actions, branches and loops (MA 7).

Values are templates over variables (`{name}`; in selectors `{{name}}`). The graph can be written to JSON
and read back, is built with `GraphBuilder`, and `workflows.workflow_documents` converts it to documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from kb_schema import action_types
from kb_schema.base import Model, Probability
from kb_schema.conditions import Condition
from kb_schema.fingerprints import Fingerprint
from kb_schema.io_specs import RankedExtraction
from kb_schema.read_backs import PageReadBack
from kb_schema.selectors import Selector


class GraphReading(Model):
    """A value that is read from the page before an action."""

    name: str = Field(min_length=1)
    selector: str = Field(min_length=1)
    """CSS; XPath if it begins with `/`."""
    pattern: str | None = None
    ranked: RankedExtraction | None = None
    """How the value is found among rows, if it is the least or greatest of a column; `selector` is the first row."""


class GraphParameter(Model):
    """A variable of the graph and the source of its value."""

    name: str = Field(min_length=1)
    source: Literal["input", "item", "output", "user_input", "computed"]
    key: str = ""
    formula: str = ""
    """For the source `computed`: the two values with their sign, as a template: `{to} - {from}`."""
    description: str = ""
    secret: bool = False
    evidence: str = ""
    optional: bool = False
    """Whether runs may leave it out."""
    plain_number: bool = False
    """Whether the traces show only numbers without grouped thousands: others are typed so, too."""


class ActionNode(Model):
    """One action; an agent step with a limited number of actions if `action_type` is the graph's agent."""

    type: Literal["action"] = "action"
    action_type: str = Field(min_length=1)
    target: Selector | Literal[True] | str | None = None
    """True: wait for a person. A string: the goal of an agent step."""
    args: dict[str, JsonValue] = Field(default_factory=dict)
    no_action_if_target_not_found: bool = False
    only_if: Condition | None = None
    """Condition under which an optional action is performed."""
    left_out: str | None = None
    """Why an optional action is omitted; None if it is not."""
    interrupts: bool = False
    """Whether an optional action answers what came by itself, and may come at any other action."""
    fingerprint: Fingerprint | None = None
    """What the recordings of this action have in common about its element."""
    address: Condition | None = None
    """The address on which all traces performed this action."""
    postcondition: Condition | None = None
    """What all traces showed after this action and not before it."""
    already_done_when: tuple[Condition, ...] = ()
    """If all hold, the control says that the action is done, and it would undo it."""
    reads: tuple[GraphReading, ...] = ()
    awaits: Selector | None = None
    """Element that must be present before the action."""
    position: int | None = None
    """Index of the position of the alignment that it was made from."""
    confidence: Probability = 1.0
    decision_source: Literal["rule", "llm", "hybrid"] = "rule"


class Branch(Model):
    """One path of a condition node."""

    label: str
    condition: Condition | None = None
    """None: the default branch."""
    nodes: tuple[GraphNode, ...] = ()


class ConditionNode(Model):
    """Alternative branches, which join after the node (MA `ConditionContext`)."""

    type: Literal["condition"] = "condition"
    branches: tuple[Branch, ...] = Field(min_length=1)
    description: str
    source: str | None = None
    """What the conditions were derived from; None if the choice could not be derived."""


class LoopNode(Model):
    """A loop with a limited number of iterations."""

    type: Literal["loop"] = "loop"
    kind: Literal["collection", "list", "pages", "until", "fixed", "unknown"]
    nodes: tuple[GraphNode, ...] = Field(min_length=1)
    min_iterations: int = Field(ge=0)
    max_iterations: int = Field(ge=0)
    """Largest number of iterations in a trace."""
    until: Condition | None = None
    collection: str | Selector | None = None
    shrinking: bool = False
    items: str | None = None
    times: int | None = None
    turn: Selector | None = None
    """Element that opens the next page (kind `pages`); the last page does not have it."""
    turn_fingerprint: Fingerprint | None = None
    description: str = ""


GraphNode = Annotated[ActionNode | ConditionNode | LoopNode, Field(discriminator="type")]


class ActionGraph(Model):
    """A synthesized workflow."""

    name: str = Field(default="workflow", min_length=1)
    task_description: str = ""
    agent_action_type: str = "meta_workflow_agent"
    parameters: tuple[GraphParameter, ...] = ()
    nodes: tuple[GraphNode, ...] = ()
    success: Condition | None = None
    read_back: PageReadBack | None = None
    trace_ids: tuple[str, ...] = ()
    strategy: str = "rule_based"
    confidence: Probability = 1.0

    def to_json_text(self) -> str:
        """Return the graph as JSON text."""
        return self.model_dump_json(by_alias=True)

    @classmethod
    def from_json_text(cls, text: str) -> ActionGraph:
        """Return the graph of a JSON text. Raises `pydantic.ValidationError`."""
        return cls.model_validate_json(text)

    def actions(self) -> Iterator[ActionNode]:
        """Yield every action in document order."""
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
    """Builds a graph step by step (MA: the fluent API)."""

    def __init__(self, **fields: Any) -> None:
        """`fields` are the fields of `ActionGraph` except its nodes."""
        self._fields = fields
        self._nodes: list[ActionNode | ConditionNode | LoopNode] = []

    def action(
        self, action_type: str, target: Any = None, args: dict[str, Any] | None = None, **more: Any
    ) -> GraphBuilder:
        """Add an action. A target string is CSS, or the goal of an agent. `more` are fields of `ActionNode`."""
        if isinstance(target, str) and action_types.canonical(action_type) is not None:
            target = Selector.model_validate(target)
        fields = {"action_type": action_type, "target": target, "args": args or {}, **more}
        self._nodes.append(ActionNode.model_validate(fields))
        return self

    def condition(
        self, *branches: tuple[str, Any, Callable[[GraphBuilder], object]], **more: Any
    ) -> GraphBuilder:
        """Add a condition node. Each branch is (label, condition or None, function that adds its nodes)."""
        ways = [
            {"label": label, "condition": condition, "nodes": _added(add)}
            for label, condition, add in branches
        ]
        self._nodes.append(ConditionNode.model_validate({"branches": ways, **more}))
        return self

    def loop(self, add: Callable[[GraphBuilder], object], **more: Any) -> GraphBuilder:
        """Add a loop over the nodes that `add` adds."""
        self._nodes.append(LoopNode.model_validate({"nodes": _added(add), **more}))
        return self

    def build(self) -> ActionGraph:
        """Return the graph. Raises `pydantic.ValidationError`."""
        return ActionGraph.model_validate({**self._fields, "nodes": tuple(self._nodes)})

    @property
    def nodes(self) -> tuple[ActionNode | ConditionNode | LoopNode, ...]:
        """The nodes that were added so far."""
        return tuple(self._nodes)


def _added(add: Callable[[GraphBuilder], object]) -> tuple[ActionNode | ConditionNode | LoopNode, ...]:
    inner = GraphBuilder()
    add(inner)
    return inner.nodes
