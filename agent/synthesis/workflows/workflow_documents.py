"""Converts an ActionGraph to documents of the knowledge base: a workflow, its tasks and task dependencies.

A sequence of actions becomes a task, and branches become nodes with `when` and `else`. Loops become iterators,
optional steps become nodes that may be skipped, and user-input boundaries become waits for a person. A choice
that the traces do not determine becomes an agent step with a limited number of actions; it is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.synthesis.graph.action_graph import (
    ActionGraph,
    ActionNode,
    ConditionNode,
    GraphParameter,
    LoopNode,
)
from agent.synthesis.graph.runnable_actions import can_write_step
from agent.synthesis.patterns.success_conditions import list_criteria
from agent.synthesis.synthesis_prompts import render_target
from agent.synthesis.utterances.value_forms import build_identifier
from agent.synthesis.workflows.interruption_recovery import add_recoveries, make_recovery
from agent.synthesis.workflows.sign_in_steps import SIGN_IN, count_sign_in_nodes, make_sign_in
from agent.synthesis.workflows.workflow_inputs import list_workflow_inputs
from agent.synthesis.workflows.workflow_tasks import TaskWriter, WrittenTask, describe_action_node
from kb_schema.action_calls import ActionCall
from kb_schema.base import digest
from kb_schema.conditions import Condition, ElementVisible, MaxIterationsReached
from kb_schema.graph_documents import TaskDependency
from kb_schema.io_specs import InputMapping, IoSpec
from kb_schema.iterators import (
    CollectionIterator,
    ItemAction,
    IteratorSpec,
    ListIterator,
    NoIterator,
    PaginationIterator,
    UntilIterator,
)
from kb_schema.selectors import Selector
from kb_schema.tasks import Task
from kb_schema.workflows import AgentNode, AnyNode, GroupNode, Provenance, TaskNode, WaitNode, Workflow, walk

MOST_ROUNDS = 10_000
"""Maximum number of iterations of any loop."""
LEAST_BOUND = 50
_LoweredNode = ActionNode | ConditionNode | LoopNode


@dataclass(frozen=True, slots=True)
class WorkflowDocuments:
    """A workflow with its tasks and task dependencies."""

    workflow: Workflow
    tasks: tuple[Task, ...]
    dependencies: tuple[TaskDependency, ...]
    notes: tuple[str, ...] = ()
    """What was omitted or left to an agent, and why."""
    sign_in: str | None = None
    """The task that signs in; None if the workflow does not begin with that."""


def build_workflow_documents(
    graph: ActionGraph, *, agent_max_steps: int = 5, screens: Mapping[int, str] | None = None
) -> WorkflowDocuments:
    """Return the documents of a graph.

    `screens` maps positions to screen ids; the steps of these positions get the screen as a precondition.
    A graph without actions becomes a workflow with one agent step.
    """
    return _DocumentBuilder(graph, agent_max_steps, screens or {}).result()


@dataclass(slots=True)
class _VariableScope:
    """The variables that are in scope."""

    items: frozenset[str] = frozenset()
    """Variables of the items of loops."""
    read_in: dict[str, str] = field(default_factory=dict)
    """Maps a variable that is read from a page to the task that reads it."""


class _DocumentBuilder:
    """Builds the documents of one graph."""

    def __init__(self, graph: ActionGraph, agent_max_steps: int, screens: Mapping[int, str]) -> None:
        self._graph, self._max_steps = graph, agent_max_steps
        self._name = _local_id(graph.name)
        self._parameters = {parameter.name: parameter for parameter in graph.parameters}
        self._writer = TaskWriter(self._name, self._parameters, screens)
        self._count = 0
        self._lists: dict[str, str] = {}
        """Maps list inputs that are iterated over to their variables."""
        self._notes: list[str] = []
        self._interruptions: list[ActionNode] = []
        """Presses that answer what may come at any step."""

    def result(self) -> WorkflowDocuments:
        scope = _VariableScope()
        secrets = {name for name, each in self._parameters.items() if each.secret}
        count = count_sign_in_nodes(self._graph.nodes, secrets, self._is_step)
        nodes = [
            *self._sign_in(self._graph.nodes[:count], scope),
            *self._nodes(self._graph.nodes[count:], scope),
        ]
        if not nodes:
            nodes = [self._agent(self._graph.task_description or self._graph.name)]
            self._notes.append("the traces show no steps: the whole task is left to an agent step")
        graph = self._graph
        workflow = Workflow(
            workflow_id=self._name,
            name=graph.name,
            description=graph.task_description,
            io_spec=IoSpec(inputs=tuple(list_workflow_inputs(nodes, self._parameters, self._lists))),
            nodes=tuple(nodes),
            success_criteria=list_criteria(graph.success),
            read_back=graph.read_back,
            provenance=Provenance(
                trace_ids=graph.trace_ids, synthesis_strategy=graph.strategy, confidence=graph.confidence
            ),
        )
        return WorkflowDocuments(
            workflow,
            self._tasks_with_recoveries(),
            tuple(self._edges(workflow)),
            tuple(self._notes),
            SIGN_IN if count else None,
        )

    def _tasks_with_recoveries(self) -> tuple[Task, ...]:
        """Return the tasks; each uses the answers to what may come at any step."""
        made: dict[str, Task] = {}
        for node in self._interruptions:
            condition = _find_skip_condition(node)
            if condition is None:
                continue
            alone = TaskWriter(self._name, self._parameters).write([_plain(node)]).task
            name = f"{self._name}_answer_{len(made) + 1}"
            made.setdefault(render_target(node.target), make_recovery(alone, name, condition))
        tasks = tuple(self._writer.tasks)
        return add_recoveries(tasks, list(made.values())) if made else tasks

    # -- nodes

    def _sign_in(self, nodes: Sequence[_LoweredNode], scope: _VariableScope) -> list[AnyNode]:
        """Convert the sign-in at the beginning: a task of its own, with its optional steps in it."""
        actions = [node for node in nodes if isinstance(node, ActionNode)]
        self._notes += [_describe_omission(node) for node in actions if node.left_out is not None]
        kept = [node for node in actions if node.left_out is None]
        optional = {
            describe_action_node(node): condition
            for node in kept
            if node.no_action_if_target_not_found and (condition := _find_skip_condition(node)) is not None
        }
        if not kept:
            return []
        self._interruptions += [node for node in kept if node.interrupts]
        written = self._writer.write([_plain(node) for node in kept])
        written = self._writer.rename(written, make_sign_in(written.task, optional))
        return [self._task_node(written, scope)]

    def _is_step(self, node: ActionNode) -> bool:
        """Whether a node can be a step of the sign-in, perhaps one that is skipped or was omitted."""
        if node.no_action_if_target_not_found and _find_skip_condition(node) is None:
            return False
        return node.left_out is not None or (not node.reads and self._is_straight(_plain(node)))

    def _nodes(self, nodes: Sequence[_LoweredNode], scope: _VariableScope) -> list[AnyNode]:
        """Convert a sequence of nodes: adjacent plain actions form one task."""
        made: list[AnyNode] = []
        straight: list[ActionNode] = []
        for node in nodes:
            if isinstance(node, ActionNode):
                if node.left_out is not None:
                    self._notes.append(_describe_omission(node))
                    continue
                if self._is_straight(node):
                    straight.append(node)
                    continue
            made += self._tasks(straight, scope)
            straight = []
            if isinstance(node, ActionNode):
                made.append(self._special(node, scope))
            elif isinstance(node, ConditionNode):
                made += self._fork(node, scope)
            else:
                made.append(self._loop(node, scope))
        return [*made, *self._tasks(straight, scope)]

    def _is_straight(self, node: ActionNode) -> bool:
        return not (
            node.no_action_if_target_not_found
            or node.target is True
            or node.action_type == self._graph.agent_action_type
            or not can_write_step(node)
        )

    def _tasks(self, actions: Sequence[ActionNode], scope: _VariableScope) -> list[AnyNode]:
        if not actions:
            return []
        written = self._writer.write(actions)
        for name in written.reads:
            scope.read_in[name] = written.task.task_id
        return [self._task_node(written, scope)]

    def _task_node(self, written: WrittenTask, scope: _VariableScope, **more: Any) -> TaskNode:
        inputs = {name: self._mapping(name, scope) for name in sorted(written.needs)}
        return TaskNode(type="task", node_id=self._id(), task_id=written.task.task_id, inputs=inputs, **more)

    def _mapping(self, name: str, scope: _VariableScope) -> InputMapping:
        """Return the source of a task's input when the task begins."""
        parameter = self._parameters.get(name)
        if name in scope.read_in:
            return InputMapping(source=("task_output",), task_id=scope.read_in[name], key=name)
        if parameter is not None and parameter.source == "item":
            return InputMapping(source=("context",), key=_item_key(parameter))
        return InputMapping(source=("task_context",), key=name)

    def _special(self, node: ActionNode, scope: _VariableScope) -> AnyNode:
        if node.target is True:
            prompt = str(node.args.get("prompt") or node.args.get("message") or "A person must continue here")
            return WaitNode(type="wait", node_id=self._id(), prompt=prompt)
        if node.action_type == self._graph.agent_action_type or not can_write_step(node):
            goal = (
                node.target
                if isinstance(node.target, str)
                else f"{node.action_type} {render_target(node.target)}"
            )
            self._notes.append(f"left to an agent step: {goal}")
            return self._agent(goal)
        if node.interrupts:
            self._interruptions.append(node)
        written = self._writer.write([_plain(node)])
        return self._task_node(written, scope, can_skip=True, skip_unless=_find_skip_condition(node))

    def _agent(self, goal: str, until: Condition | None = None) -> AgentNode:
        return AgentNode(
            type="agent", node_id=self._id(), goal=goal[:4_000], max_steps=self._max_steps, until=until
        )

    # -- branches

    def _fork(self, node: ConditionNode, scope: _VariableScope) -> list[AnyNode]:
        ways = [way for way in node.branches if way.nodes]
        if node.source is None:
            told = "; or ".join(f"{way.label}: {_summary(way.nodes)}" for way in ways)
            self._notes.append(f"left to an agent step: {node.description}")
            return [self._agent(f"Choose the path that fits the page: {told}")]
        otherwise: tuple[AnyNode, ...] = ()
        if all(way.nodes and way.condition is not None for way in node.branches):
            # Every trace took one of these branches: if none fits, an agent must decide.
            otherwise = (self._agent(f"None of the known branches fits: {_summary([node])}"),)
        for way in sorted(ways, key=lambda each: each.condition is not None):
            inner = _VariableScope(scope.items, dict(scope.read_in))
            nodes = self._nodes(way.nodes, inner)
            if not nodes:
                continue
            if way.condition is None:
                otherwise = tuple(nodes)
                continue
            single = nodes[0] if len(nodes) == 1 else None
            free = (
                isinstance(single, TaskNode | AgentNode | WaitNode)
                and not single.when
                and not single.can_skip
            )
            if single is None or not free:
                single = GroupNode(type="group", node_id=self._id(), nodes=tuple(nodes))
            otherwise = (single.model_copy(update={"when": (way.condition,), "else_nodes": otherwise}),)
        return list(otherwise)

    # -- loops

    def _loop(self, node: LoopNode, scope: _VariableScope) -> AnyNode:
        if node.kind == "unknown":
            self._notes.append(f"left to an agent step: a loop, {node.description}")
            return self._agent(f"Repeat as long as necessary: {_summary(node.nodes)}")
        return self._repeated(self._nodes(node.nodes, scope), lambda item: self._iterator(node, item))

    def _repeated(self, body: list[AnyNode], iterator: Any) -> AnyNode:
        """Return a body as a repeated node: the task itself if it is the only node, else a group."""
        single = body[0] if len(body) == 1 else None
        if (
            isinstance(single, TaskNode)
            and not single.when
            and not single.can_skip
            and isinstance(single.iterator_spec, NoIterator)
        ):
            inputs = {name: "{" + (mapping.key or name) + "}" for name, mapping in single.inputs.items()}
            item = ItemAction(task_id=single.task_id, inputs=inputs)
            outer = {name: each for name, each in single.inputs.items() if each.source != ("context",)}
            spec: IteratorSpec = iterator(item)
            return single.model_copy(update={"iterator_spec": spec, "inputs": outer})
        return GroupNode(
            type="group",
            node_id=self._id(),
            nodes=tuple(body),
            iterator_spec=iterator(ItemAction(runs_nodes=True)),
        )

    def _iterator(self, node: LoopNode, item: ItemAction) -> IteratorSpec:
        bound = _compute_loop_bound(node)
        if node.kind == "collection" and node.collection is not None:
            return CollectionIterator(
                type="collection_processing",
                collection_selector=node.collection,
                item_action=item,
                termination_condition=node.until,
                max_iterations=bound,
            )
        if node.kind == "list" and node.items is not None:
            name = self._lists.setdefault(node.items, build_identifier(node.items) or "items")
            return ListIterator(
                type="list_processing", items=f"{{{name}}}", item_action=item, max_iterations=bound
            )
        if node.kind == "pages" and node.turn is not None:
            return PaginationIterator(
                type="pagination",
                item_action=item,
                max_iterations=bound,
                next_page=ActionCall(
                    action_type="click", target=node.turn, fingerprint=node.turn_fingerprint
                ),
            )
        over = node.until
        if over is None:
            times = node.times if node.times is not None else node.max_iterations
            over = MaxIterationsReached(type="max_iterations_reached", max_iterations=times)
        return UntilIterator(type="until", item_action=item, termination_condition=over, max_iterations=bound)

    # -- the whole

    def _edges(self, workflow: Workflow) -> Iterable[TaskDependency]:
        """Yield a dependency of each task on its possible predecessors, with the condition under which it runs.

        Only the first occurrence of a task counts, since a repeated task would make a cycle.
        """
        first: dict[str, int] = {}
        for node in walk(workflow.nodes):
            if isinstance(node, TaskNode):
                first.setdefault(node.task_id, len(first))
        found: dict[tuple[str, str], Condition | None] = {}
        _link_tasks(workflow.nodes, (), None, found)
        for order, ((task, before), condition) in enumerate(found.items(), 1):
            if first[before] < first[task]:
                yield TaskDependency.model_validate(
                    {
                        "type": "depends_on",
                        "_from": task,
                        "_to": before,
                        "order": order,
                        "condition": condition,
                    }
                )

    def _id(self) -> str:
        self._count += 1
        return f"n{self._count}"


