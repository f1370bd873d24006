"""The version of a workflow: a digest of what it does, that is of its document and of its tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from kb_schema.base import Document
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.tasks import Task
from kb_schema.workflows import TaskNode, Workflow, walk

_NO_EFFECT = ("website_id", "schema_version", "provenance")
"""Fields that do not change what a workflow does."""


def list_task_ids(workflow: Workflow) -> list[str]:
    """Return the ids of the tasks that a workflow runs, each once, in the order of its nodes."""
    found: dict[str, None] = {}
    for node in walk(workflow.nodes):
        if isinstance(node, TaskNode):
            found[node.task_id] = None
        action = getattr(getattr(node, "iterator_spec", None), "item_action", None)
        if action is not None and action.task_id is not None:
            found[action.task_id] = None
    return list(found)


def compute_workflow_version(workflow: Workflow, tasks: Iterable[Task]) -> str:
    """Return twelve characters that stand for a workflow and its tasks, in any order."""
    parts = [_body(workflow), *sorted((_body(task) for task in tasks), key=lambda each: str(each["task_id"]))]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def find_workflow_version(knowledge: KnowledgeBase, workflow: Workflow, tasks: Iterable[Task] = ()) -> str:
    """Return the version of a workflow with these tasks; the others are those of the knowledge."""
    known = knowledge.tasks | {task.task_id: task for task in tasks}
    used = [known[task_id] for task_id in list_task_ids(workflow) if task_id in known]
    return compute_workflow_version(workflow, used)


def _body(document: Document) -> dict[str, object]:
    return {name: value for name, value in document.to_json().items() if name not in _NO_EFFECT}
