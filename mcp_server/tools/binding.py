"""From plain functions to MCP tools: arguments in, typed answers, texts and refusals out."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import anyio.to_thread
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from kb_schema.answers import Websites
from mcp_server import rendering
from mcp_server.desk import Desk
from mcp_server.errors import DeskError
from mcp_server.tools.parameters import WebsiteId
from mcp_server.tools.reply import Reply, WebsiteTool

Answering = Callable[..., Awaitable[CallToolResult]]


def website_tool(tool: WebsiteTool, desk: Desk) -> Tool:
    """A tool over one website: `website_id` takes the place of the function's `visit`."""
    hints = get_type_hints(tool.function, include_extras=True)
    (answer_model,) = get_args(hints["return"])
    visit, *own = inspect.signature(tool.function).parameters.values()
    parameters = [
        visit.replace(name="website_id", annotation=WebsiteId),
        *(parameter.replace(annotation=hints[parameter.name]) for parameter in own),
    ]

    async def answering(website_id: str, **arguments: Any) -> CallToolResult:
        try:
            visit, note = await desk.visit(website_id)
            work = partial(tool.function, visit, **arguments)
            reply = await anyio.to_thread.run_sync(work) if tool.in_thread else work()
        except DeskError as exc:
            return refusal(exc)
        return told(reply, note)

    return registered(answering, tool.function, tool.title, parameters, answer_model)


def list_websites_tool(desk: Desk) -> Tool:
    """The one tool that is not about one website."""

    async def list_websites() -> CallToolResult:
        """The websites there is knowledge of; every other tool takes one of their ids."""
        try:
            answer = Websites(websites=await desk.summaries())
        except DeskError as exc:
            return refusal(exc)
        return told(Reply(answer, rendering.websites(answer)))

    return registered(list_websites, list_websites, "Websites", [], Websites)


def told(reply: Reply[Any], note: str | None = None) -> CallToolResult:
    """An answer as structured content and as text; a note goes before the text."""
    text = reply.text if note is None else f"({note})\n{reply.text}"
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=reply.answer.to_json()
    )


def refusal(error: DeskError) -> CallToolResult:
    """A refusal as an MCP tool error: what is wrong, what was meant, what to call next."""
    told = {"error": error.code, "message": error.message, "hint": error.hint}
    return CallToolResult(
        content=[TextContent(type="text", text=str(error))], structured_content=told, is_error=True
    )


def registered(
    answering: Answering,
    function: Callable[..., Any],
    title: str,
    parameters: list[inspect.Parameter],
    answer_model: type,
    *,
    read_only: bool = True,
) -> Tool:
    """A tool as the SDK knows it. It reads parameters and output schema off the signature, so it gets one.

    A tool that is not `read_only` adds to what there is: it destroys nothing and may be called again.
    """
    returns = Annotated[CallToolResult, answer_model]
    answering.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
    answering.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returns}
    tool = Tool.from_function(
        answering,
        name=function.__name__,
        title=title,
        description=inspect.getdoc(function),
        annotations=ToolAnnotations(
            read_only_hint=read_only,
            idempotent_hint=True,
            open_world_hint=False,
            destructive_hint=None if read_only else False,
        ),
    )
    tool.parameters = slim(tool.parameters, keep_descriptions=True)
    output = tool.fn_metadata.output_schema
    tool.fn_metadata.output_schema = None if output is None else slim(output)
    return tool


_UNSAID = frozenset({"title", "description", "minLength", "maxLength", "default", "additionalProperties"})
"""What models need not read in every conversation; arguments are checked by the models all the same."""


def slim(schema: Mapping[str, Any], *, keep_descriptions: bool = False) -> dict[str, Any]:
    """A JSON schema that says only what a caller must know; looser than the model, never stricter."""
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _UNSAID and not isinstance(value, Mapping):
            continue
        if key in ("properties", "$defs"):
            found[key] = {name: slim(part) for name, part in value.items()}
        elif isinstance(value, Mapping):
            found[key] = slim(value)
        elif isinstance(value, list):
            found[key] = [slim(part) if isinstance(part, Mapping) else part for part in value]
        else:
            found[key] = value
    options = found.get("anyOf", [])
    if options and all(option.keys() == {"type"} for option in options):
        found = {key: value for key, value in found.items() if key != "anyOf"}
        found["type"] = [option["type"] for option in options]
    if keep_descriptions:
        for name, part in schema.get("properties", {}).items():
            kept = {key: part[key] for key in ("description", "default") if part.get(key) is not None}
            found["properties"][name] |= kept
    return found
