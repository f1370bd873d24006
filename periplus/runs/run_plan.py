"""What `periplus run --plan` shows: the tasks in the order in which a run would do them, and nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape

from agent.errors import AgentError
from agent.execution.task_dependencies import find_circle, list_prerequisites
from agent.execution.workflow_runner import find_workflow
from agent.knowledge_client import KnowledgeClient
from agent.run_context import RunContext
from kb_schema.base import Model
from kb_schema.conditions import BaseCondition
from kb_schema.graph_documents import TaskDependency
from kb_schema.io_specs import InputSpec
from kb_schema.tasks import Task
from kb_schema.templates import as_text
from kb_schema.workflows import AgentNode, AnyNode, GroupNode, TaskNode, WaitNode, Workflow
from kb_store import Stores
from mcp_server.document_text.condition_text import describe_call, describe_condition
from periplus.agent_failures import to_user_error
from periplus.knowledge_server import connect_knowledge_client
from periplus.runs.task_runs import TaskRunRequest


class PlannedInput(Model):
    """One input, and where its value would come from. Secrets are not shown."""

    name: str
    value: str
    """`given`, `secret`, the default, the task whose output it is, or the sources that are asked."""


class PlannedTask(Model):
    """A task or workflow of a plan."""

    task_id: str
    name: str = ""
    because: str = ""
    """Why it comes before the requested one; empty: it is the requested one."""
    only_if: str = ""
    """The condition of the dependency; empty: always, unless it is done already."""
    inputs: tuple[PlannedInput, ...] = ()
    steps: tuple[str, ...] = ()
    again_while: tuple[str, ...] = ()
    """Conditions of a circle of tasks: while they hold, it is repeated."""


class RunPlan(Model):
    """What a run would do, in its order."""

    website_id: str
    tasks: tuple[PlannedTask, ...]
    goal: str | None = None
    """The screen that the run would end on."""


async def build_run_plan(run_request: TaskRunRequest, stores: Stores) -> RunPlan:
    """Return the plan of a run. Raises `UserError` for an unknown task or screen."""
    async with connect_knowledge_client(stores) as client:
        knowledge = KnowledgeClient(client, run_request.website_id)
        try:
            if run_request.goal is not None:
                await knowledge.screen(run_request.goal)
            tasks = [] if run_request.task_id is None else await _plan(knowledge, run_request)
        except AgentError as exc:
            raise to_user_error(exc, RunContext()) from exc
    return RunPlan(website_id=run_request.website_id, tasks=tuple(tasks), goal=run_request.goal)


async def _plan(knowledge: KnowledgeClient, run_request: TaskRunRequest) -> list[PlannedTask]:
    task_id, values = run_request.task_id or "", run_request.values
    workflow = await find_workflow(knowledge, task_id)
    if workflow is not None:
        return [_describe(workflow, values, steps=tuple(_list_nodes(workflow.nodes)))]
    task = await knowledge.task(task_id)
    first = [
        _describe(await knowledge.task(edge.to_task), values, edge=edge)
        for edge, _ in await list_prerequisites(knowledge, task_id)
    ]
    circle = tuple(
        describe_condition(edge.condition)
        for edge in await find_circle(knowledge, task_id)
        if edge.condition is not None
    )
    return [*first, _describe(task, values).model_copy(update={"again_while": circle})]


def _describe(
    work: Task | Workflow,
    values: Mapping[str, object],
    *,
    edge: TaskDependency | None = None,
    steps: tuple[str, ...] | None = None,
) -> PlannedTask:
    if steps is None:
        steps = tuple(_list_steps(work)) if isinstance(work, Task) else ()
    condition = None if edge is None else edge.condition
    return PlannedTask(
        task_id=work.local_id,
        name=work.name,
        because="" if edge is None else f"{edge.from_task} depends on it",
        only_if="" if condition is None else describe_condition(condition),
        inputs=tuple(
            PlannedInput(name=spec.name, value=_find_value(spec, values)) for spec in work.io_spec.inputs
        ),
        steps=steps,
    )


def _find_value(spec: InputSpec, values: Mapping[str, object]) -> str:
    if spec.secret:
        return "secret"
    if spec.name in values:
        return f"given: {as_text(values[spec.name])}"
    if spec.from_task is not None:
        return f"from {spec.from_task}.{spec.from_output or spec.name}"
    if spec.default is not None:
        return f"default: {as_text(spec.default)}"
    sources = ", ".join(spec.source).replace("_", " ")
    return f"from {sources}" if sources else "needed" if spec.required else "empty"


def _list_steps(task: Task) -> Iterator[str]:
    for step in task.ordered_steps:
        skipped = _describe_conditions("skipped if", step.skip_when)
        optional = " (optional)" if step.can_skip or not step.required else ""
        yield f"{step.description or describe_call(step.action)}{optional}{skipped}"


def _list_nodes(nodes: Sequence[AnyNode], indent: str = "") -> Iterator[str]:
    for node in nodes:
        when = _describe_conditions("only if", node.when)
        match node:
            case TaskNode():
                again = "" if node.iterator_spec.type == "none" else f", repeated ({node.iterator_spec.type})"
                yield f"{indent}run task {node.task_id}{again}{when}"
            case WaitNode():
                yield f"{indent}wait for a person: {node.prompt}{when}"
            case AgentNode():
                yield f"{indent}agent step, at most {node.max_steps} steps: {node.goal}{when}"
            case GroupNode():
                again = "" if node.iterator_spec.type == "none" else f" repeated ({node.iterator_spec.type})"
                yield f"{indent}group{again}{when}"
                yield from _list_nodes(node.nodes, f"{indent}  ")
        if node.else_nodes:
            yield f"{indent}otherwise"
            yield from _list_nodes(node.else_nodes, f"{indent}  ")


def _describe_conditions(words: str, conditions: Sequence[BaseCondition]) -> str:
    said = ", ".join(map(describe_condition, conditions))
    return f", {words} {said}" if said else ""


def print_run_plan(console: Console, plan: RunPlan) -> None:
    """Print a plan: every task with its reason, inputs and steps."""
    for number, task in enumerate(plan.tasks, start=1):
        name = f" {task.name}" if task.name and task.name != task.task_id else ""
        lines = [f"[bold]{number}. {escape(task.task_id)}[/]{escape(name)}"]
        if task.because:
            when = f" if {task.only_if}" if task.only_if else ""
            lines.append(f"   first{escape(when)}, unless it is done already: {escape(task.because)}")
        lines += [f"   {escape(each.name)}: {escape(each.value)}" for each in task.inputs]
        lines += [f"   - {escape(step)}" for step in task.steps]
        if task.again_while:
            lines.append(f"   again while {escape(' and '.join(task.again_while))}")
        for line in lines:
            console.print(line, soft_wrap=True, highlight=False)
    if plan.goal is not None:
        console.print(
            f"{len(plan.tasks) + 1}. go to the screen {escape(plan.goal)}", soft_wrap=True, highlight=False
        )
    console.print("Nothing was run.", highlight=False)
