"""The agent's MCP server: three tools over one workshop."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_server.offering import OfferingServer
from mcp_server.security.limits import CallLimits, Guard
from mcp_server.views import Views
from periplus.agent_server.tools import Bench, tools
from periplus.agent_server.workshop import Workshop

INSTRUCTIONS = """\
Has work done on web applications, in a real browser, by tasks that are known.
run_task does a task and answers with a run_id; run_status says how it goes; cancel_run stops it after the \
step it is at. Tasks and their inputs are the knowledge server's: list_tasks, get_task_definition.
A run that was cut off, cancelled, or needs something is carried on by run_task with its run_id: what was \
done is not done again. Never begin anew what may have happened: carry it on.\
"""


def create_agent_server(
    workshop: Workshop,
    views: Views,
    *,
    base_urls: Mapping[str, str] | None = None,
    read_only: bool = False,
    limits: CallLimits | None = None,
) -> OfferingServer:
    """A server over a workshop that is open; run it over any transport of the SDK, or in memory.

    `views` is the knowledge, to refuse what there is not; `base_urls` says where websites run that do not
    run at their authored base URL. `read_only` leaves out all but `run_status`. `limits` bound the calls.
    """
    known = tools(Bench(workshop, views, dict(base_urls or {})))
    guard = Guard(limits)
    for tool in known:
        tool.guard = guard
        tool.websites = views.websites
    return OfferingServer(
        "periplus-agent",
        known,
        read_only=read_only,
        title="Periplus agent",
        description="Does tasks of web applications in a browser: once, and to the end",
        instructions=INSTRUCTIONS,
    )
