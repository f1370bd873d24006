"""The agent's tools as plain functions, and their MCP descriptions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, cast, get_type_hints

from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, JsonValue

from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.execution.values.value_sources import build_task_value_request
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.objectives import Objective
from kb_schema.read_backs import ReadBackStatus
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from kb_store.audit.audit_recorder import record_async
from kb_store.runs.run_leases import find_live_holder
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.tools.tool_calls import KnowledgeTool
from mcp_server.tools.tool_definitions import define_tool, to_call_result
from mcp_server.tools.tool_parameters import Id, WebsiteId, require_document, require_screen
from mcp_server.tools.tool_specs import ToolReply
from periplus.agent_server.agent_tool_calls import AgentTool, AgentToolCall, current_call
from periplus.agent_server.errors import InputsMissing, RunHeldElsewhere, RunRequestRejected, UnknownRun
from periplus.agent_server.run_answers import NeededInput, RunAnswer
from periplus.agent_server.run_executor import CANCELLED, ExecutingRun, RunExecutor
from periplus.agent_server.run_progress import build_run_answer
from periplus.agent_server.sentence_goals import PlannedJob, ShownPlans, read_goal
from periplus.errors import UserError
from periplus.runs.task_runs import TaskRunRequest, build_resume_request
from periplus.secret_names import find_secret_name
from periplus.vault_setup import open_vault

WAIT_S = 20.0
MOST_WAIT_S = 300.0

Wait = Annotated[
    float, Field(ge=0, le=MOST_WAIT_S, description="Maximum seconds to wait for an answer; the run continues")
]
RunId = Annotated[Id, Field(description="The run_id from run_task")]
ToolCallAnswer = CallToolResult | InputRequiredResult
Work = Task | Workflow
"""A task or a workflow; both run in the same way."""


@dataclass(frozen=True, slots=True)
class AgentToolContext:
    """The run executor, knowledge and stores that the tools use."""

    executor: RunExecutor
    views: ViewCache
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Website id -> base URL; set by the server, not by clients."""
    plans: ShownPlans = field(default_factory=ShownPlans)

    async def knowledge(self, website_id: str) -> KnowledgeBase:
        """Return a website's knowledge. Raises `UnknownName`, `SourceDown`."""
        return (await self.views.current(website_id)).view.knowledge


