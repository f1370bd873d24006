"""The agent's tools: plain functions of the workshop and the call, and what clients are told of them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, JsonValue

from agent.inputs.sources import wanted_by_task
from kb_schema.knowledge import KnowledgeBase
from kb_schema.read_backs import Happened
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from kb_store.run_leases import live_holder
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.tools.binding import registered, told
from mcp_server.tools.calling import DeskTool
from mcp_server.tools.parameters import Id, WebsiteId, named, screen_of
from mcp_server.tools.reply import Reply
from mcp_server.views import Views
from periplus.agent_server.answers import Need, RunAnswer
from periplus.agent_server.calling import AgentTool, Call, current_call
from periplus.agent_server.errors import Elsewhere, InputsMissing, NoSuchRun, NotToBeDone
from periplus.agent_server.reporting import report
from periplus.agent_server.workshop import CANCELLED, Live, Workshop
from periplus.errands import Errand, to_carry_on
from periplus.errors import UserError
from periplus.vaults import vault_for

WAIT_S = 20.0
MOST_WAIT_S = 300.0

Wait = Annotated[
    float, Field(ge=0, le=MOST_WAIT_S, description="Answer at the latest after so long; the run goes on")
]
RunId = Annotated[Id, Field(description="Of run_task")]
Answered = CallToolResult | InputRequiredResult
Work = Task | Workflow
"""What is run by its name: a workflow runs as a task does."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What the tools work with."""

    workshop: Workshop
    views: Views
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Website id -> where it runs: the server's business, not the client's."""

    async def knowledge(self, website_id: str) -> KnowledgeBase:
        """Raises `UnknownName`, `SourceDown`."""
        return (await self.views.current(website_id)).view.knowledge


async def run_task(
    bench: Bench,
    website_id: WebsiteId,
    task_id: Id,
    inputs: Annotated[
        dict[str, JsonValue] | None, Field(description="By name; also those of tasks it calls (signing in)")
    ] = None,
    goal: Annotated[Id | None, Field(description="Screen to end on")] = None,
    run_id: Annotated[Id | None, Field(description="Carry on this run of the task instead")] = None,
    it_happened: Annotated[
        bool | None, Field(description="With run_id: what you saw of the step in doubt")
    ] = None,
    wait_seconds: Wait = WAIT_S,
) -> Answered:
    """Do a task in a browser. Answers when it is over, when it needs a value, or after wait_seconds: then
    run_status says how it goes on. What may not be repeated is done once, whatever happens in between.
    """
    call, knowledge = current_call("run_task"), await bench.knowledge(website_id)
    work: dict[str, Work] = {**knowledge.tasks, **knowledge.workflows}
    task = named("task", task_id, work, "the knowledge server's list_tasks has them")
    if goal is not None:
        screen_of((await bench.views.current(website_id)).view, goal)
    given = dict(inputs or {})
    _check_names(knowledge, task, given)
    about = run_id or call.asked_about
    if about is not None:
        if call.asked_about is not None:
            given = {**call.answers, **given}
        live = await _carried_on(bench, task, about, given, _decided(it_happened))
    else:
        asked = await _inputs(knowledge, task, given, call)
        if isinstance(asked, InputRequiredResult):
            return asked
        base_url = bench.base_urls.get(website_id)
        live = bench.workshop.begin(Errand(website_id, task_id, goal=goal, base_url=base_url, values=asked))
    return await _watched(bench, task, live, call, wait_seconds)


async def run_status(bench: Bench, run_id: RunId, wait_seconds: Wait = 0.0) -> Answered:
    """How far a run is, or how it came out; also of runs of other processes, and after a restart."""
    call, live = current_call("run_status"), bench.workshop.live(run_id)
    if live is not None:
        await _waited(live, call, wait_seconds)
    return _told(await report(bench.workshop, run_id))


async def cancel_run(bench: Bench, run_id: RunId, wait_seconds: Wait = WAIT_S) -> Answered:
    """Stop a run after the step it is at: nothing is left half done, and run_task with its run_id carries
    it on. Of a run that is over it only says how it came out.
    """
    workshop, live = bench.workshop, bench.workshop.live(run_id)
    if live is not None:
        live.cancel(CANCELLED)
        await live.ended(min(wait_seconds, current_call("cancel_run").longest))
    elif (held := await live_holder(workshop.runs.leases, run_id)) is not None:
        raise Elsewhere(run_id, str(held.owner))
    return _told(await report(workshop, run_id))


# -- how ---------------------------------------------------------------------------------------------


def _decided(it_happened: bool | None) -> Happened | None:
    if it_happened is None:
        return None
    return Happened.HAPPENED if it_happened else Happened.DID_NOT_HAPPEN


async def _carried_on(
    bench: Bench, task: Work, run_id: str, given: Mapping[str, Any], decided: Happened | None
) -> Live:
    """The run, told what it waits for, or begun again where it was cut off."""
    workshop, live = bench.workshop, bench.workshop.live(run_id)
    if live is not None:
        live.questions.answer(given)
        return live
    run = await workshop.runs.run(run_id)
    if run is None:
        raise NoSuchRun(run_id, [each.run_id for each in await workshop.runs.runs(limit=5)])
    if run.subject != task.local_id:
        raise BadRequest(f"run {run_id} is of {run.subject!r}", hint=f"give task_id {run.subject!r}")
    held = await live_holder(workshop.runs.leases, run_id)
    if held is not None:
        raise Elsewhere(run_id, str(held.owner))
    try:
        base_url = bench.base_urls.get(run.website_id)
        errand = to_carry_on(run, base_url=base_url, values=given, decided=decided)
    except UserError as exc:
        raise NotToBeDone(exc.message, hint="call run_task without run_id to do it anew") from exc
    if await workshop.runs.checkpoint(run_id) is None:
        raise NotToBeDone(
            f"of run {run_id} nothing is kept to carry on from",
            hint="call run_task without run_id, with all inputs",
        )
    return workshop.begin(errand)


def _check_names(knowledge: KnowledgeBase, task: Work, given: Mapping[str, Any]) -> None:
    """Inputs of the task, of tasks it may call, and what the website knows of itself."""
    specs = [spec for each in knowledge.tasks.values() for spec in each.io_spec.inputs]
    known = {spec.name for spec in specs} | {spec.key for spec in specs if spec.key is not None}
    known |= {spec.name for spec in task.io_spec.inputs}
    known |= set(knowledge.website.global_context)
    for name in given:
        if name not in known:
            own = [spec.name for spec in task.io_spec.inputs]
            raise UnknownName(
                "input", name, own or known, hint=f"{task.local_id} takes {', '.join(own) or 'none'}"
            )


async def _inputs(
    knowledge: KnowledgeBase, task: Work, given: dict[str, Any], call: Call
) -> dict[str, Any] | InputRequiredResult:
    """Everything that only somebody can say, before a browser is opened. Raises `InputsMissing`."""
    needs = await _needed(knowledge, task, given)
    if not needs:
        return given
    names = {need.name for need in needs}
    asked: Any = {name: value for name, value in call.answers.items() if name in names}
    if not asked:
        asked = await call.ask(needs, _types(task))
    if isinstance(asked, InputRequiredResult):
        return asked
    given = {**given, **{name: value for name, value in (asked or {}).items() if name in names}}
    left = await _needed(knowledge, task, given)
    if left:
        raise InputsMissing(task.local_id, left)
    return given


async def _needed(knowledge: KnowledgeBase, task: Work, given: Mapping[str, Any]) -> list[Need]:
    """The task's inputs that nothing but a person gives: not another task, a page or a generator."""
    at_hand = {*given, *knowledge.website.global_context}
    vault = vault_for(knowledge.website.website_id)
    found = []
    for spec in task.io_spec.inputs:
        wanted = wanted_by_task(spec)
        elsewhere = (spec.extraction, spec.template, spec.generator, spec.value, spec.from_task)
        if not (spec.required and wanted.asked) or any(each is not None for each in elsewhere):
            continue
        if wanted.key in at_hand or spec.name in at_hand:
            continue
        if spec.secret and await vault.secret(wanted.key) is not None:
            continue
        found.append(Need(name=spec.name, question=wanted.question, secret=spec.secret))
    return found


