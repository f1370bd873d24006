"""From plain functions to MCP tools: what clients are told of one, and what answers a call of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

from mcp.types import CallToolResult, TextContent, ToolAnnotations

from kb_schema.answers import Websites
from mcp_server import rendering
from mcp_server.desk import Desk
from mcp_server.errors import SourceDown
from mcp_server.security import access
from mcp_server.tools.calling import DeskTool, refusal
from mcp_server.tools.parameters import WebsiteId
from mcp_server.tools.reply import DeskedTool, Reply, WebsiteTool
from mcp_server.tools.schemas import input_schema, output_schema

__all__ = ["desked_tool", "list_websites_tool", "refusal", "registered", "told", "website_tool"]

FEW_SCREENS = 200
"""Up to here, anything but looking at a page is done before a thread could begin with it."""

Answering = Callable[..., Any]
_Key = tuple[Callable[..., Any], str, bool, "type[DeskTool]"]
_MADE: dict[_Key, DeskTool] = {}
"""Tools over functions of modules, which are the same for every server of this process."""


def website_tool(tool: WebsiteTool, desk: Desk) -> DeskTool:
    """A tool over one website: `website_id` takes the place of the function's `visit`."""
    hints = get_type_hints(tool.function, include_extras=True)
    (answer_model,) = get_args(hints["return"])
    visit, *own = inspect.signature(tool.function).parameters.values()
    parameters = [
        visit.replace(name="website_id", annotation=WebsiteId),
        *(parameter.replace(annotation=hints[parameter.name]) for parameter in own),
    ]

    async def answering(website_id: str, **arguments: Any) -> CallToolResult:
        visit, note = await desk.visit(website_id)
        if tool.elsewhere is not None:
            try:
                reply = await tool.elsewhere(desk, visit, **arguments)
            except SourceDown as exc:
                if visit.view.roads is None:
                    raise
                reply, note = None, "; ".join(filter(None, (note, f"searched in memory: {exc.message}")))
            if reply is not None:
                return told(reply, note)
        work = partial(tool.function, visit, **arguments)
        looking = arguments.get("snapshot") is not None
        if tool.in_thread and (looking or len(visit.view.knowledge.screens) > FEW_SCREENS):
            reply = await desk.guard.in_thread(work)
        else:
            reply = work()
        return told(reply, note)

    return registered(answering, tool.function, tool.title, parameters, answer_model)


def desked_tool(tool: DeskedTool, desk: Desk) -> DeskTool:
    """A tool that works with the whole desk: `website_id` takes the place of `desk` and `visit`."""
    hints = get_type_hints(tool.function, include_extras=True)
    (answer_model,) = get_args(hints["return"])
    _, visit, *own = inspect.signature(tool.function).parameters.values()
    parameters = [
        visit.replace(name="website_id", annotation=WebsiteId),
        *(parameter.replace(annotation=hints[parameter.name]) for parameter in own),
    ]

    async def answering(website_id: str, **arguments: Any) -> CallToolResult:
        visit, note = await desk.visit(website_id)
        return told(await tool.function(desk, visit, **arguments), note)

    return registered(
        answering, tool.function, tool.title, parameters, answer_model, read_only=tool.read_only
    )


def list_websites_tool(desk: Desk) -> DeskTool:
    """The one tool that is not about one website."""

    async def list_websites() -> CallToolResult:
        """The websites there is knowledge of; every other tool takes one of their ids."""
        answer = Websites(websites=await desk.summaries())
        return told(Reply(answer, rendering.websites(answer)))

    return registered(list_websites, list_websites, "Websites", [], Websites)


def told(reply: Reply[Any], note: str | None = None) -> CallToolResult:
    """An answer as structured content and as text; a note goes before the text."""
    text = reply.text if note is None else f"({note})\n{reply.text}"
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=reply.answer.to_json()
    )


def registered(
    answering: Answering,
    function: Callable[..., Any],
    title: str,
    parameters: list[inspect.Parameter],
    answer_model: Any,
    *,
    read_only: bool = True,
    annotations: ToolAnnotations | None = None,
    kind: type[DeskTool] = DeskTool,
) -> DeskTool:
    """A tool as the SDK knows it. It reads parameters and output schema off the signature, so it gets one.

    A tool that is not `read_only` needs the scope `write`, and read-only servers leave it out. Where no
    `annotations` say otherwise it adds to what there is: it destroys nothing and may be called again.
    """
    key = (function, title, read_only, kind)
    made = _MADE.get(key)
    if made is None:
        made = _made(answering, function, title, parameters, answer_model, annotations, key)
    # A server more answers by functions of its own: what clients are told of them was found out before.
    return made.model_copy(update={"fn": answering})


def _made(
    answering: Answering,
    function: Callable[..., Any],
    title: str,
    parameters: list[inspect.Parameter],
    answer_model: Any,
    annotations: ToolAnnotations | None,
    key: _Key,
) -> DeskTool:
    """The SDK's view of a tool, kept where the function is there for good."""
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
    assert isinstance(made, DeskTool)  # noqa: S101 - `from_function` makes one of the class it is asked of
    made.scope = access.READ if read_only else access.WRITE
    made.answer_model = answer_model
    made.parameters = input_schema(made.parameters)
    made.fn_metadata.output_schema = output_schema(
        made.fn_metadata.output_schema or {}, made.parameters.get("properties", {})
    )
    if "<locals>" not in function.__qualname__ and annotations is None:
        _MADE[key] = made
    return made
