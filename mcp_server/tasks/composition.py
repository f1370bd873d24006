"""What a task is composed of: the tasks it runs by a step, an iterator or an edge, and those it depends on.

The steps are in the documents, so this is answered from the compiled view, whatever holds the edges (decision 87).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kb_schema.graph_documents import TaskDependency
from kb_schema.tasks import Task
from kb_schema.tool_answers import TaskPart
from kb_schema.workflow_versions import list_named_parts
from mcp_server.knowledge.compiled_view import KnowledgeView


def list_parts(view: KnowledgeView, task_id: str) -> tuple[TaskPart, ...]:
    """Return every task that a run of a task or workflow may run: by level, then by id; each once."""
    edges: dict[str, list[TaskDependency]] = {}
    for edge in view.knowledge.dependencies:
        edges.setdefault(edge.from_task, []).append(edge)
    found: dict[str, TaskPart] = {}
    front, level = [task_id], 0
    while front:
        level += 1
        new: dict[str, TaskPart] = {}
        for by in front:
            for other, relation in _list_direct(view, by, edges.get(by, [])):
                if other != task_id and other not in found and other not in new:
                    new[other] = TaskPart(task_id=other, level=level, by=by, relation=relation)
        front = sorted(new)
        found |= {each: new[each] for each in front}
    return tuple(found.values())


def _list_direct(
    view: KnowledgeView, task_id: str, edges: list[TaskDependency]
) -> Iterator[tuple[str, Literal["runs", "depends_on"]]]:
    known = view.knowledge.workflows.get(task_id) or view.knowledge.tasks.get(task_id)
    if isinstance(known, Task):  # what undoes a task is no part of it
        known = known.model_copy(update={"reversible_by": None, "reversibility": None})
    for other in () if known is None else list_named_parts(known).tasks:
        if other in view.knowledge.tasks:
            yield other, "runs"
    for edge in edges:
        yield edge.to_task, "runs" if edge.type == "composes" else "depends_on"
