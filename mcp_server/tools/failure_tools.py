"""The tool that explains failures."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.run_records import StoredRun
from kb_schema.tool_answers import FailureExplanation
from kb_store.errors import StoreError
from mcp_server.descriptions import answer_text
from mcp_server.errors import BadRequest, SourceUnavailable
from mcp_server.failures.failed_runs import read_failed_run
from mcp_server.failures.failure_case import FailureCase, ReportedFailure
from mcp_server.failures.failure_explanation import explain
from mcp_server.identification.client_pages import admit_page
from mcp_server.identification.screen_identification import identify
from mcp_server.server_context import ServerContext, WebsiteRequest
from mcp_server.tools.identification_tools import PageArgument
from mcp_server.tools.tool_parameters import Id, ScreenId, require_document, require_screen
from mcp_server.tools.tool_specs import ServerToolSpec, ToolReply
from web_pages.page_limits import PageRefused

ErrorText = Annotated[str, Field(min_length=1, max_length=20_000, description="The error's name or message")]


async def explain_failure(  # noqa: PLR0917 - clients name every argument
    server_context: ServerContext,
    request: WebsiteRequest,
    error: ErrorText | None = None,
    snapshot: PageArgument | None = None,
    task_id: Id | None = None,
    step_id: Id | None = None,
    screen_id: Annotated[ScreenId | None, Field(description="The screen of the failed action")] = None,
    element_id: Id | None = None,
    action_type: Id | None = None,
    transition_id: Annotated[str | None, Field(max_length=700)] = None,
    run_id: Annotated[Id | None, Field(description="A recorded run, or latest")] = None,
) -> ToolReply[FailureExplanation]:
    """Why a step or a run failed: likely causes with evidence, and what to call next."""
    told = ReportedFailure(
        error=error,
        task_id=task_id,
        step_id=step_id,
        screen_id=screen_id,
        element_id=element_id,
        action_type=action_type,
        transition_id=transition_id,
    )
    _check_names(request, told)
    run, told = await _with_run(server_context, request, run_id, told)
    if snapshot is None and told == ReportedFailure():
        raise BadRequest(
            "no argument describes the failure", hint="give error, snapshot, task_id and step_id, or run_id"
        )
    answer = await server_context.guard.in_thread(partial(_explain, request, told, snapshot, run))
    return ToolReply(answer, answer_text.render_explanation(answer))


def _explain(
    request: WebsiteRequest, told: ReportedFailure, snapshot: PageSnapshot | None, run: StoredRun | None
) -> FailureExplanation:
    try:
        if snapshot is None:
            case = FailureCase(request.view, told, None, None, request.prober, request.base_url)
            return explain(case, run=run)
        with request.pages.lent(admit_page(snapshot, request.snapshots).snapshot) as page:
            found = identify(request.view, page, request.prober, base_url=request.base_url)
            case = FailureCase(request.view, told, page, found, request.prober, request.base_url)
            return explain(case, run=run)
    except PageRefused as exc:
        raise BadRequest(exc.reason, hint="send the page's text instead of its HTML") from exc


async def _with_run(
    server_context: ServerContext, request: WebsiteRequest, run_id: str | None, told: ReportedFailure
) -> tuple[StoredRun | None, ReportedFailure]:
    """Merge the report with the recorded run. Names that the knowledge base no longer has are left out."""
    if run_id is None:
        return None, told
    if server_context.runs is None:
        raise BadRequest(
            "this server has no recorded runs", hint="describe the failure: error, task_id, step_id"
        )
    try:
        run, recorded = await read_failed_run(server_context.runs, request.view.website_id, run_id)
    except StoreError as exc:
        raise SourceUnavailable(str(exc)) from exc
    knowledge = request.view.knowledge
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
    return run, merged


def _check_names(request: WebsiteRequest, told: ReportedFailure) -> None:
    knowledge = request.view.knowledge
    if told.screen_id is not None:
        require_screen(request.view, told.screen_id)
    if told.transition_id is not None:
        require_document("transition", told.transition_id, knowledge.transitions, "find_path names them")
    if told.element_id is not None:
        require_document("element", told.element_id, request.view.places.owners, "call get_screen")
    if told.task_id is not None:
        task = require_document("task", told.task_id, knowledge.tasks, "call list_tasks")
        if told.step_id is not None:
            steps = {step.step_id: step for step in task.steps}
            require_document("step", told.step_id, steps, f"steps of task {task.task_id!r}")
    elif told.step_id is not None:
        raise BadRequest("a step without its task", hint="give task_id, too")


TOOLS = (ServerToolSpec(explain_failure, "Why did it fail?"),)
