from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mcp_server.reference import listed, renewed
from periplus.commands.mcp import app
from periplus.mcp_settings import McpSettings

DOCUMENT = Path(__file__).parents[2] / "docs" / "mcp.md"
README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.compile(r"```json\n(.*?)```", re.DOTALL)


def test_the_tool_reference_says_what_the_tools_are():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert renewed(text, listed()) == text, "run: python -m mcp_server.reference docs/mcp.md"


def test_a_document_without_marks_is_refused():
    with pytest.raises(ValueError, match="needs the lines"):
        renewed("# nothing", [])


def test_every_tool_and_option_that_the_page_names_exists():
    text = DOCUMENT.read_text(encoding="utf-8").partition("## Tools")[0]
    tools = {tool.name for tool in listed()}
    named = set(re.findall(r"`((?:get|find|list|identify|search)_\w+)`", text))
    assert named <= tools | {"find_your_way"}
    assert app.registered_callback is not None
    assert app.registered_callback.callback is not None
    options = {f"--{name.replace('_', '-')}" for name in app.registered_callback.callback.__annotations__}
    assert set(re.findall(r"--[a-z-]+", "".join(re.findall(r"periplus mcp --.*|`--.*?`", text)))) <= options


def test_every_setting_is_on_the_page_and_every_one_on_the_page_there_is():
    text = DOCUMENT.read_text(encoding="utf-8")
    settings = {f"PERIPLUS_MCP_{name.upper()}" for name in McpSettings.model_fields}
    assert set(re.findall(r"PERIPLUS_MCP_[A-Z_]+", text)) == settings


def test_the_snippets_for_clients_are_json_that_starts_our_command():
    blocks = [
        *BLOCKS.findall(DOCUMENT.read_text(encoding="utf-8")),
        *BLOCKS.findall(README.read_text(encoding="utf-8")),
    ]
    servers = [json.loads(block) for block in blocks]
    assert len(servers) >= 3
    for snippet in servers:
        (entry,) = next(iter(snippet.values())).values()
        local = entry.get("command") == "periplus" and entry["args"] == ["mcp"]
        assert local or entry["url"].endswith("/mcp")
