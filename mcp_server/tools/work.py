"""What can be done with the website: tasks, actions, demos."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kb_schema import vocabulary
from kb_schema.answers import DocumentAnswer, NextStep, TaskList
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from mcp_server import demos, describe, near, rendering, steps
from mcp_server.errors import BadRequest
from mcp_server.tools import afar
from mcp_server.tools.parameters import DetailLevel, FactsKnown, Id, ScreenId, named, screen_of
from mcp_server.tools.reply import Reply, Visit, WebsiteTool

StepPath = Annotated[str, Field(min_length=1, max_length=4_000)]


def list_tasks(
    visit: Visit, cursor: Annotated[Id | None, Field(description="`next_cursor` of the page before")] = None
) -> Reply[TaskList]:
    """The website's tasks and workflows with their inputs, a page at a time."""
    answer = describe.task_list(visit.view, cursor)
    return Reply(answer, rendering.tasks(answer))


def get_task_definition(visit: Visit, task_id: Id, detail: DetailLevel = "working") -> Reply[DocumentAnswer]:
    """A task (or workflow): inputs, outputs, steps, how to tell it succeeded."""
    knowledge = visit.view.knowledge
    work: dict[str, Task | Workflow] = {**knowledge.workflows, **knowledge.tasks}
    task = named("task", task_id, work, "call list_tasks")
    answer = describe.document(visit.view, task, detail)
    return Reply(answer, rendering.document(answer))


def get_next_step(
    visit: Visit,
    task_id: Id,
    after_step: Annotated[StepPath | None, Field(description="`path` of the step done last")] = None,
) -> Reply[NextStep]:
    """The step of a task that comes next; sub-tasks and iterations are gone into."""
    task = named("task", task_id, visit.view.knowledge.tasks, "call list_tasks")
    answer = steps.next_step(visit.view, task, after_step)
    return Reply(answer, rendering.step(answer))


def find_tasks_for_screen(
    visit: Visit,
    screen_id: ScreenId,
    reach: Annotated[bool, Field(description="Also tasks one can get to from there, with the way")] = False,
    facts: FactsKnown = None,
    cursor: Id | None = None,
) -> Reply[TaskList]:
    """The tasks that begin on, use or lead to a screen, themselves or by tasks they run."""
    screen_of(visit.view, screen_id)
    answer = near.tasks_for_screen(visit.view, screen_id, reach=reach, facts=facts, cursor=cursor)
    return Reply(answer, rendering.tasks(answer))


def get_action_definition(
    visit: Visit, action_id: Id, detail: DetailLevel = "working"
) -> Reply[DocumentAnswer]:
    """A reusable action of the website: parameters, steps, what can go wrong."""
    actions = visit.view.knowledge.actions
    basic = None if action_id in actions else vocabulary.action_type(action_id)
    if basic is not None:
        raise BadRequest(
            f"{action_id!r} is the basic action type {basic.name!r} ({basic.summary.lower()}), no action of the website",
            hint="it is carried out as it is; get_available_actions says on which elements",
        )
    action = named("action", action_id, actions, "call search_knowledge")
    answer = describe.document(visit.view, action, detail)
    return Reply(answer, rendering.document(answer))


def get_presentation_flow(
    visit: Visit,
    flow_id: Id | None = None,
    about: Annotated[
        str | None, Field(min_length=1, max_length=500, description="Instead: what is to be shown")
    ] = None,
    detail: DetailLevel = "working",
) -> Reply[DocumentAnswer]:
    """A demo: its segments in order, what is said, and what to do when time runs short."""
    if flow_id is not None:
        flow = named("presentation flow", flow_id, visit.view.knowledge.flows, "call list_websites")
        answer = describe.document(visit.view, flow, detail)
        return Reply(answer, rendering.document(answer))
    if about is None:
        raise BadRequest("neither a demo nor what to show", hint="give flow_id or about")
    shown = demos.showing(visit.view, about)
    answer = describe.document(visit.view, shown.flow, detail).model_copy(update={"relevant": shown.segments})
    return Reply(answer, f"shown by {', '.join(shown.segments)} of\n{rendering.document(answer)}")


TOOLS = (
    WebsiteTool(list_tasks, "Tasks"),
    WebsiteTool(get_task_definition, "A task"),
    WebsiteTool(get_next_step, "What is next?"),
    WebsiteTool(
        find_tasks_for_screen,
        "Tasks that use a screen",
        in_thread=True,
        elsewhere=afar.find_tasks_for_screen,
    ),
    WebsiteTool(get_action_definition, "An action"),
    WebsiteTool(get_presentation_flow, "A demo"),
)
