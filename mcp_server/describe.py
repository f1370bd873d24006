"""What a screen, a task or the website is. What can be done on a screen is `here`, what is next `steps`."""

from __future__ import annotations

from kb_schema.answers import Detail, DocumentAnswer, Group, Groups, TaskList, TaskSummary, WebsiteSummary
from kb_schema.base import Document
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from mcp_server import cursors
from mcp_server.compiled import View
from mcp_server.details import at_level

PAGE_OF_TASKS = 50


def document(view: View, wanted: Document, detail: Detail) -> DocumentAnswer:
    """A document at a level of detail; a screen comes with the elements of its layouts."""
    if isinstance(wanted, Screen):
        elements = tuple(view.elements[wanted.screen_id].values())
        wanted = wanted.model_copy(update={"ui_elements": elements})
    return DocumentAnswer(
        website_id=view.website_id,
        kind=wanted.kind,
        id=wanted.local_id,
        detail=detail,
        document=at_level(wanted, detail),
    )


def groups(view: View, screen_id: str) -> Groups:
    """The groups of a screen, by id."""
    found = (view.knowledge.groups[group] for group in view.groups_of.get(screen_id, ()))
    return Groups(
        website_id=view.website_id,
        screen_id=screen_id,
        groups=tuple(
            Group(group_id=each.group_id, name=each.name, recovery_priority=each.recovery_priority)
            for each in found
        ),
    )


def task_list(view: View, cursor: str | None = None, *, size: int = PAGE_OF_TASKS) -> TaskList:
    """A page of the tasks and workflows by id. Raises `BadRequest` for a cursor this server did not give."""
    begin = cursors.read(cursor, "tasks")
    work: dict[str, Task | Workflow] = {**view.knowledge.workflows, **view.knowledge.tasks}
    ids = sorted(work)
    return TaskList(
        website_id=view.website_id,
        tasks=tuple(task_summary(work[each]) for each in ids[begin : begin + size]),
        next_cursor=cursors.make(begin + size, "tasks") if len(ids) > begin + size else None,
    )


def task_summary(task: Task | Workflow) -> TaskSummary:
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


def website_summary(view: View) -> WebsiteSummary:
    """A website in short."""
    return WebsiteSummary(
        website_id=view.website_id,
        name=view.website.name,
        base_url=view.website.base_url,
        screens=len(view.knowledge.screens),
        tasks=len(view.knowledge.tasks),
        flows=tuple(sorted(view.knowledge.flows)),
    )
