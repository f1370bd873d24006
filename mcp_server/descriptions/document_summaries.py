"""Descriptions of a website, a screen or a task. Available actions and next steps have modules of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kb_schema.base import Document
from kb_schema.graph_documents import TaskDependency, Transition
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.tool_answers import (
    Detail,
    DocumentAnswer,
    GroupList,
    GroupSummary,
    TaskList,
    TaskSummary,
    WebsiteSummary,
)
from kb_schema.workflows import TaskNode, Workflow, walk
from mcp_server import cursors
from mcp_server.document_text.detail_levels import reduce_to_level
from mcp_server.document_text.screen_lines import describe_screen
from mcp_server.knowledge.compiled_view import KnowledgeView

PAGE_OF_TASKS = 50


def describe_document(view: KnowledgeView, wanted: Document, detail: Detail) -> DocumentAnswer:
    """A document at a level of detail; a screen comes with the elements of its layouts."""
    document: dict[str, Any] | None = None
    if isinstance(wanted, Screen):
        own = {each.element_id for each in wanted.ui_elements}
        elements = view.elements[wanted.screen_id]
        wanted = wanted.model_copy(update={"ui_elements": tuple(elements.values())})
        if detail == "working":
            document = describe_screen(wanted, shared=[each for each in elements if each not in own])
    return DocumentAnswer(
        website_id=view.website_id,
        kind=wanted.kind,
        id=wanted.local_id,
        detail=detail,
        document=document or reduce_to_level(wanted, detail),
    )


def describe_groups(view: KnowledgeView, screen_id: str) -> GroupList:
    """The groups of a screen, by id."""
    found = (view.knowledge.groups[group] for group in view.groups_of.get(screen_id, ()))
    return GroupList(
        website_id=view.website_id,
        screen_id=screen_id,
        groups=tuple(
            GroupSummary(group_id=each.group_id, name=each.name, recovery_priority=each.recovery_priority)
            for each in found
        ),
    )


def list_dependencies(view: KnowledgeView, task_id: str) -> list[TaskDependency]:
    """Return the edges by which a task depends on others, in the order in which they are carried out."""
    found = [
        each
        for each in view.knowledge.dependencies
        if each.type == "depends_on" and each.from_task == task_id
    ]
    return sorted(found, key=lambda each: (each.order is None, each.order or 0, each.local_id))


def describe_dependencies(view: KnowledgeView, task_id: str) -> tuple[dict[str, Any], ...]:
    """Return the same edges as JSON that still parses."""
    return tuple(reduce_to_level(each, "full") for each in list_dependencies(view, task_id))


def list_triggered(view: KnowledgeView, action_id: str) -> list[Transition]:
    """Return the transitions that an action causes, as its edges say or by calling it, by id."""
    transitions = view.knowledge.transitions
    named = {edge.transition for edge in view.knowledge.triggers if edge.action == action_id}
    named |= {key for key, each in transitions.items() if each.triggered_by.action_type == action_id}
    return [transitions[key] for key in sorted(named) if key in transitions]


def describe_triggers(view: KnowledgeView, action_id: str) -> tuple[str, ...]:
    """Return the same transitions in words: `save: form -> list`."""
    found = list_triggered(view, action_id)
    return tuple(f"{each.local_id}: {each.from_screen} -> {each.to_screen}" for each in found)


def list_tasks(view: KnowledgeView, cursor: str | None = None, *, size: int = PAGE_OF_TASKS) -> TaskList:
    """Return one page of the tasks and workflows, by id; without the parts of which workflows were made.

    Raises `BadRequest` for a foreign cursor.
    """
    begin = cursors.read(cursor, "tasks")
    work: dict[str, Task | Workflow] = {**view.knowledge.workflows, **view.knowledge.tasks}
    ids = sorted(work.keys() - _made_parts(view.knowledge.workflows.values()))
    return TaskList(
        website_id=view.website_id,
        tasks=tuple(summarize_task(work[each]) for each in ids[begin : begin + size]),
        next_cursor=cursors.make(begin + size, "tasks") if len(ids) > begin + size else None,
    )


def _made_parts(workflows: Iterable[Workflow]) -> set[str]:
    """Return the ids of tasks that synthesis made for a workflow: they are called after it."""
    return {
        node.task_id
        for workflow in workflows
        if workflow.provenance is not None
        for node in walk(workflow.nodes)
        if isinstance(node, TaskNode) and node.task_id.startswith(f"{workflow.workflow_id}_")
    }


def summarize_task(task: Task | Workflow) -> TaskSummary:
    """A task or workflow in short. An input with a default need not be given."""
    required = [spec.required and spec.default is None for spec in task.io_spec.inputs]
    names = [spec.name for spec in task.io_spec.inputs]
    return TaskSummary(
        task_id=task.local_id,
        name=task.name or task.local_id.replace("_", " "),
        description=task.description,
        relation="workflow" if isinstance(task, Workflow) else None,
        required_inputs=tuple(name for name, needed in zip(names, required, strict=True) if needed),
        optional_inputs=tuple(name for name, needed in zip(names, required, strict=True) if not needed),
    )


def summarize_website(view: KnowledgeView) -> WebsiteSummary:
    """A website in short."""
    return WebsiteSummary(
        website_id=view.website_id,
        name=view.website.name,
        base_url=view.website.base_url,
        screens=len(view.knowledge.screens),
        tasks=len(view.knowledge.tasks),
        flows=tuple(sorted(view.knowledge.flows)),
    )
