"""An SDK server with a fixed list of tools. It refuses other calls with errors of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.types import CallToolResult, InputRequiredResult

from mcp_server.errors import ServerReadOnly, UnknownName
from mcp_server.security import access_scopes
from mcp_server.tools.tool_calls import KnowledgeTool, refuse_call

SERVER_LIFETIME = CacheHint(ttl_ms=3_600_000, scope="public")
"""Cache hint for answers that depend neither on the knowledge nor on the caller."""


class ToolServer(MCPServer[Any]):
    """The SDK's server over `known` tools; `read_only` leaves out those that change anything."""

    def __init__(
        self,
        name: str,
        known: Sequence[KnowledgeTool],
        *,
        read_only: bool = False,
        cache_hints: Mapping[Any, CacheHint] | None = None,
        **more: Any,
    ) -> None:
        offered = [tool for tool in known if not read_only or tool.scope == access_scopes.READ]
        self.offered = {tool.name: tool for tool in offered}
        self._left_out = {tool.name for tool in known} - self.offered.keys()
        super().__init__(
            name,
            version=_version(),
            tools=[*offered],
            cache_hints={"tools/list": SERVER_LIFETIME, **(cache_hints or {})},
            log_level="WARNING",
            **more,
        )

    @property
    def write_tools(self) -> frozenset[str]:
        """Names of the tools that change something."""
        return frozenset(name for name, tool in self.offered.items() if tool.scope == access_scopes.WRITE)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. An unknown tool is refused with an error that names the nearest one."""
        if name in self._left_out:
            return refuse_call(ServerReadOnly(name))
        if name not in self.offered:
            return refuse_call(UnknownName("tool", name, self.offered))
        return await super().call_tool(name, arguments, context)


@cache
def _version() -> str:
    try:
        return version("periplus")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0"
