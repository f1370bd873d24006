"""The MCP server: its tools, resources, prompts and completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.context import Context
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    GetPromptResult,
    InputRequiredResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Prompt,
    PromptReference,
    ResourceTemplate,
    ResourceTemplateReference,
)
from pydantic import AnyUrl

from kb_store.learned.learned_numbers import LearnedStore
from kb_store.proposals.proposal_store import ProposalStore
from mcp_server import completions, resources
from mcp_server.errors import KnowledgeServerError, UnknownName
from mcp_server.failures.failed_runs import RunReader
from mcp_server.identification.screen_identification import Prober
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.knowledge.knowledge_sources import KnowledgeSource
from mcp_server.knowledge.learned_weights import LearnedWeights
from mcp_server.knowledge.proposal_service import KnowledgeWriter, ProposalService
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.paths.path_engines import PathEngines
from mcp_server.prompts import INSTRUCTIONS, add_prompts
from mcp_server.security.call_limits import CallGuard, CallLimits
from mcp_server.server_context import ServerContext
from mcp_server.tool_server import SERVER_LIFETIME, ToolServer
from mcp_server.tools.tool_calls import KnowledgeTool
from mcp_server.tools.tool_definitions import (
    define_list_websites_tool,
    define_server_tool,
    define_website_tool,
)
from mcp_server.tools.tool_registry import SERVER_TOOLS, WEBSITE_TOOLS
from web_pages.stored_pages import answer_probes


def create_server(
    source: KnowledgeSource | ViewCache,
    *,
    base_urls: Mapping[str, str] | None = None,
    read_only: bool = False,
    prober: Prober = answer_probes,
    learned: LearnedStore | None = None,
    proposals: ProposalStore | None = None,
    runs: RunReader | None = None,
    limits: CallLimits | None = None,
    engines: PathEngines | None = None,
    snapshots: Path | None = None,
) -> KnowledgeServer:
    """Create a server over a source of knowledge. It runs over any transport of the SDK, or in memory.

    Args:
        source: where knowledge comes from. A caller that follows changes passes its own `ViewCache`, compiled for the
            same engines.
        base_urls: website id -> base URL, for websites that do not run at their authored base URL.
        read_only: leave out the tools that change anything.
        prober: answers probes on stored pages.
        learned: keeps learned numbers; without it they end with the server.
        proposals: keeps proposals; without it they end with the server.
        runs: recorded runs, for failure explanations.
        limits: limits of calls.
        engines: which engine searches paths.
        snapshots: the only folder from which snapshots are read as files; None: none is read.
    """
    engines = engines or PathEngines()
    views = source if isinstance(source, ViewCache) else ViewCache(source, engines.compiled)
    writer = views.source if isinstance(views.source, KnowledgeWriter) else None
    proposing = ProposalService(proposals, writer)
    server_context = ServerContext(
        views,
        prober,
        dict(base_urls or {}),
        LearnedWeights(learned),
        proposing,
        runs,
        engines,
        CallGuard(limits),
        snapshots=snapshots,
    )
    return KnowledgeServer(server_context, build_tools(server_context), read_only=read_only)


def build_tools(server_context: ServerContext) -> list[KnowledgeTool]:
    """Return every tool, always in the same order, each within the limits of the server's guard."""
    asking = (define_website_tool(tool, server_context) for tool in WEBSITE_TOOLS)
    server_tools = (define_server_tool(tool, server_context) for tool in SERVER_TOOLS)
    found = [define_list_websites_tool(server_context), *asking, *server_tools]
    for tool in found:
        tool.guard = server_context.guard
        tool.websites = server_context.views.websites
    return found


class KnowledgeServer(ToolServer):
    """The knowledge server. It adds paged resources, completions and change events to a `ToolServer`."""

    def __init__(
        self, server_context: ServerContext, known: list[KnowledgeTool], *, read_only: bool = False
    ) -> None:
        self.server_context = server_context
        self._bus = InMemorySubscriptionBus()
        super().__init__(
            "periplus",
            known,
            read_only=read_only,
            title="Periplus",
            description="A knowledge base of web applications: where am I, how do I get there, what can I do",
            instructions=INSTRUCTIONS,
            subscriptions=self._bus,
            cache_hints={
                "prompts/list": SERVER_LIFETIME,
                "resources/templates/list": SERVER_LIFETIME,
            },
        )
        self._has_templates = self._has_prompts = False
        self.completion()(self._complete)  # type: ignore[no-untyped-call]
        server_context.views.on_change(self._tell)

    # To declare a template or a prompt takes the SDK milliseconds, and most sessions ask for tools alone.

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Return the templates by which clients read one resource."""
        self._declare_templates()
        return await super().list_resource_templates()

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read one resource. Raises what the SDK raises."""
        self._declare_templates()
        return await super().read_resource(uri, context)

    def _declare_templates(self) -> None:
        if not self._has_templates:
            self._has_templates = True
            resources.add_resources(self, self.server_context)

    async def list_prompts(self) -> list[Prompt]:
        """Return the prompts of the server."""
        if not self._has_prompts:
            self._has_prompts = True
            add_prompts(self)
        return await super().list_prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Return a prompt. An unknown prompt or a missing argument is an error of the client (`INVALID_PARAMS`)."""
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            raise MCPError(INVALID_PARAMS, str(UnknownName("prompt", name, prompts)))
        wanted = [each.name for each in prompts[name].arguments or () if each.required]
        missing = [each for each in wanted if each not in (arguments or {})]
        if missing:
            raise MCPError(INVALID_PARAMS, f"prompt {name}: {', '.join(missing)} missing")
        return await super().get_prompt(name, arguments, context)

    async def _handle_list_resources(
        self,
        ctx: ServerRequestContext[Any],  # noqa: ARG002 - the SDK's signature
        params: PaginatedRequestParams | None,
    ) -> ListResourcesResult:
        # The SDK lists registered resources; these come from the knowledge base, one page at a time.
        try:
            return await resources.list_page(self.server_context, None if params is None else params.cursor)
        except KnowledgeServerError as exc:
            raise MCPError(INVALID_PARAMS, str(exc)) from exc

    async def _complete(
        self,
        _about: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        given = (context.arguments if context is not None else None) or {}
        return await completions.complete(self.server_context, argument.name, argument.value, given)

    async def _tell(self, old: KnowledgeView, new: KnowledgeView) -> None:
        for event in resources.change_events(old.knowledge, new.knowledge):
            await self._bus.publish(event)
