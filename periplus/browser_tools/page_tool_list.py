"""The lines of `look` about tools that a page offers itself (WebMCP). What the page says of them is quoted."""

from __future__ import annotations

import json
from collections.abc import Iterable

from agent.page.page_tools import PageTool

PREFIX = "tool:"
"""Begins the name of a page's tool where an element is asked for."""
MOST_LISTED, LONGEST_DESCRIPTION, LONGEST_INPUTS = 10, 100, 120


def render_tools(tools: Iterable[PageTool]) -> list[str]:
    """Return a line for each tool, with what the page says of it in quotes."""
    listed = list(tools)
    if not listed:
        return []
    lines = ["the page offers tools; act with element tool:NAME and value {inputs as JSON}:"]
    for each in listed[:MOST_LISTED]:
        names = [f"{name}{'*' * (name in each.required)}" for name in each.properties]
        inputs = _squeeze(", ".join(names), LONGEST_INPUTS)
        sent = "" if each.sends else ", fills a form without sending it"
        said = _squeeze(each.description, LONGEST_DESCRIPTION)
        lines.append(f"- {PREFIX}{each.name}({inputs}){sent} {json.dumps(said, ensure_ascii=False)}")
    more = len(listed) - MOST_LISTED
    return [*lines, *([f"- and {more} more"] if more > 0 else [])]


def _squeeze(words: str, most: int) -> str:
    told = " ".join(words.split())
    return told if len(told) <= most else f"{told[: most - 1]}…"
