"""From plain functions to MCP tools: the declaration that clients see, and the handler of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Annotated, Any, get_args, get_type_hints

from mcp.types import CallToolResult, TextContent, ToolAnnotations

from kb_schema.tool_answers import WebsiteList
from mcp_server.descriptions import answer_text
from mcp_server.errors import SourceUnavailable
from mcp_server.identification.client_pages import is_small_page
from mcp_server.security import access_scopes
from mcp_server.server_context import ServerContext
from mcp_server.tools.json_schemas import input_schema, output_schema
from mcp_server.tools.tool_calls import KnowledgeTool, refuse_call
from mcp_server.tools.tool_parameters import WebsiteId
from mcp_server.tools.tool_specs import ServerToolSpec, ToolReply, WebsiteToolSpec

__all__ = [
    "define_list_websites_tool",
    "define_server_tool",
    "define_tool",
    "define_website_tool",
    "refuse_call",
    "to_call_result",
]

FEW_SCREENS = 200
"""Up to this many screens, a query without a page or with a small one is answered without a thread."""

ToolAnswer = Callable[..., Any]
_Key = tuple[Callable[..., Any], str, bool, "type[KnowledgeTool]"]
_DEFINED: dict[_Key, KnowledgeTool] = {}
"""Declarations of tools over module functions; every server of this process shares them."""


@cache
def _read_signature(function: ToolAnswer) -> tuple[tuple[inspect.Parameter, ...], Any]:
    """Return the parameters of a tool over a function, with `website_id` for its `request` and what stands before, and the model of
    its answers.
    """
    hints = get_type_hints(function, include_extras=True)
    (answer_model,) = get_args(hints["return"])
    known = list(inspect.signature(function).parameters.values())
    at = next(index for index, parameter in enumerate(known) if parameter.name == "request")
    own = (parameter.replace(annotation=hints[parameter.name]) for parameter in known[at + 1 :])
    return (known[at].replace(name="website_id", annotation=WebsiteId), *own), answer_model


def define_website_tool(tool: WebsiteToolSpec, server_context: ServerContext) -> KnowledgeTool:
    """Define a tool over one website: `website_id` replaces the function's `request`."""
    parameters, answer_model = _read_signature(tool.function)

    async def answering(website_id: str, **arguments: Any) -> CallToolResult:
        request, note = await server_context.open_request(website_id)
        if tool.elsewhere is not None:
            try:
                reply = await tool.elsewhere(server_context, request, **arguments)
            except SourceUnavailable as exc:
                if request.view.roads is None:
                    raise
                reply, note = None, "; ".join(filter(None, (note, f"searched in memory: {exc.message}")))
            if reply is not None:
                return to_call_result(reply, note)
        work = partial(tool.function, request, **arguments)
        page = arguments.get("snapshot")
        quick = len(request.view.knowledge.screens) <= FEW_SCREENS and (page is None or is_small_page(page))
        if tool.in_thread and not quick:
            reply = await server_context.guard.in_thread(work)
        else:
            reply = work()
        return to_call_result(reply, note)

    return define_tool(answering, tool.function, tool.title, parameters, answer_model)


def define_server_tool(tool: ServerToolSpec, server_context: ServerContext) -> KnowledgeTool:
    """Define a tool that needs the whole server: `website_id` replaces `server_context` and `request`."""
    parameters, answer_model = _read_signature(tool.function)

    async def answering(website_id: str, **arguments: Any) -> CallToolResult:
        request, note = await server_context.open_request(website_id)
        return to_call_result(await tool.function(server_context, request, **arguments), note)

    return define_tool(
        answering, tool.function, tool.title, parameters, answer_model, read_only=tool.read_only
    )


def define_list_websites_tool(server_context: ServerContext) -> KnowledgeTool:
    """Define the one tool that is not about one website."""

    async def answering() -> CallToolResult:
        return to_call_result(await list_websites(server_context))

    return define_tool(answering, list_websites, "Websites", [], WebsiteList)


async def list_websites(server_context: ServerContext) -> ToolReply[WebsiteList]:
    """The websites in the knowledge base. Every other tool takes one of their ids."""
    answer = WebsiteList(websites=await server_context.summaries())
    return ToolReply(answer, answer_text.render_websites(answer))


def to_call_result(reply: ToolReply[Any], note: str | None = None) -> CallToolResult:
    """Return an answer as structured content and as text. A note precedes the text."""
    text = reply.text if note is None else f"({note})\n{reply.text}"
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=reply.answer.to_json()
    )


def define_tool(
    answering: ToolAnswer,
    function: Callable[..., Any],
    title: str,
    parameters: Sequence[inspect.Parameter],
    answer_model: Any,
    *,
    read_only: bool = True,
    annotations: ToolAnnotations | None = None,
    kind: type[KnowledgeTool] = KnowledgeTool,
) -> KnowledgeTool:
    """Return an SDK tool. The SDK derives parameters and output schema from a signature, so the handler gets one.

    A tool that is not `read_only` needs the scope `write`, and read-only servers leave it out. Without
    `annotations` it counts as additive and idempotent.
    """
    key = (function, title, read_only, kind)
    made = _DEFINED.get(key)
    if made is None:
        made = _create_tool(answering, function, title, parameters, answer_model, annotations, key)
    # Another server has handlers of its own, but the declaration is the same.
    return made.model_copy(update={"fn": answering})


def _create_tool(
    answering: ToolAnswer,
    function: Callable[..., Any],
    title: str,
    parameters: Sequence[inspect.Parameter],
    answer_model: Any,
    annotations: ToolAnnotations | None,
    key: _Key,
) -> KnowledgeTool:
    """Build the SDK's tool, and cache it if the function lives as long as the process."""
    _, _, read_only, kind = key
    returns = Annotated[CallToolResult, answer_model]
    answering.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
    answering.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returns}
    made = kind.from_function(
        answering,
        name=function.__name__,
        title=title,
        description=inspect.getdoc(function),
        annotations=annotations
        or ToolAnnotations(
            read_only_hint=read_only,
            idempotent_hint=True,
            open_world_hint=False,
            destructive_hint=None if read_only else False,
        ),
    )
    assert isinstance(made, KnowledgeTool)  # noqa: S101 - `from_function` makes one of the class it is asked of
    made.scope = access_scopes.READ if read_only else access_scopes.WRITE
    made.answer_model = answer_model
    made.parameters = input_schema(made.parameters)
    made.fn_metadata.output_schema = output_schema(
        made.fn_metadata.output_schema or {}, made.parameters.get("properties", {})
    )
    if "<locals>" not in function.__qualname__ and annotations is None:
        _DEFINED[key] = made
    return made
