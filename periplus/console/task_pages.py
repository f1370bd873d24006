"""The pages about tasks and workflows: inputs, steps, screens and last runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.conditions import BaseCondition, OnScreen
from kb_schema.io_specs import InputSpec
from kb_schema.run_records import StoredRun
from kb_schema.tasks import Task
from kb_schema.workflows import AgentNode, GroupNode, TaskNode, WaitNode, Workflow, WorkflowNode
from kb_store import StoreError
from mcp_server.descriptions import document_summaries
from mcp_server.errors import UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView
from periplus.console import step_descriptions
from periplus.console.console_framework import ConsoleContext, ConsoleContextParam, get_person, render
from periplus.console.run_labels import MARKS
from periplus.console.run_list import RunListRow, build_run_row

ROWS = 200
"""Rows per page of the list."""
LOOKED_AT = 500
"""How many of a website's newest runs are searched for the last run of each task."""
LAST_RUNS = 10

router = APIRouter()


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task or workflow in the list."""

    work: Task | Workflow
    kind: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    size: int
    last: RunListRow | None


@dataclass(frozen=True, slots=True)
class TaskInputView:
    """One input. The default of a secret is not shown."""

    name: str
    kind: str
    required: bool
    secret: bool
    source: str
    default: str
    description: str


@dataclass(frozen=True, slots=True)
class TaskStepView:
    """One step."""

    name: str
    words: str
    notes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    task_id: str | None = None
    """The task it runs."""
    depth: int = 0


@router.get("/sites/{site}/tasks")
async def tasks(
    request: Request, site: str, parts: ConsoleContextParam, page: Annotated[int, Query(ge=1, le=100_000)] = 1
) -> Response:
    """List the tasks and workflows. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    knowledge = visit.view.knowledge
    runs, missing = await _runs(parts, site)
    newest = {run.subject: run for run in reversed(runs)}
    work: list[Task | Workflow] = [*knowledge.workflows.values(), *knowledge.tasks.values()]
    pages = max(1, -(-len(work) // ROWS))
    page = min(page, pages)
    today = datetime.now(UTC).date()
    rows = []
    for each in work[(page - 1) * ROWS : page * ROWS]:
        last = newest.get(each.local_id)
        rows.append(_row(each, None if last is None else build_run_row(last, today)))
    return render(
        request,
        "tasks.html.j2",
        site=site,
        note=note or missing,
        rows=rows,
        marks=MARKS,
        page=page,
        pages=pages,
        tasks=len(knowledge.tasks),
        workflows=len(knowledge.workflows),
        may_run=parts.jobs is not None and get_person(request).may("operate"),
    )


@router.get("/sites/{site}/tasks/{task_id}")
async def task_page(request: Request, site: str, task_id: str, parts: ConsoleContextParam) -> Response:
    """Show one task or workflow. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    view = visit.view
    work: Task | Workflow | None = view.knowledge.tasks.get(task_id) or view.knowledge.workflows.get(task_id)
    if work is None:
        raise UnknownName("task", task_id, [*view.knowledge.tasks, *view.knowledge.workflows])
    runs, missing = await _runs(parts, site)
    today = datetime.now(UTC).date()
    own = [build_run_row(run, today) for run in runs if run.subject == task_id][:LAST_RUNS]
    return render(
        request,
        "task.html.j2",
        site=site,
        note=note or missing,
        work=work,
        kind=work.kind,
        inputs=[_input(each) for each in work.io_spec.inputs],
        outputs=work.io_spec.outputs,
        steps=list(_steps(view, work)),
        criteria=_describe_conditions(view, work.success_criteria),
        repeats=""
        if isinstance(work, Workflow) or work.iterator_spec.type == "none"
        else work.iterator_spec.type,
        undone_by=None if isinstance(work, Workflow) or work.reversal is None else work.reversal.task_id,
        screens=_screens(view, task_id),
        depends_on=_depends_on(view, task_id),
        used_by=_used_by(view, task_id),
        runs=own,
        may_run=parts.jobs is not None and get_person(request).may("operate"),
        marks=MARKS,
        tasks=view.knowledge.tasks,
    )


async def _runs(parts: ConsoleContext, site: str) -> tuple[Sequence[StoredRun], str | None]:
    """Return the newest runs of a website, and a note if the store does not answer."""
    try:
        return await parts.runs.runs(website_id=site, limit=LOOKED_AT), None
    except StoreError:
        return (), "the run store does not answer; runs are not shown"


def _row(work: Task | Workflow, last: RunListRow | None) -> TaskRow:
    inputs = work.io_spec.inputs
    needed = tuple(each.name for each in inputs if each.required and each.default is None)
    return TaskRow(
        work=work,
        kind=work.kind,
        required=needed,
        optional=tuple(each.name for each in inputs if each.name not in needed),
        size=len(work.nodes) if isinstance(work, Workflow) else len(work.steps),
        last=last,
    )


def _input(spec: InputSpec) -> TaskInputView:
    return TaskInputView(
        name=spec.name,
        kind=spec.type,
        required=spec.required and spec.default is None,
        secret=spec.secret,
        source=", ".join(each.replace("_", " ") for each in spec.source),
        default="" if spec.default is None or spec.secret else str(spec.default),
        description=spec.description or spec.prompt or "",
    )


def _steps(view: KnowledgeView, work: Task | Workflow) -> Iterator[TaskStepView]:
    if isinstance(work, Workflow):
        yield from _nodes(view, work.nodes, 0)
        return
    screen_id: str | None = None
    for step in work.ordered_steps:
        screen_id = _last_screen(step.preconditions) or screen_id
        notes = (
            ("only if", _describe_conditions(view, step.preconditions, screen_id)),
            ("then", _describe_conditions(view, step.postconditions)),
            ("skipped if", _describe_conditions(view, step.skip_when, screen_id)),
            ("optional", ("yes",) if step.can_skip else ()),
        )
        words = step_descriptions.describe_call(view, step.action, screen_id)
        yield TaskStepView(
            step.description or words,
            words if step.description else "",
            tuple(each for each in notes if each[1]),
            step.action.task_id,
        )
        screen_id = _last_screen(step.postconditions) or step.action.target_screen or screen_id


def _last_screen(conditions: Sequence[BaseCondition]) -> str | None:
    """Return the screen that conditions name; None if they name none."""
    return next((each.screen_id for each in reversed(conditions) if isinstance(each, OnScreen)), None)


def _nodes(view: KnowledgeView, nodes: Sequence[WorkflowNode], depth: int) -> Iterator[TaskStepView]:
    for node in nodes:
        notes = [("only if", _describe_conditions(view, node.when))]
        notes += [("optional", ("yes",))] if node.can_skip else []
        if isinstance(node, TaskNode):
            notes += [("repeated", (node.iterator_spec.type,))] if node.iterator_spec.type != "none" else []
            name = step_descriptions.name_task(view, node.task_id)
            yield TaskStepView(f"run {name}", "", _drop_empty_notes(notes), node.task_id, depth)
        elif isinstance(node, WaitNode):
            yield TaskStepView(f"wait for a person: {node.prompt}", "", _drop_empty_notes(notes), None, depth)
        elif isinstance(node, AgentNode):
            yield TaskStepView(
                f"agent step: {node.goal}",
                f"at most {node.max_steps} steps",
                _drop_empty_notes(notes),
                None,
                depth,
            )
        elif isinstance(node, GroupNode):
            again = "repeated together" if node.iterator_spec.type != "none" else "together"
            yield TaskStepView(again, "", _drop_empty_notes(notes), None, depth)
            yield from _nodes(view, node.nodes, depth + 1)
        if node.else_nodes:
            yield TaskStepView("otherwise", "", (), None, depth)
            yield from _nodes(view, node.else_nodes, depth + 1)


def _drop_empty_notes(
    notes: Sequence[tuple[str, tuple[str, ...]]],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(each for each in notes if each[1])


def _describe_conditions(
    view: KnowledgeView, conditions: Sequence[BaseCondition], screen_id: str | None = None
) -> tuple[str, ...]:
    return tuple(step_descriptions.describe_condition(view, each, screen_id) for each in conditions)


def _screens(view: KnowledgeView, task_id: str) -> list[tuple[str, str]]:
    """Return the ids and names of the task's screens."""
    screens = view.knowledge.screens
    return [(each, screens[each].name or each) for each, tasks in view.tasks_of.items() if task_id in tasks]


def _used_by(view: KnowledgeView, task_id: str) -> list[tuple[str, str]]:
    found = {edge.from_task for edge in view.knowledge.dependencies if edge.to_task == task_id}
    work: dict[str, Task | Workflow] = {**view.knowledge.tasks, **view.knowledge.workflows}
    return [(each, work[each].name or each) for each in sorted(found) if each in work]


def _depends_on(view: KnowledgeView, task_id: str) -> list[tuple[str, str, str]]:
    """Return id, name and condition of the tasks that run first, in their order."""
    return [
        (
            edge.to_task,
            view.knowledge.tasks[edge.to_task].name or edge.to_task,
            "" if edge.condition is None else step_descriptions.describe_condition(view, edge.condition),
        )
        for edge in document_summaries.list_dependencies(view, task_id)
    ]
