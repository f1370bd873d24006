"""Why did it fail?"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field

from kb_schema.answers import Explanation
from kb_schema.pages.limits import PageRefused
from kb_schema.snapshots import PageSnapshot
from kb_store.errors import StoreError
from mcp_server import rendering
from mcp_server.desk import Desk
from mcp_server.errors import BadRequest, SourceDown
from mcp_server.failures.case import Case, Told
from mcp_server.failures.explain import explain
from mcp_server.failures.runs import run_told
from mcp_server.identify import identify
from mcp_server.snapshots import admitted
from mcp_server.tools.parameters import Id, ScreenId, named, screen_of
from mcp_server.tools.reply import DeskedTool, Reply, Visit
from mcp_server.tools.where import Page

ErrorText = Annotated[
    str, Field(min_length=1, max_length=20_000, description="The error's name, or the message as it came")
]


async def explain_failure(  # noqa: PLR0917 - clients name every argument
    desk: Desk,
    visit: Visit,
    error: ErrorText | None = None,
    snapshot: Page | None = None,
    task_id: Id | None = None,
    step_id: Id | None = None,
    screen_id: Annotated[ScreenId | None, Field(description="Where one was")] = None,
    element_id: Id | None = None,
    action_type: Id | None = None,
    transition_id: Annotated[str | None, Field(max_length=700)] = None,
    run_id: Annotated[Id | None, Field(description="A recorded run, or latest; the rest adds to it")] = None,
) -> Reply[Explanation]:
    """Why a step or a run failed: likely causes with evidence, and what to call next. Say what is known."""
    told = Told(
        error=error, task_id=task_id, step_id=step_id, screen_id=screen_id, element_id=element_id,
        action_type=action_type, transition_id=transition_id,
    )  # fmt: skip
    _check_names(visit, told)
    run_id, told = await _with_run(desk, visit, run_id, told)
    if snapshot is None and told == Told():
        raise BadRequest(
            "nothing is said of the failure", hint="give error, snapshot, task_id and step_id, or run_id"
        )
    answer = await desk.guard.in_thread(partial(_explained, visit, told, snapshot, run_id))
    return Reply(answer, rendering.explanation(answer))


def _explained(visit: Visit, told: Told, snapshot: PageSnapshot | None, run_id: str | None) -> Explanation:
    try:
        if snapshot is None:
            case = Case(visit.view, told, None, None, visit.prober, visit.base_url)
            return explain(case, run_id=run_id)
        with visit.pages.lent(admitted(snapshot)) as page:
            found = identify(visit.view, page, visit.prober, base_url=visit.base_url)
            case = Case(visit.view, told, page, found, visit.prober, visit.base_url)
            return explain(case, run_id=run_id)
    except PageRefused as exc:
        raise BadRequest(exc.reason, hint="send the page's text instead of its HTML") from exc


async def _with_run(desk: Desk, visit: Visit, run_id: str | None, told: Told) -> tuple[str | None, Told]:
    """What was told, completed by what was recorded; names the knowledge no longer has are left out."""
    if run_id is None:
        return None, told
    if desk.runs is None:
        raise BadRequest("this server has no recorded runs", hint="say what failed: error, task_id, step_id")
    try:
        run, recorded = await run_told(desk.runs, visit.view.website_id, run_id)
    except StoreError as exc:
        raise SourceDown(str(exc)) from exc
    knowledge = visit.view.knowledge
    known = recorded.model_copy(
        update={
            "task_id": recorded.task_id if recorded.task_id in knowledge.tasks else None,
            "screen_id": recorded.screen_id if recorded.screen_id in knowledge.screens else None,
        }
    )
    given = {name: value for name, value in dict(told).items() if value is not None}
    merged = known.model_copy(update=given)
    task = knowledge.tasks.get(merged.task_id or "")
    if merged.step_id is not None and (task is None or task.step(merged.step_id) is None):
        merged = merged.model_copy(update={"step_id": None})
    return run.run_id, merged


def _check_names(visit: Visit, told: Told) -> None:
    knowledge = visit.view.knowledge
    if told.screen_id is not None:
        screen_of(visit.view, told.screen_id)
    if told.transition_id is not None:
        named("transition", told.transition_id, knowledge.transitions, "find_path names them")
    if told.element_id is not None:
        named("element", told.element_id, visit.view.places.owners, "call get_screen")
    if told.task_id is not None:
        task = named("task", told.task_id, knowledge.tasks, "call list_tasks")
        if told.step_id is not None:
            steps = {step.step_id: step for step in task.steps}
            named("step", told.step_id, steps, f"steps of task {task.task_id!r}")
    elif told.step_id is not None:
        raise BadRequest("a step without its task", hint="give task_id, too")


TOOLS = (DeskedTool(explain_failure, "Why did it fail?"),)