async def run_task(
    context: AgentToolContext,
    website_id: WebsiteId,
    task_id: Id | None = None,
    inputs: Annotated[
        dict[str, JsonValue] | None,
        Field(description="Inputs by name, including those of called tasks (such as signing in)"),
    ] = None,
    goal: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=2000,
            description="The screen to end on; without task_id, a sentence that says what to do",
        ),
    ] = None,
    confirmed: Annotated[
        bool, Field(description="With a sentence: run what it means; otherwise that is only told")
    ] = False,
    run_id: Annotated[Id | None, Field(description="Resume this run instead of starting a new one")] = None,
    it_happened: Annotated[
        bool | None, Field(description="With run_id: whether the uncertain step took effect")
    ] = None,
    objective: Annotated[
        Objective | None,
        Field(description="By what paths between screens are chosen; default: the task's own"),
    ] = None,
    wait_seconds: Wait = WAIT_S,
) -> ToolCallAnswer:
    """Run a task in a browser. Returns when the run ends, when it needs an input, or after wait_seconds; then
    use run_status. Each non-idempotent step runs at most once, even if the run is interrupted and resumed.
    """
    call, knowledge = current_call("run_task"), await context.knowledge(website_id)
    _refuse_secrets(call.answers)
    about = run_id or call.asked_about
    if task_id is None and (job := _find_live_job(context, about)) is not None:
        job.questions.answer({**call.answers, **(inputs or {})})
        return await _follow_run(context, None, job, call, wait_seconds)
    if task_id is None and goal is None and run_id is not None:
        task_id = await _find_subject(context, website_id, run_id)
    if task_id is None:
        meant = await read_goal(
            goal, knowledge, context.executor.stores, context.plans, inputs or {}, confirmed=confirmed
        )
        if isinstance(meant, PlannedJob):
            _check_names(knowledge, None, inputs or {})
            run_request = TaskRunRequest(
                website_id,
                None,
                base_url=context.base_urls.get(website_id),
                values=inputs or {},
                job=meant.job,
            )
            live = context.executor.begin(run_request, meant.model)
            return await _follow_run(context, None, live, call, wait_seconds)
        bound: dict[str, JsonValue] = {name: cast("JsonValue", value) for name, value in meant.values.items()}
        task_id, goal, inputs = meant.task_id, None, bound | (inputs or {})
    work: dict[str, Work] = {**knowledge.tasks, **knowledge.workflows}
    task = require_document("task", task_id, work, "list_tasks of the knowledge server lists all tasks")
    if goal is not None:
        require_screen((await context.views.current(website_id)).view, goal)
    given = dict(inputs or {})
    _check_names(knowledge, task, given)
    if about is not None:
        if call.asked_about is not None:
            given = {**call.answers, **given}
        live = await _resume_run(context, task, about, given, _parse_decision(it_happened))
    else:
        asked = await _inputs(knowledge, task, given, call, for_client=context.executor.for_clients)
        if isinstance(asked, InputRequiredResult):
            return asked
        base_url = context.base_urls.get(website_id)
        live = context.executor.begin(
            TaskRunRequest(
                website_id, task_id, goal=goal, base_url=base_url, values=asked, objective=objective
            )
        )
    return await _follow_run(context, task, live, call, wait_seconds)


async def run_status(context: AgentToolContext, run_id: RunId, wait_seconds: Wait = 0.0) -> ToolCallAnswer:
    """Get a run's progress or result, also for runs of other processes and after a restart."""
    call, live = current_call("run_status"), context.executor.live(run_id)
    if live is not None:
        await _wait_for_change(live, call, wait_seconds)
    return _build_tool_result(await build_run_answer(context.executor, run_id))


async def cancel_run(context: AgentToolContext, run_id: RunId, wait_seconds: Wait = WAIT_S) -> ToolCallAnswer:
    """Stop a run after its current step; run_task with its run_id resumes it. For a run that has ended, returns
    its result.
    """
    executor, live = context.executor, context.executor.live(run_id)
    if live is not None:
        live.cancel(CANCELLED)
        await record_async("run_cancelled", run_id)
        await live.ended(min(wait_seconds, current_call("cancel_run").longest))
    elif (held := await find_live_holder(executor.runs.leases, run_id)) is not None:
        raise RunHeldElsewhere(run_id, str(held.owner))
    return _build_tool_result(await build_run_answer(executor, run_id))


# -- implementation ----------------------------------------------------------------------------------


def _refuse_secrets(given: Mapping[str, Any]) -> None:
    if (wrong := find_secret_name(given, "inputs")) is not None:
        raise BadRequest(wrong, hint="leave the input out: secrets are set on the server")


async def _find_subject(context: AgentToolContext, website_id: str, run_id: str) -> str:
    """Return the task or workflow of a run. Raises `UnknownRun`, and `BadRequest` for a run of another website."""
    live = context.executor.live(run_id)
    if live is not None:
        return live.run_request.subject
    run = await context.executor.runs.run(run_id)
    if run is None:
        raise UnknownRun(run_id, [each.run_id for each in await context.executor.runs.runs(limit=5)])
    if run.website_id != website_id:
        raise BadRequest(f"run {run_id} is one of {run.website_id}", hint=f"use website_id {run.website_id}")
    return run.subject


