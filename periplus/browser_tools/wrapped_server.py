"""`periplus mcp --wrap`: another MCP server's tools, unchanged, with summaries of known pages in their answers."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool, ToolAnnotations

from kb_schema.tool_answers import AvailableActions
from kb_schema.url_patterns import origin_of
from kb_store import Stores
from mcp_server.knowledge.view_cache import ViewCache
from periplus.browser_tools.element_targets import find_fitting, list_other_fields
from periplus.browser_tools.known_page import describe_actions
from periplus.browser_tools.websites_by_origin import find_website
from periplus.browser_tools.wrapped_answers import (
    WHOLE,
    find_answered_page,
    list_named_elements,
    put_summary,
)
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client

SNAPSHOT = "browser_snapshot"
"""The tool of Playwright's server that returns the page."""
ANSWER_S = 600.0
"""Seconds that the wrapped server may take for an answer; some of its tools wait for a person."""
OURS = "PERIPLUS_"
"""What the variables begin with that the wrapped server does not get: our secrets and keys are among them."""
_WHOLE_TOOL = Tool(
    name=WHOLE,
    description="The whole accessibility snapshot of the present page, where another answer had a summary of it",
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    annotations=ToolAnnotations(title="Whole page snapshot", read_only_hint=True, open_world_hint=True),
)


class WrappedServer(MCPServer[Any]):
    """Passes calls on to `wrapped`. Where an answer ends with a known page, its snapshot becomes a summary."""

    def __init__(
        self,
        wrapped: Client,
        tools: list[Tool],
        knowledge: Client,
        views: ViewCache,
        base_urls: Mapping[str, str],
        *,
        folder: Path,
    ) -> None:
        """`tools`: those of the wrapped server. `folder`: where it runs."""
        super().__init__("periplus", log_level="WARNING", title="Periplus")
        self._wrapped, self._tools, self._knowledge = wrapped, tools, knowledge
        self._views, self._base_urls, self._folder = views, base_urls, folder

    @property
    def write_tools(self) -> frozenset[str]:
        """Names of the tools that may change something: all but those that say that they only read."""
        return frozenset(
            tool.name
            for tool in self._tools
            if tool.annotations is None or not tool.annotations.read_only_hint
        )

    async def list_tools(self) -> list[Tool]:
        """Return the wrapped server's tools as they are, and one for whole snapshots."""
        return [*self._tools, _WHOLE_TOOL]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool of the wrapped server. Answers other than those with a known page are passed on as they are."""
        del context
        if name == WHOLE:
            return await self._wrapped.call_tool(SNAPSHOT, {}, read_timeout_seconds=ANSWER_S)
        result = await self._wrapped.call_tool(name, arguments, read_timeout_seconds=ANSWER_S)
        if name == SNAPSHOT and arguments:  # a part, or a file: the client asked for just that
            return result
        content = [
            each.model_copy(update={"text": await self._summarize(each.text)})
            if isinstance(each, TextContent)
            else each
            for each in result.content
        ]
        return result.model_copy(update={"content": content})

    async def _summarize(self, text: str) -> str:
        page = find_answered_page(text, self._folder)
        if page is None:
            return text
        website_id = await find_website(self._views, self._base_urls, origin_of(page.url))
        if website_id is None:
            return text
        given = {"url": page.url, "text": page.snapshot}
        on = await self._ask(website_id, snapshot=given, detail="working")
        if on is None or on.screen_id is None or on.ambiguous:
            return text
        elements = list(list_named_elements(page.snapshot))
        fitting = find_fitting(on.actions, elements)
        shown = [each for each in on.actions if each.element_id in fitting]
        known, named = describe_actions(on, shown, more_with=WHOLE)
        targets = {
            str(each.element_id): fitting[each.element_id][0].target
            for each in named
            if each.element_id and len(fitting[each.element_id]) == 1
        }
        return put_summary(text, page, known, targets, list_other_fields(elements, fitting))

    async def _ask(self, website_id: str, **given: Any) -> AvailableActions | None:
        try:
            answer = await self._knowledge.call_tool(
                "get_available_actions", {"website_id": website_id, **given}
            )
        except MCPError:
            return None
        if answer.is_error or answer.structured_content is None:
            return None
        return AvailableActions.model_validate(answer.structured_content)


@asynccontextmanager
async def open_wrapped_server(
    command: str, stores: Stores, views: ViewCache, base_urls: Mapping[str, str]
) -> AsyncIterator[WrappedServer]:
    """Start the command and open the server in front of it. Raises `UserError` if it does not start or has no snapshots."""
    words = split_command(command)
    env = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    parameters = StdioServerParameters(command=words[0], args=words[1:], env=env)
    try:
        async with (
            connect_knowledge_client(stores, base_urls) as knowledge,
            Client(stdio_client(parameters)) as wrapped,
        ):
            tools = choose_tools((await wrapped.list_tools()).tools)
            if SNAPSHOT not in {tool.name for tool in tools}:
                raise UserError(
                    f"--wrap: {command!r} has no tool {SNAPSHOT}",
                    fix='name Playwright\'s server: --wrap "npx @playwright/mcp@0.0.83 --headless"',
                )
            yield WrappedServer(wrapped, tools, knowledge, views, base_urls, folder=Path.cwd())
    except BaseExceptionGroup as group:
        found, _ = group.split(UserError)
        first: BaseException | None = found
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        if first is None:
            raise
        raise first from None
    except MCPError as exc:
        raise UserError(
            f"--wrap: {command!r} does not answer as an MCP server: {exc}",
            fix="run the command alone: its standard output may carry only the protocol",
        ) from exc


def choose_tools(tools: Iterable[Tool]) -> list[Tool]:
    """Return the first tool of each name; none has the name of our own tool."""
    found = {WHOLE: _WHOLE_TOOL}
    return [tool for tool in tools if found.setdefault(tool.name, tool) is tool]


def split_command(command: str) -> list[str]:
    """Return the words of a command. Raises `UserError` if it is empty, badly quoted, or not installed."""
    try:
        words = shlex.split(command)
    except ValueError as exc:
        raise UserError(f"--wrap {command!r}: {exc}", fix="quote it as a shell command") from exc
    if not words or which(words[0]) is None:
        raise UserError(
            f"--wrap: there is no program {words[0] if words else ''!r}",
            fix='name a command, such as --wrap "npx @playwright/mcp@0.0.83 --headless"',
        )
    return words
