"""What a screen, a task or the website is, and what can be done with it."""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterator

from kb_schema import vocabulary
from kb_schema.answers import (
    AvailableActions,
    Detail,
    DocumentAnswer,
    ElementAction,
    Group,
    Groups,
    NextStep,
    TaskList,
    TaskSummary,
    WebsiteSummary,
)
from kb_schema.base import Document
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from mcp_server.compiled import View
from mcp_server.details import at_level
from mcp_server.errors import BadRequest, UnknownName

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


def available_actions(view: View, screen_id: str) -> AvailableActions:
    """What the elements of a screen afford, where transitions by them lead, and the tasks that use it.

    A transition that needs no element of the screen is listed with an empty `element_id`.
    """
    leads: dict[tuple[str, str], list[str]] = defaultdict(list)
    labels: dict[tuple[str, str], str] = {}
    for way in view.ways.get(screen_id, ()):
        target = way.transition.triggered_by.target
        named = target if isinstance(target, str) else ""
        key = (named, way.action_type) if named else ("", f"{way.action_type}:{way.transition_id}")
        leads[key].append(way.target)
        labels[key] = way.transition.description or way.transition_id.replace("_", " ")
    actions = [
        action.model_copy(update={"leads_to": tuple(dict.fromkeys(leads.pop(key, ())))})
        for key, action in _afforded(view, screen_id)
    ]
    for (element_id, action_type), screens in leads.items():
        actions.append(
            ElementAction(
                element_id=element_id,
                label=labels[element_id, action_type],
                action_type=action_type.partition(":")[0],
                leads_to=tuple(dict.fromkeys(screens)),
            )
        )
    return AvailableActions(
        website_id=view.website_id,
        screen_id=screen_id,
        actions=tuple(actions),
        tasks=view.tasks_of.get(screen_id, ()),
    )


def _afforded(view: View, screen_id: str) -> Iterator[tuple[tuple[str, str], ElementAction]]:
    for element_id, element in view.elements[screen_id].items():
        for affordance in element.affordances:
            action_type = vocabulary.canonical(affordance.action_type) or affordance.action_type
            yield (
                (element_id, action_type),
                ElementAction(
                    element_id=element_id,
                    label=element.label,
                    action_type=action_type,
                    required=affordance.required,
                ),
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
    """A page of the tasks by id. Raises `BadRequest` for a cursor this server did not give."""
    after = "" if cursor is None else _read_cursor(cursor)
    ids = [task_id for task_id in sorted(view.knowledge.tasks) if task_id > after]
    return TaskList(
        website_id=view.website_id,
        tasks=tuple(task_summary(view.knowledge.tasks[task_id]) for task_id in ids[:size]),
        next_cursor=_cursor(ids[size - 1]) if len(ids) > size else None,
    )


def tasks_for_screen(view: View, screen_id: str) -> TaskList:
    """The tasks that begin on, lead to or act on a screen."""
    ids = view.tasks_of.get(screen_id, ())
    tasks = (task_summary(view.knowledge.tasks[task_id]) for task_id in ids)
    return TaskList(website_id=view.website_id, tasks=tuple(tasks))


def task_summary(task: Task) -> TaskSummary:
    """A task in short. An input with a default need not be given."""
    required = [spec.required and spec.default is None for spec in task.io_spec.inputs]
    names = [spec.name for spec in task.io_spec.inputs]
    return TaskSummary(
        task_id=task.task_id,
        name=task.name or task.task_id.replace("_", " "),
        description=task.description,
        required_inputs=tuple(name for name, needed in zip(names, required, strict=True) if needed),
        optional_inputs=tuple(name for name, needed in zip(names, required, strict=True) if not needed),
    )


def next_step(view: View, task: Task, after_step: str | None = None) -> NextStep:
    """The step that follows `after_step` (None: the first), and how many remain after it.

    Raises `UnknownName` for a step the task does not have.
    """
    steps = task.ordered_steps
    ids = [step.step_id for step in steps]
    if after_step is not None and after_step not in ids:
        raise UnknownName("step", after_step, ids, hint=f"steps of task {task.task_id!r}")
    rest = steps if after_step is None else steps[ids.index(after_step) + 1 :]
    return NextStep(
        website_id=view.website_id,
        task_id=task.task_id,
        step=rest[0].to_json() if rest else None,
        remaining=max(0, len(rest) - 1),
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


def _cursor(last: str) -> str:
    return base64.urlsafe_b64encode(last.encode()).decode()


def _read_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as exc:
        raise BadRequest("not a cursor of this server", hint="call list_tasks without a cursor") from exc
