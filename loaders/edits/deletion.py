"""Deletes a screen or a task with the edges that lead to it."""

from __future__ import annotations

from kb_schema import KnowledgeBase
from kb_schema.base import Document
from kb_schema.graph_documents import (
    ActionTrigger,
    GlobalRecovery,
    GroupMembership,
    TaskDependency,
    Transition,
)
from kb_schema.screens import StateSignature
from kb_schema.websites import Website
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit
from loaders.edits.renaming import REFERENCE_KINDS, EditTarget, find_places


def delete(knowledge: KnowledgeBase, target: EditTarget) -> KnowledgeEdit:
    """Return the knowledge without a screen or a task.

    Its transitions, memberships, recovery edges, dependencies and signatures go with it. Raises `EditRefused` if
    a task, workflow or flow names it, and `KnowledgeError` if a rule would be broken.
    """
    if target.what not in ("screen", "task"):
        raise EditRefused(f"{target.name!r} is a {target.what}", "only screens and tasks can be deleted")
    places = [
        each
        for each in find_places(knowledge, REFERENCE_KINDS[target.what], target.name)
        if not each.startswith(f"{target.what} {target.name} ")
    ]
    if places:
        raise EditRefused(
            f"{places[0]} names {target.what} {target.name!r}",
            "change or delete that first, or merge the screen into another one"
            if target.what == "screen"
            else "change that first",
        )
    gone = {
        each.local_id
        for each in knowledge.transitions.values()
        if target.what == "screen" and target.name in (each.from_screen, each.to_screen)
    }
    documents = [
        _without_login(each, target) for each in knowledge.documents() if not _belongs(each, target, gone)
    ]
    return check_edit(knowledge, documents)


def _belongs(document: Document, target: EditTarget, gone: set[str]) -> bool:
    if (document.kind, document.local_id) == (target.what, target.name):
        return True
    if isinstance(document, ActionTrigger):
        return document.transition in gone
    if target.what == "task":
        return isinstance(document, TaskDependency) and target.name in (document.from_task, document.to_task)
    if isinstance(document, Transition):
        return document.local_id in gone
    ends = {
        GroupMembership: "screen",
        GlobalRecovery: "to_screen",
        StateSignature: "screen_id",
    }
    field = ends.get(type(document))
    return field is not None and getattr(document, field) == target.name


def _without_login(document: Document, target: EditTarget) -> Document:
    if isinstance(document, Website) and target.what == "task" and document.login_task_id == target.name:
        return document.model_copy(update={"login_task_id": None})
    return document
