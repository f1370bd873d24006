"""The MCP server: the tools, resources and prompts of one desk."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from mcp.server.mcpserver import MCPServer

from kb_schema.pages.stored import answer_probes
from kb_store.learned import LearnedStore
from mcp_server.desk import Desk
from mcp_server.identify import Prober
from mcp_server.learning import Learning
from mcp_server.prompts import INSTRUCTIONS, add_prompts
from mcp_server.resources import add_resources
from mcp_server.security import access
from mcp_server.security.limits import CallLimits, Guard
from mcp_server.source import KnowledgeSource
from mcp_server.tools import WEBSITE_TOOLS
from mcp_server.tools.binding import list_websites_tool, website_tool
from mcp_server.tools.calling import DeskTool
from mcp_server.tools.learning import record_outcome_tool
from mcp_server.views import Views


def create_server(
    source: KnowledgeSource | Views,
    *,
    base_urls: Mapping[str, str] | None = None,
    read_only: bool = False,
    prober: Prober = answer_probes,
    learned: LearnedStore | None = None,
    limits: CallLimits | None = None,
) -> MCPServer:
    """A server over a source of knowledge; run it over any transport of the SDK, or in memory.

    `base_urls` says where websites run that do not run at their authored base URL. `read_only`
    leaves out tools that change anything. `prober` answers probes on stored pages. `learned` keeps
    what outcomes teach; without one it ends with the server. `limits` bound the calls. A caller that
    follows the changes of its source gives the `Views` it follows them with.
    """
    views = source if isinstance(source, Views) else Views(source)
    desk = Desk(views, prober, dict(base_urls or {}), Learning(learned))
    offered = [tool for tool in tools(desk, Guard(limits)) if not read_only or tool.scope == access.READ]
    server: MCPServer = MCPServer(
        "periplus",
        title="Periplus",
        description="A knowledge base of web applications: where am I, how do I get there, what can I do",
        instructions=INSTRUCTIONS,
        version=_version(),
        tools=[*offered],
        log_level="WARNING",
    )
    add_resources(server, desk)
    add_prompts(server)
    return server


def tools(desk: Desk, guard: Guard) -> list[DeskTool]:
    """Every tool, always in the same order, each within the limits of one guard."""
    asking = (website_tool(tool, desk, guard) for tool in WEBSITE_TOOLS)
    found = [list_websites_tool(desk), *asking, record_outcome_tool(desk)]
    for tool in found:
        tool.guard = guard
        tool.websites = desk.views.websites
    return found


def _version() -> str:
    try:
        return version("periplus")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0"
