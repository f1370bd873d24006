"""Voice agents: list, search, create, look at, edit, delete."""

from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from seeds.spadeworks.site import sample
from seeds.spadeworks.site.bugs import Bug
from seeds.spadeworks.site.forms import MAX_NAME, read_agent
from seeds.spadeworks.site.pagination import last_page, page_of
from seeds.spadeworks.site.site import visitor_of
from seeds.spadeworks.site.state import Agent, AgentDetails, WorkspaceFullError
from seeds.spadeworks.site.web import Errors, has_bug, read_form, render, see_other, signed_in

PER_PAGE = 10


def _agent(request: Request) -> Agent:
    """Return the agent of the address. Raises ``HTTPException`` (404)."""
    agent = visitor_of(request).agent(request.path_params["agent_id"])
    if agent is None:
        raise HTTPException(404)
    return agent


@signed_in
async def _list(request: Request) -> Response:
    query = request.query_params.get("q", "").strip()[:MAX_NAME]
    found = visitor_of(request).agents_matching(query)
    page = page_of(found, request.query_params.get("page", ""), PER_PAGE)
    page_link = f"/agent?{urlencode({'q': query})}&page=" if query else "/agent?page="
    return render(request, "agents.html", query=query, page=page, page_link=page_link)


@signed_in
async def _create_page(request: Request) -> Response:
    return _show_form(request, AgentDetails("", ""), Errors())


@signed_in
async def _create(request: Request) -> Response:
    visitor = visitor_of(request)
    details, errors = read_agent(await read_form(request), visitor)
    if has_bug(request, Bug.VALIDATION_MISSING) and not details.name:
        del errors["agent_name"]
    if errors:
        return _show_form(request, details, errors)
    if has_bug(request, Bug.WRONG_NAME_SAVED):
        details.name = details.name[1:]
    try:
        agent = visitor.create_agent(details)
    except WorkspaceFullError as exc:
        return _show_form(request, details, Errors(form=str(exc)))
    visitor.toast("Agent created successfully", f"“{agent.name}” is ready to take calls.")
    return see_other(f"/agent?page={last_page(len(visitor.agents), PER_PAGE)}")


@signed_in
async def _detail(request: Request) -> Response:
    return render(request, "agent_detail.html", agent=_agent(request))


@signed_in
async def _edit_page(request: Request) -> Response:
    agent = _agent(request)
    return _show_form(request, agent, Errors(), editing=agent)


@signed_in
async def _edit(request: Request) -> Response:
    visitor, agent = visitor_of(request), _agent(request)
    details, errors = read_agent(await read_form(request), visitor, editing=agent.id)
    if errors:
        return _show_form(request, details, errors, editing=agent)
    visitor.update_agent(agent, details)
    visitor.toast("Agent updated", f"Your changes to “{agent.name}” are live.")
    return see_other(f"/agent/{agent.id}")


@signed_in
async def _delete(request: Request) -> Response:
    visitor, agent = visitor_of(request), _agent(request)
    await read_form(request)
    if not has_bug(request, Bug.DELETE_KEEPS):
        visitor.delete_agent(agent)
    visitor.toast("Agent deleted", f"“{agent.name}” takes no more calls.")
    return see_other("/agent")


@signed_in
async def _switch(request: Request) -> Response:
    """Pause an agent that takes calls; let any other one take calls."""
    visitor, agent = visitor_of(request), _agent(request)
    await read_form(request)
    visitor.switch_agent(agent)
    if agent.status == "Live":
        visitor.toast("Agent is live", f"“{agent.name}” takes calls.")
    else:
        visitor.toast("Agent paused", f"“{agent.name}” takes no calls for now.")
    return see_other(f"/agent/{agent.id}")


def _show_form(
    request: Request, details: AgentDetails, errors: Errors, *, editing: Agent | None = None
) -> Response:
    if has_bug(request, Bug.WRONG_VALIDATION_TEXT) and "agent_name" in errors:
        errors["agent_name"] = "Invalid input"
    return render(
        request,
        "agent_edit.html" if editing else "agent_create.html",
        status=422 if errors else 200,
        agent=editing,
        details=details,
        errors=errors,
        voices=sample.VOICES,
    )


routes = [
    Route("/agent", _list),
    Route("/agent/create", _create_page, methods=["GET"]),
    Route("/agent/create", _create, methods=["POST"]),
    Route("/agent/{agent_id}", _detail),
    Route("/agent/{agent_id}/edit", _edit_page, methods=["GET"]),
    Route("/agent/{agent_id}/edit", _edit, methods=["POST"]),
    Route("/agent/{agent_id}/switch", _switch, methods=["POST"]),
    Route("/agent/{agent_id}/delete", _delete, methods=["POST"]),
]