def _types(task: Work) -> dict[str, str]:
    plain = {"integer", "number", "boolean"}
    return {spec.name: spec.type for spec in task.io_spec.inputs if spec.type in plain}


async def _watched(bench: Bench, task: Work, live: Live, call: Call, wait_seconds: float) -> Answered:
    """Wait for the run; where it asks for something, ask on."""
    run_id = live.errand.run_id
    while True:
        await _waited(live, call, wait_seconds)
        question = live.questions.open
        if live.over or question is None:
            break
        asked = await call.ask([question], _types(task), run_id)
        if isinstance(asked, InputRequiredResult):
            return asked
        if asked is None:
            break
        live.questions.answer(asked)
    return _told(await report(bench.workshop, run_id))


async def _waited(live: Live, call: Call, seconds: float) -> None:
    """Until it is over, asks for something, or the time is up; a client that wants to know hears of it."""
    loop_time = live.now
    until = loop_time() + min(seconds, call.longest)
    while not live.over and live.questions.open is None:
        await call.progress(live.steps, live.doing or "beginning")
        left = until - loop_time()
        if left <= 0:
            return
        await live.change(left)


def _told(answer: RunAnswer) -> CallToolResult:
    return told(Reply(answer, answer.text))


# -- as MCP tools ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offer:
    """A function and what clients are to know of it."""

    function: Callable[..., Awaitable[Answered]]
    title: str
    annotations: ToolAnnotations


OFFERS = (
    Offer(
        run_task,
        "Do a task",
        ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
        ),
    ),
    Offer(
        run_status,
        "How is a run?",
        ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    ),
    Offer(
        cancel_run,
        "Stop a run",
        ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    ),
)


def tools(bench: Bench) -> list[DeskTool]:
    """Every tool, always in the same order."""
    return [_tool(offer, bench) for offer in OFFERS]


def _tool(offer: Offer, bench: Bench) -> DeskTool:
    hints = get_type_hints(offer.function, include_extras=True)
    _, *own = inspect.signature(offer.function).parameters.values()
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]

    async def answering(**arguments: Any) -> Answered:
        return await offer.function(bench, **arguments)

    return registered(
        answering,
        offer.function,
        offer.title,
        parameters,
        RunAnswer,
        read_only=bool(offer.annotations.read_only_hint),
        annotations=offer.annotations,
        kind=AgentTool,
    )
