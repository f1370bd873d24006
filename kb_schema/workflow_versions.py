"""What a workflow consists of, and its version: a digest of what it does.

A workflow consists of its document, of the tasks that it can run, at any depth, and of the action documents that these
use. Screens are no part of it: elements are healed without a new version. Nor are tasks that only error rules or the
website name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

from kb_schema.action_documents import Action
from kb_schema.base import Document
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.rules.reference_names import ANY_ACTION
from kb_schema.rules.references import list_references
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

_NO_EFFECT = ("website_id", "schema_version", "provenance")
"""Fields that do not change what a workflow does."""


class NamedParts(NamedTuple):
    """The names of what a document uses; those of actions may be mere action types."""

    tasks: tuple[str, ...]
    actions: tuple[str, ...]
    screens: tuple[str, ...]


def list_named_parts(document: Document) -> NamedParts:
    """Return the names of the tasks, actions and screens that a document uses, each once."""
    found = dict.fromkeys(list_references(document))
    if isinstance(document, Task) and document.read_back is not None:
        found["task", document.read_back.task_id or ""] = None
        found["screen", document.read_back.screen_id or ""] = None
    names = {
        wanted: tuple(name for kind, name in found if kind == wanted and name)
        for wanted in ("task", ANY_ACTION, "screen")
    }
    return NamedParts(names["task"], names[ANY_ACTION], names["screen"])


class WorkflowParts(NamedTuple):
    """What a workflow uses of the knowledge."""

    tasks: tuple[Task, ...]
    actions: tuple[Action, ...]
    screens: tuple[str, ...]
    """The ids of the screens that it names."""


def list_workflow_parts(
    knowledge: KnowledgeBase, workflow: Workflow, tasks: Iterable[Task] = ()
) -> WorkflowParts:
    """Return what a workflow uses, with these tasks instead of those of the knowledge. Missing parts are left out."""
    known = {**knowledge.tasks, **{task.task_id: task for task in tasks}}
    used: dict[str, Task] = {}
    actions: dict[str, Action] = {}
    screens: dict[str, None] = {}
    waiting: list[Document] = [workflow]
    while waiting:
        named = list_named_parts(waiting.pop())
        fresh = {name: known[name] for name in named.tasks if name in known and name not in used}
        acts = {
            name: knowledge.actions[name]
            for name in named.actions
            if name in knowledge.actions and name not in actions
        }
        used |= fresh
        actions |= acts
        screens |= dict.fromkeys(name for name in named.screens if name in knowledge.screens)
        waiting += [*fresh.values(), *acts.values()]
    return WorkflowParts(tuple(used.values()), tuple(actions.values()), tuple(screens))


def compute_workflow_version(
    workflow: Workflow, tasks: Iterable[Task], actions: Iterable[Action] = ()
) -> str:
    """Return twelve characters that stand for a workflow, its tasks and its actions, in any order."""
    parts = [
        _body(workflow),
        *sorted((_body(task) for task in tasks), key=lambda each: str(each["task_id"])),
        *sorted((_body(action) for action in actions), key=lambda each: str(each["action_id"])),
    ]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def find_workflow_version(knowledge: KnowledgeBase, workflow: Workflow, tasks: Iterable[Task] = ()) -> str:
    """Return the version of a workflow with these tasks; the others are those of the knowledge."""
    parts = list_workflow_parts(knowledge, workflow, tasks)
    return compute_workflow_version(workflow, parts.tasks, parts.actions)


def _body(document: Document) -> dict[str, object]:
    return {name: value for name, value in document.to_json().items() if name not in _NO_EFFECT}
