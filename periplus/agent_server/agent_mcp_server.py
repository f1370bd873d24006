"""Creates and opens the agent's MCP server: three tools on a `RunExecutor`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from kb_store import Stores
from kb_store.runs.run_store import RunStore
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.security.call_limits import CallGuard, CallLimits
from mcp_server.tool_server import ToolServer
from periplus.agent_server.agent_tools import AgentToolContext, build_agent_tools
from periplus.agent_server.run_executor import RunExecutor, RunExecutorLimits
from periplus.session_setup import start_browser
from periplus.settings import load_settings

INSTRUCTIONS = """\
Runs tasks of the knowledge base on web applications, in a real browser.
run_task runs a task and returns a run_id; run_status returns its progress or result; cancel_run stops it \
after its current step. The knowledge server describes tasks and inputs: list_tasks, get_task_definition.
To resume a run that was interrupted or cancelled, or that waits for an input, call run_task with its run_id: \
finished steps are not repeated. Do not start a new run for an action that may have taken effect: resume it.\
"""


def create_agent_server(
    executor: RunExecutor,
    views: ViewCache,
    *,
    base_urls: Mapping[str, str] | None = None,
    read_only: bool = False,
    limits: CallLimits | None = None,
) -> ToolServer:
    """Return an MCP server for an open run executor, for any transport of the SDK or in memory.

    `views`: the knowledge, to refuse unknown names. `base_urls`: base URLs that differ from the authored ones.
    `read_only`: only offer `run_status`. `limits`: limits of tool calls.
    """
    known = build_agent_tools(AgentToolContext(executor, views, dict(base_urls or {})))
    guard = CallGuard(limits)
    for tool in known:
        tool.guard = guard
        tool.websites = views.websites
    return ToolServer(
        "periplus-agent",
        known,
        read_only=read_only,
        title="Periplus agent",
        description="Runs tasks on web applications in a browser; each non-idempotent step at most once",
        instructions=INSTRUCTIONS,
    )


RUNS = "runs"
"""Subfolder of the data directory, with a folder for each run's result and trace."""
FILES = "files"
"""Subfolder of the data directory with files for uploads, unless `files` names another folder."""


@asynccontextmanager
async def open_agent_server(
    stores: Stores,
    runs: RunStore,
    views: ViewCache,
    *,
    base_urls: Mapping[str, str] | None = None,
    read_only: bool = False,
    limits: CallLimits | None = None,
    headed: bool = False,
    files: Path | None = None,
    runs_at_once: int = RunExecutorLimits().runs_at_once,
    shared: bool = False,
) -> AsyncIterator[ToolServer]:
    """Open the server and its run executor; runs that are active at the end are stopped and can be resumed.

    `shared`: several clients use it, over HTTP.
    """
    settings = load_settings()
    uploads = files or settings.data_dir / FILES
    bounds = RunExecutorLimits(runs_at_once=runs_at_once)
    browser = partial(start_browser, headed=headed)
    folder = settings.data_dir / RUNS
    async with RunExecutor(
        stores, runs, folder, uploads=uploads, limits=bounds, browser=browser, for_clients=shared
    ) as executor:
        yield create_agent_server(executor, views, base_urls=base_urls, read_only=read_only, limits=limits)
