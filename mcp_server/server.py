"""The MCP server: the tools, resources and prompts of one desk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
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
    PromptReference,
    ResourceTemplateReference,
)

from kb_schema.pages.stored import answer_probes
from kb_store.learned import LearnedStore
from kb_store.proposals import ProposalStore
from mcp_server import completions, resources
from mcp_server.compiled import View
from mcp_server.desk import Desk
from mcp_server.engines import PathEngines
from mcp_server.errors import DeskError, UnknownName
from mcp_server.failures.runs import RunReader
from mcp_server.identify import Prober
from mcp_server.learning import Learning
from mcp_server.offering import AS_LONG_AS_IT_RUNS, OfferingServer
from mcp_server.prompts import INSTRUCTIONS, add_prompts
from mcp_server.proposing import KnowledgeWriter, Proposing
from mcp_server.security.limits import CallLimits, Guard
from mcp_server.source import KnowledgeSource
from mcp_server.tools.binding import desked_tool, list_websites_tool, website_tool
from mcp_server.tools.calling import DeskTool
from mcp_server.tools.offered import DESKED_TOOLS, WEBSITE_TOOLS
from mcp_server.views import Views


def create_server(
    source: KnowledgeSource | Views,
    *,
    base_urls: Mapping[str, str] | None = None,
    read_only: bool = False,
    prober: Prober = answer_probes,
    learned: LearnedStore | None = None,
    proposals: ProposalStore | None = None,
    runs: RunReader | None = None,
    limits: CallLimits | None = None,
    engines: PathEngines | None = None,
) -> DeskServer:
    """A server over a source of knowledge; run it over any transport of the SDK, or in memory.

    `base_urls` says where websites run that do not run at their authored base URL. `read_only`
    leaves out tools that change anything. `prober` answers probes on stored pages. `learned` keeps
    what outcomes teach, `proposals` what should change; without them that ends with the server. `runs`
    are recorded runs, to explain. `limits` bound the calls, `engines` search paths. A caller that
    follows the changes of its source gives the `Views` it follows them with, compiled for the same engines.
    """
    engines = engines or PathEngines()
    views = source if isinstance(source, Views) else Views(source, engines.compiled)
    writer = views.source if isinstance(views.source, KnowledgeWriter) else None
    proposing = Proposing(proposals, writer)
    desk = Desk(
        views, prober, dict(base_urls or {}), Learning(learned), proposing, runs, engines, Guard(limits)
    )
    return DeskServer(desk, tools(desk), read_only=read_only)


def tools(desk: Desk) -> list[DeskTool]:
    """Every tool, always in the same order, each within the limits of the desk's guard."""
    asking = (website_tool(tool, desk) for tool in WEBSITE_TOOLS)
    desked = (desked_tool(tool, desk) for tool in DESKED_TOOLS)
    found = [list_websites_tool(desk), *asking, *desked]
    for tool in found:
        tool.guard = desk.guard
        tool.websites = desk.views.websites
    return found


class DeskServer(OfferingServer):
    """The server over one desk. What it adds: resources by page, completions, word of changes."""

    def __init__(self, desk: Desk, known: list[DeskTool], *, read_only: bool = False) -> None:
        self.desk = desk
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
                "prompts/list": AS_LONG_AS_IT_RUNS,
                "resources/templates/list": AS_LONG_AS_IT_RUNS,
            },
        )
        resources.add_resources(self, desk)
        add_prompts(self)
        self.completion()(self._complete)  # type: ignore[no-untyped-call]
        desk.views.on_change(self._tell)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """As the SDK's; a prompt that is not there, or lacks an argument, is the client's mistake, not ours."""
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
        # The SDK lists what was registered; ours come from the knowledge, a page at a time.
        try:
            return await resources.page(self.desk, None if params is None else params.cursor)
        except DeskError as exc:
            raise MCPError(INVALID_PARAMS, str(exc)) from exc

    async def _complete(
        self,
        _about: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        given = (context.arguments if context is not None else None) or {}
        return await completions.complete(self.desk, argument.name, argument.value, given)

    async def _tell(self, old: View, new: View) -> None:
        for event in resources.changes(old.knowledge, new.knowledge):
            await self._bus.publish(event)