def _plain(node: ActionNode) -> ActionNode:
    """Return an optional action as one that is always performed."""
    return node.model_copy(update={"no_action_if_target_not_found": False, "only_if": None})


def _find_skip_condition(node: ActionNode) -> Condition | None:
    """Return what must hold for an optional action."""
    if node.only_if is None and isinstance(node.target, Selector):
        return ElementVisible(type="element_visible", element=node.target)
    return node.only_if


def _describe_omission(node: ActionNode) -> str:
    return f"{node.action_type} {render_target(node.target)} is omitted: {node.left_out}"


def _link_tasks(
    nodes: Iterable[AnyNode],
    before: tuple[str, ...],
    condition: Condition | None,
    found: dict[tuple[str, str], Condition | None],
) -> tuple[str, ...]:
    """Record which task follows which; return the tasks that may be last."""
    for node in nodes:
        when = node.when[0] if node.when else condition
        if isinstance(node, TaskNode):
            for each in before:
                found.setdefault((node.task_id, each), when)
            done: tuple[str, ...] = (node.task_id,)
        else:
            done = _link_tasks(node.nodes, before, when, found) if isinstance(node, GroupNode) else before
        otherwise = _link_tasks(node.else_nodes, before, None, found) if node.when else ()
        skipped = before if node.can_skip else ()
        before = tuple(dict.fromkeys((*done, *otherwise, *skipped)))
    return before


def _compute_loop_bound(node: LoopNode) -> int:
    """Return ten times the observed number of iterations, as a limit that is not reached normally."""
    return min(MOST_ROUNDS, max(LEAST_BOUND, 10 * max(node.max_iterations, node.times or 0)))


def _item_key(parameter: GraphParameter) -> str:
    return f"item.{parameter.key}" if parameter.key else "item"


def _local_id(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-")[:120]
    return plain or f"workflow_{digest(name)}"


def _summary(nodes: Iterable[_LoweredNode]) -> str:
    told = []
    for node in nodes:
        if isinstance(node, ActionNode):
            told.append(f"{node.action_type} {render_target(node.target)}".strip())
        elif isinstance(node, LoopNode):
            told.append(f"repeat ({_summary(node.nodes)})")
        else:
            told.append(" or ".join(f"({_summary(way.nodes)})" for way in node.branches))
    return ", ".join(told)[:1_000]


__all__ = ["WorkflowDocuments", "build_workflow_documents"]