async def check_resumed_values(executor: RunExecutor, run_id: str, given: Mapping[str, Any]) -> None:
    """Raise `RunRequestRejected` without a checkpoint, and `BadRequest` for other values than the run began with.

    A resumed run keeps its values: those that it has used are on the website already.
    """
    kept = await executor.runs.checkpoint(run_id)
    if kept is None:
        raise RunRequestRejected(
            f"run {run_id} cannot be resumed: it has no checkpoint",
            hint="call run_task without run_id, with all inputs",
        )
    state = CheckpointState.model_validate(kept.state)
    frame = state.frames.get(state.task_id)
    known = {**({} if frame is None else frame.values), **state.given}
    other = [
        name
        for name, value in given.items()
        if known.get(name) is not None and str(known[name]) != str(value)
    ]
    if other:
        raise BadRequest(
            f"run {run_id} goes on with the values that it began with; it has another {' and '.join(map(repr, other))}",
            hint="leave inputs out to resume it, or call run_task without run_id, with all inputs, to begin anew",
        )


def _find_live_job(context: AgentToolContext, run_id: str | None) -> ExecutingRun | None:
    """Return the job in words whose question a call answers."""
    live = None if run_id is None else context.executor.live(run_id)
    return None if live is None or live.run_request.job is None else live


def _parse_decision(it_happened: bool | None) -> ReadBackStatus | None:
    if it_happened is None:
        return None
    return ReadBackStatus.HAPPENED if it_happened else ReadBackStatus.DID_NOT_HAPPEN


async def _resume_run(
    context: AgentToolContext,
    task: Work,
    run_id: str,
    given: Mapping[str, Any],
    decided: ReadBackStatus | None,
) -> ExecutingRun:
    """Give a waiting run its inputs, or resume an interrupted one; return the run."""
    executor, live = context.executor, context.executor.live(run_id)
    if live is not None:
        live.questions.answer(given)
        return live
    run = await executor.runs.run(run_id)
    if run is None:
        raise UnknownRun(run_id, [each.run_id for each in await executor.runs.runs(limit=5)])
    if run.subject != task.local_id:
        raise BadRequest(f"run {run_id} belongs to task {run.subject!r}", hint=f"use task_id {run.subject!r}")
    held = await find_live_holder(executor.runs.leases, run_id)
    if held is not None:
        raise RunHeldElsewhere(run_id, str(held.owner))
    try:
        base_url = context.base_urls.get(run.website_id)
        run_request = build_resume_request(run, base_url=base_url, values=given, decided=decided)
    except UserError as exc:
        raise RunRequestRejected(exc.message, hint="call run_task without run_id to start a new run") from exc
    await check_resumed_values(executor, run_id, given)
    return executor.begin(run_request)


def _check_names(knowledge: KnowledgeBase, task: Work | None, given: Mapping[str, Any]) -> None:
    """Raise `UnknownName` for inputs that neither the task, the tasks it may call, nor the website has."""
    specs = [spec for each in knowledge.tasks.values() for spec in each.io_spec.inputs]
    known = {spec.name for spec in specs} | {spec.key for spec in specs if spec.key is not None}
    own = [] if task is None else [spec.name for spec in task.io_spec.inputs]
    known |= {*own, *knowledge.website.global_context}
    for name in given:
        if name not in known:
            takes = "" if task is None else f"{task.local_id} takes {', '.join(own) or 'none'}"
            hint = takes or "leave it out: no task of the website has it"
            raise UnknownName("input", name, own or known, hint=hint)


async def _inputs(
    knowledge: KnowledgeBase, task: Work, given: dict[str, Any], call: AgentToolCall, *, for_client: bool
) -> dict[str, Any] | InputRequiredResult:
    """Return all inputs that a person must give, before a browser is opened. Raises `InputsMissing`."""
    needs = await _list_needed_inputs(knowledge, task, given, for_client=for_client)
    if not needs:
        return given
    names = {need.name for need in needs}
    asked: Any = {name: value for name, value in call.answers.items() if name in names}
    if not asked:
        asked = await call.ask(needs, _types(task))
    if isinstance(asked, InputRequiredResult):
        return asked
    given = {**given, **{name: value for name, value in (asked or {}).items() if name in names}}
    left = await _list_needed_inputs(knowledge, task, given, for_client=for_client)
    if left:
        raise InputsMissing(task.local_id, left)
    return given


