"""The tools that a page offers itself (WebMCP), as an exploration records them. None is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from playwright.async_api import Page

from agent.exploration.pages.page_observation import clean_text
from agent.page.page_tools import PageTool, list_page_tools
from kb_schema.explorations import OfferedTool, ToolInput

MOST_INPUTS, MOST_ALLOWED, LONGEST = 30, 40, 300
"""Of one tool: its inputs; the values of one input; the characters of a description."""
_TYPES = frozenset(get_args(ToolInput.model_fields["type"].annotation))


async def list_offered_tools(page: Page) -> tuple[OfferedTool, ...]:
    """Return the tools of a page by name; none in a browser without WebMCP."""
    return tuple(_describe(each) for each in await list_page_tools(page))


def _describe(tool: PageTool) -> OfferedTool:
    return OfferedTool(
        name=tool.name,
        description=_shorten(tool.description),
        inputs=tuple(_list_inputs(tool)),
        sends=tool.sends,
    )


def _list_inputs(tool: PageTool) -> Iterator[ToolInput]:
    for name, schema in list(tool.properties.items())[:MOST_INPUTS]:
        said: dict[str, Any] = schema if isinstance(schema, dict) else {}
        kind, allowed = said.get("type"), said.get("enum")
        yield ToolInput.model_validate(
            {
                "name": _shorten(name),
                "type": kind if isinstance(kind, str) and kind in _TYPES else "string",
                "required": name in tool.required,
                "description": _shorten(str(said.get("description") or "")),
                "allowed": [_shorten(str(each)) for each in allowed[:MOST_ALLOWED]]
                if isinstance(allowed, list)
                else (),
            }
        )


def _shorten(words: str) -> str:
    return clean_text(words, LONGEST)
