"""Tools for tasks, actions and presentation flows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kb_schema import action_types
from kb_schema.tasks import Task
from kb_schema.tool_answers import ActionAnswer, FlowAnswer, NextStep, TaskAnswer, TaskList
from kb_schema.workflows import Workflow
from mcp_server.descriptions import answer_text, demo_search, document_summaries
from mcp_server.errors import BadRequest
from mcp_server.server_context import WebsiteRequest
from mcp_server.tasks import composition, next_steps, screen_tasks, task_inputs
from mcp_server.tools import store_backed_tools
from mcp_server.tools.tool_parameters import (
    DetailLevel,
    FactsArgument,
    Id,
    ScreenId,
    require_document,
    require_screen,
)
from mcp_server.tools.tool_specs import ToolReply, WebsiteToolSpec

StepPath = Annotated[str, Field(min_length=1, max_length=4_000)]


def list_tasks(
    request: WebsiteRequest,
    cursor: Annotated[Id | None, Field(description="`next_cursor` of the previous page")] = None,
) -> ToolReply[TaskList]:
    """The website's tasks and workflows with their inputs, paged."""
    answer = document_summaries.list_tasks(request.view, cursor)
    return ToolReply(answer, answer_text.render_tasks(answer))


def get_task_definition(
    request: WebsiteRequest, task_id: Id, detail: DetailLevel = "working"
) -> ToolReply[TaskAnswer]:
    """A task or workflow: inputs, outputs, steps, success criteria, the tasks it is composed of."""
    knowledge = request.view.knowledge
    work: dict[str, Task | Workflow] = {**knowledge.workflows, **knowledge.tasks}
    task = require_document("task", task_id, work, "call list_tasks")
    answer = TaskAnswer(
        **dict(document_summaries.describe_document(request.view, task, detail)),
        inputs=task_inputs.describe_inputs(request.view, task) if isinstance(task, Task) else (),
        depends_on=document_summaries.describe_dependencies(request.view, task.task_id)
        if isinstance(task, Task)
        else (),
        composed_of=composition.list_parts(request.view, task_id),
    )
    return ToolReply(answer, answer_text.render_task(answer))


def get_next_step(
    request: WebsiteRequest,
    task_id: Id,
    after_step: Annotated[StepPath | None, Field(description="`path` of the step done last")] = None,
) -> ToolReply[NextStep]:
    """The next step of a task, including steps of sub-tasks and iterations."""
    task = require_document("task", task_id, request.view.knowledge.tasks, "call list_tasks")
    answer = next_steps.next_step(request.view, task, after_step)
    return ToolReply(answer, answer_text.render_step(answer))


def find_tasks_for_screen(
    request: WebsiteRequest,
    screen_id: ScreenId,
    reach: Annotated[bool, Field(description="Also tasks reachable from there")] = False,
    facts: FactsArgument = None,
    cursor: Id | None = None,
) -> ToolReply[TaskList]:
    """The tasks that begin on, use or lead to a screen, directly or through sub-tasks."""
    require_screen(request.view, screen_id)
    answer = screen_tasks.find_screen_tasks(request.view, screen_id, reach=reach, facts=facts, cursor=cursor)
    return ToolReply(answer, answer_text.render_tasks(answer))


def get_action_definition(
    request: WebsiteRequest, action_id: Id, detail: DetailLevel = "working"
) -> ToolReply[ActionAnswer]:
    """A reusable action of the website: parameters, steps, what can go wrong."""
    actions = request.view.knowledge.actions
    basic = None if action_id in actions else action_types.action_type(action_id)
    if basic is not None:
        raise BadRequest(
            f"{action_id!r} is the basic action type {basic.name!r} ({basic.summary.lower()}), no action of the website",
            hint="it is carried out as it is; get_available_actions says on which elements",
        )
    action = require_document("action", action_id, actions, "call search_knowledge")
    answer = ActionAnswer(
        **dict(document_summaries.describe_document(request.view, action, detail)),
        triggers=document_summaries.describe_triggers(request.view, action_id),
    )
    return ToolReply(answer, answer_text.render_action(answer))


def get_presentation_flow(
    request: WebsiteRequest,
    flow_id: Id | None = None,
    about: Annotated[
        str | None, Field(min_length=1, max_length=500, description="Instead of flow_id: what to show")
    ] = None,
    audience: Annotated[str | None, Field(min_length=1, max_length=200)] = None,
    detail: DetailLevel = "working",
) -> ToolReply[FlowAnswer]:
    """A presentation flow (demo): its segments in order, their narration, what to cut if time is short."""
    if flow_id is not None:
        flow = require_document(
            "presentation flow", flow_id, request.view.knowledge.flows, "call list_websites"
        )
        answer = FlowAnswer(**dict(document_summaries.describe_document(request.view, flow, detail)))
        return ToolReply(answer, answer_text.render_document(answer))
    if about is None:
        raise BadRequest("neither `flow_id` nor `about` is given", hint="give one of them")
    shown = demo_search.find_demo(request.view, about, audience)
    answer = FlowAnswer(
        **dict(document_summaries.describe_document(request.view, shown.flow, detail)),
        relevant=shown.segments,
    )
    return ToolReply(
        answer, f"shown by {', '.join(shown.segments)} of\n{answer_text.render_document(answer)}"
    )


TOOLS = (
    WebsiteToolSpec(list_tasks, "Tasks"),
    WebsiteToolSpec(get_task_definition, "A task"),
    WebsiteToolSpec(get_next_step, "What is next?"),
    WebsiteToolSpec(
        find_tasks_for_screen,
        "Tasks that use a screen",
        in_thread=True,
        elsewhere=store_backed_tools.find_tasks_in_store,
    ),
    WebsiteToolSpec(get_action_definition, "An action"),
    WebsiteToolSpec(get_presentation_flow, "A demo"),
)