async def _list_needed_inputs(
    knowledge: KnowledgeBase, task: Work, given: Mapping[str, Any], *, for_client: bool
) -> list[NeededInput]:
    """Return the inputs that only a person can give: not another task, a page or a generator."""
    at_hand = {*given, *knowledge.website.global_context}
    vault = open_vault(knowledge.website.website_id, audited=False, for_client=for_client)
    found = []
    for spec in task.io_spec.inputs:
        wanted = build_task_value_request(spec)
        elsewhere = (spec.extraction, spec.template, spec.generator, spec.value, spec.from_task)
        if not (spec.required and wanted.asked) or any(each is not None for each in elsewhere):
            continue
        if wanted.key in at_hand or spec.name in at_hand:
            continue
        if spec.secret and await vault.secret(wanted.key) is not None:
            continue
        found.append(NeededInput(name=spec.name, question=wanted.question, secret=spec.secret))
    return found


def _types(task: Work | None) -> dict[str, str]:
    plain = {"integer", "number", "boolean"}
    if task is None:
        return {}
    return {spec.name: spec.type for spec in task.io_spec.inputs if spec.type in plain}


async def _follow_run(
    context: AgentToolContext,
    task: Work | None,
    live: ExecutingRun,
    call: AgentToolCall,
    wait_seconds: float,
) -> ToolCallAnswer:
    """Wait for the run; forward its input requests to the client."""
    run_id = live.run_request.run_id
    while True:
        await _wait_for_change(live, call, wait_seconds)
        question = live.questions.open
        if live.over or question is None:
            break
        asked = await call.ask([question], _types(task), run_id)
        if isinstance(asked, InputRequiredResult):
            return asked
        if asked is None:
            break
        live.questions.answer(asked)
    return _build_tool_result(await build_run_answer(context.executor, run_id))


async def _wait_for_change(live: ExecutingRun, call: AgentToolCall, seconds: float) -> None:
    """Wait until the run ends, needs an input, or the time is over; send progress to the client."""
    loop_time = live.now
    until = loop_time() + min(seconds, call.longest)
    while not live.over and live.questions.open is None:
        await call.progress(live.steps, live.doing or "beginning")
        left = until - loop_time()
        if left <= 0:
            return
        await live.change(left)


def _build_tool_result(answer: RunAnswer) -> CallToolResult:
    return to_call_result(ToolReply(answer, answer.text))


# -- as MCP tools ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentToolDefinition:
    """A tool function with its MCP metadata."""

    function: Callable[..., Awaitable[ToolCallAnswer]]
    title: str
    annotations: ToolAnnotations


TOOL_DEFINITIONS = (
    AgentToolDefinition(
        run_task,
        "Run a task",
        ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
        ),
    ),
    AgentToolDefinition(
        run_status,
        "Get a run's status",
        ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    ),
    AgentToolDefinition(
        cancel_run,
        "Stop a run",
        ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    ),
)


def build_agent_tools(context: AgentToolContext) -> list[KnowledgeTool]:
    """Return all tools, always in the same order."""
    return [_build_agent_tool(offer, context) for offer in TOOL_DEFINITIONS]


def _build_agent_tool(offer: AgentToolDefinition, context: AgentToolContext) -> KnowledgeTool:
    hints = get_type_hints(offer.function, include_extras=True)
    _, *own = inspect.signature(offer.function).parameters.values()
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]

    async def answering(**arguments: Any) -> ToolCallAnswer:
        return await offer.function(context, **arguments)

    return define_tool(
        answering,
        offer.function,
        offer.title,
        parameters,
        RunAnswer,
        read_only=bool(offer.annotations.read_only_hint),
        annotations=offer.annotations,
        kind=AgentTool,
    )
