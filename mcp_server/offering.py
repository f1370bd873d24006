"""A server of the SDK that offers a fixed list of our tools, and refuses the others in our way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.types import CallToolResult, InputRequiredResult

from mcp_server.errors import ReadOnly, UnknownName
from mcp_server.security import access
from mcp_server.tools.calling import DeskTool, refusal

AS_LONG_AS_IT_RUNS = CacheHint(ttl_ms=3_600_000, scope="public")
"""Of what depends neither on the knowledge nor on who asks."""


class OfferingServer(MCPServer[Any]):
    """The SDK's server over `known` tools; `read_only` leaves out those that change anything."""

    def __init__(
        self,
        name: str,
        known: Sequence[DeskTool],
        *,
        read_only: bool = False,
        cache_hints: Mapping[Any, CacheHint] | None = None,
        **more: Any,
    ) -> None:
        offered = [tool for tool in known if not read_only or tool.scope == access.READ]
        self.offered = {tool.name: tool for tool in offered}
        self._left_out = {tool.name for tool in known} - self.offered.keys()
        super().__init__(
            name,
            version=_version(),
            tools=[*offered],
            cache_hints={"tools/list": AS_LONG_AS_IT_RUNS, **(cache_hints or {})},
            log_level="WARNING",
            **more,
        )

    @property
    def write_tools(self) -> frozenset[str]:
        """Names of the tools that change something."""
        return frozenset(name for name, tool in self.offered.items() if tool.scope == access.WRITE)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """As the SDK's; a tool that is not there is refused in our way."""
        if name in self._left_out:
            return refusal(ReadOnly(name))
        if name not in self.offered:
            return refusal(UnknownName("tool", name, self.offered))
        return await super().call_tool(name, arguments, context)


def _version() -> str:
    try:
        return version("periplus")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0"
