from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_server.reference import listed, renewed
from periplus.commands.mcp import app

DOCUMENT = Path(__file__).parents[2] / "docs" / "mcp.md"


async def test_the_tool_reference_says_what_the_tools_are():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert renewed(text, await listed()) == text, "run: python -m mcp_server.reference docs/mcp.md"


def test_a_document_without_marks_is_refused():
    with pytest.raises(ValueError, match="needs the lines"):
        renewed("# nothing", [])


async def test_every_tool_and_option_that_the_page_names_exists():
    text = DOCUMENT.read_text(encoding="utf-8").partition("## Tools")[0]
    tools = {tool.name for tool in await listed()}
    named = set(re.findall(r"`((?:get|find|list|identify|search)_\w+)`", text))
    assert named <= tools | {"find_your_way"}
    (command,) = app.registered_commands
    assert command.callback is not None
    options = {f"--{name.replace('_', '-')}" for name in command.callback.__annotations__} - {"--return"}
    assert set(re.findall(r"--[a-z-]+", "".join(re.findall(r"periplus mcp --.*|`--.*?`", text)))) <= options
