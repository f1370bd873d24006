"""Tasks and workflows: what they need, what they do step by step, and how they came out last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.conditions import BaseCondition
from kb_schema.runs import StoredRun
from kb_schema.tasks import Task
from kb_schema.values import InputSpec
from kb_schema.workflows import AgentNode, GroupNode, TaskNode, WaitNode, Workflow, WorkflowNode
from kb_store import StoreError
from mcp_server import wording
from mcp_server.compiled import View
from mcp_server.errors import UnknownName
from periplus.console import wordings
from periplus.console.runs_listing import RunRow, row_of
from periplus.console.runs_words import MARKS
from periplus.console.shell import ConsoleParts, TheParts, render

ROWS = 200
"""Of the list, on one page."""
LOOKED_AT = 500
"""Of the newest runs of a website, for how its tasks came out last."""
LAST_RUNS = 10

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Row:
    """One task or workflow in the list."""

    work: Task | Workflow
    kind: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    size: int
    last: RunRow | None


@dataclass(frozen=True, slots=True)
class Input:
    """One input, in words. The default of a secret is not shown."""

    name: str
    kind: str
    required: bool
    secret: bool
    source: str
    default: str
    description: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step, in words."""

    name: str
    words: str
    notes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    task_id: str | None = None
    """The task it runs."""
    depth: int = 0


@router.get("/sites/{site}/tasks")
async def tasks(
    request: Request, site: str, parts: TheParts, page: Annotated[int, Query(ge=1, le=100_000)] = 1
) -> Response:
    """The list. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
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
        rows.append(_row(each, None if last is None else row_of(last, today)))
    return render(
        request, "tasks.html.j2", site=site, note=note or missing, rows=rows, marks=MARKS, page=page, pages=pages,
        tasks=len(knowledge.tasks), workflows=len(knowledge.workflows),
    )  # fmt: skip


@router.get("/sites/{site}/tasks/{task_id}")
async def task_page(request: Request, site: str, task_id: str, parts: TheParts) -> Response:
    """One task or workflow. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    view = visit.view
    work: Task | Workflow | None = view.knowledge.tasks.get(task_id) or view.knowledge.workflows.get(task_id)
    if work is None:
        raise UnknownName("task", task_id, [*view.knowledge.tasks, *view.knowledge.workflows])
    runs, missing = await _runs(parts, site)
    today = datetime.now(UTC).date()
    own = [row_of(run, today) for run in runs if run.subject == task_id][:LAST_RUNS]
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
        criteria=_told(work.success_criteria),
        repeats=""
        if isinstance(work, Workflow) or work.iterator_spec.type == "none"
        else work.iterator_spec.type,
        undone_by=None if isinstance(work, Workflow) or work.reversal is None else work.reversal.task_id,
        screens=_screens(view, task_id),
        used_by=_used_by(view, task_id),
        runs=own,
        marks=MARKS,
        tasks=view.knowledge.tasks,
    )


async def _runs(parts: ConsoleParts, site: str) -> tuple[Sequence[StoredRun], str | None]:
    """The newest runs of a website, and a note where they cannot be had."""
    try:
        return await parts.runs.runs(website_id=site, limit=LOOKED_AT), None
    except StoreError:
        return (), "the store of runs does not answer: what is said of runs is missing"


def _row(work: Task | Workflow, last: RunRow | None) -> Row:
    inputs = work.io_spec.inputs
    needed = tuple(each.name for each in inputs if each.required and each.default is None)
    return Row(
        work=work,
        kind=work.kind,
        required=needed,
        optional=tuple(each.name for each in inputs if each.name not in needed),
        size=len(work.nodes) if isinstance(work, Workflow) else len(work.steps),
        last=last,
    )


def _input(spec: InputSpec) -> Input:
    return Input(
        name=spec.name,
        kind=spec.type,
        required=spec.required and spec.default is None,
        secret=spec.secret,
        source=", ".join(each.replace("_", " ") for each in spec.source),
        default="" if spec.default is None or spec.secret else str(spec.default),
        description=spec.description or spec.prompt or "",
    )


def _steps(view: View, work: Task | Workflow) -> Iterator[Step]:
    if isinstance(work, Workflow):
        yield from _nodes(work.nodes, 0)
        return
    for step in work.ordered_steps:
        notes = (
            ("only where", _told(step.preconditions)),
            ("then", _told(step.postconditions)),
            ("left out where", _told(step.skip_when)),
            ("may be left out", ("yes",) if step.can_skip else ()),
        )
        words = wordings.of_call(view, step.action)
        yield Step(
            step.description or words,
            words if step.description else "",
            tuple(each for each in notes if each[1]),
            step.action.task_id,
        )


def _nodes(nodes: Sequence[WorkflowNode], depth: int) -> Iterator[Step]:
    for node in nodes:
        notes = [("only where", _told(node.when))]
        notes += [("optional", ("yes",))] if node.can_skip else []
        if isinstance(node, TaskNode):
            notes += [("repeated", (node.iterator_spec.type,))] if node.iterator_spec.type != "none" else []
            yield Step(f"run {node.task_id}", "", _kept(notes), node.task_id, depth)
        elif isinstance(node, WaitNode):
            yield Step(f"wait for a person: {node.prompt}", "", _kept(notes), None, depth)
        elif isinstance(node, AgentNode):
            yield Step(
                f"by judgement: {node.goal}", f"at most {node.max_steps} steps", _kept(notes), None, depth
            )
        elif isinstance(node, GroupNode):
            again = "repeated together" if node.iterator_spec.type != "none" else "together"
            yield Step(again, "", _kept(notes), None, depth)
            yield from _nodes(node.nodes, depth + 1)
        if node.else_nodes:
            yield Step("otherwise", "", (), None, depth)
            yield from _nodes(node.else_nodes, depth + 1)


def _kept(notes: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(each for each in notes if each[1])


def _told(conditions: Sequence[BaseCondition]) -> tuple[str, ...]:
    return tuple(map(wording.of_condition, conditions))


def _screens(view: View, task_id: str) -> list[tuple[str, str]]:
    """Screens it is about: ids and names."""
    screens = view.knowledge.screens
    return [(each, screens[each].name or each) for each, tasks in view.tasks_of.items() if task_id in tasks]


def _used_by(view: View, task_id: str) -> list[tuple[str, str]]:
    found = {edge.from_task for edge in view.knowledge.dependencies if edge.to_task == task_id}
    work: dict[str, Task | Workflow] = {**view.knowledge.tasks, **view.knowledge.workflows}
    return [(each, work[each].name or each) for each in sorted(found) if each in work]
