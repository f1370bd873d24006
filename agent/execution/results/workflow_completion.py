"""A workflow's nodes as `task_completion` counts them, from the records of the nodes (WR phase 5). Pure.

A node counts like a step that calls a task. A node whose task only leads somewhere, or that waits for a person,
has the weight of a step that only leads. Decision 0094 says which nodes are critical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from agent.execution.call_templates import COMPOSITE_ACTIONS, can_start_anywhere, is_idempotent
from agent.execution.results.completion_parts import READS
from agent.execution.results.task_completion import CompletionPart
from kb_schema.action_documents import Action
from kb_schema.iterators import NoIterator
from kb_schema.run_records import RunResult, RunStatus, StepRecord, StepStatus
from kb_schema.tasks import Task, TaskStep
from kb_schema.workflows import AnyNode, GroupNode, TaskNode, WaitNode

ALMOST = 0.99
"""The largest share of a node whose task is not complete."""


@dataclass(frozen=True, slots=True)
class NodeParts:
    """What a workflow is made of: its nodes, their tasks, and the actions that these use."""

    nodes: Sequence[AnyNode]
    tasks: Mapping[str, Task]
    actions: Mapping[str, Action]
    critical: AbstractSet[str] = frozenset()
    """Ids of nodes without which the workflow fails (WR `criticalSteps`)."""

    def build(
        self, ended: Mapping[str, StepRecord], otherwise: AbstractSet[str]
    ) -> tuple[CompletionPart, ...]:
        """Return one part per node, in order; a loop is one node, a group without loop is its nodes.

        `ended`: node id -> how it ended. `otherwise`: ids of the nodes whose `else_nodes` were chosen. If none of
        the nodes that change the site is done, all of them are critical.
        """
        parts = tuple(self._list(self.nodes, ended, otherwise, optional=False))
        changing = [part for part in parts if part.counts and part.changes]
        if any(part.share > 0 for part in changing):
            return parts
        return tuple(
            replace(part, critical=part.critical or (part.counts and part.changes)) for part in parts
        )

    def starts_anywhere(self, node: AnyNode) -> bool:
        """Return whether a node does not depend on the page where the node before it ended."""
        if not isinstance(node, TaskNode) or not isinstance(node.iterator_spec, NoIterator):
            return False
        task = self.tasks.get(node.task_id)
        return task is not None and can_start_anywhere(task.ordered_steps[0].action)

    def _list(
        self,
        nodes: Sequence[AnyNode],
        ended: Mapping[str, StepRecord],
        otherwise: AbstractSet[str],
        *,
        optional: bool,
    ) -> Iterator[CompletionPart]:
        for node in nodes:
            if node.node_id in otherwise:
                yield from self._list(node.else_nodes, ended, otherwise, optional=optional)
                continue
            record = ended.get(node.node_id)
            left_out = record is not None and record.status is StepStatus.SKIPPED and not record.degraded
            counts = not (optional or node.can_skip or left_out)
            if isinstance(node, GroupNode) and isinstance(node.iterator_spec, NoIterator):
                yield from self._list(node.nodes, ended, otherwise, optional=not counts)
            else:
                yield self._part(node, record, counts=counts)

    def _part(self, node: AnyNode, record: StepRecord | None, *, counts: bool) -> CompletionPart:
        changes, leaves = self._weigh(node)
        share = _share(record)
        return CompletionPart(
            step_id=node.node_id,
            share=share,
            leaves=leaves,
            counts=counts,
            critical=node.node_id in self.critical,
            confidence=None if record is None else record.confidence,
            reached=record is not None,
            degraded=record is not None and (record.degraded or 0 < share < 1),
            changes=changes,
        )

    def _weigh(self, node: AnyNode) -> tuple[bool, bool]:
        """Return whether a node changes the site, or may, and whether it leaves something."""
        if isinstance(node, WaitNode):
            return False, False
        if not isinstance(node, TaskNode) or not isinstance(node.iterator_spec, NoIterator):
            return True, True
        task = self.tasks.get(node.task_id)
        if task is None:
            return True, True
        changes = any(self._changes(step) for step in task.steps)
        reads = bool(task.io_spec.outputs) or any(step.action.canonical_type in READS for step in task.steps)
        return changes, changes or reads

    def _changes(self, step: TaskStep) -> bool:
        if step.action.canonical_type in COMPOSITE_ACTIONS:
            return True
        if step.repeatable is not None:
            return not step.repeatable
        return not is_idempotent(step.action, self.actions.get(step.action.action_type))


def share_of(result: RunResult) -> float:
    """Return how much of a node is done: all of it, or the share of a partial result, or nothing."""
    if result.status.complete:
        return 1.0
    partly = result.status in (RunStatus.PARTIAL, RunStatus.DEGRADED)
    return min(result.completion_percentage / 100, ALMOST) if partly else 0.0


def _share(record: StepRecord | None) -> float:
    if record is None:
        return 0.0
    if record.share is not None:
        return record.share
    return 1.0 if record.status is StepStatus.DONE else 0.0
