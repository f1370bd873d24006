from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
import typer

from mcp_server.tool_reference import list_tools, update_reference
from periplus.cli import COMMANDS
from periplus.mcp_settings import McpSettings

DOCUMENT = Path(__file__).parents[2] / "docs" / "mcp.md"
README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.compile(r"```json\n(.*?)```", re.DOTALL)


def test_the_tool_reference_says_what_the_tools_are():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert update_reference(text, list_tools()) == text, (
        "run: python -m mcp_server.tool_reference docs/mcp.md"
    )


def test_a_document_without_marks_is_refused():
    with pytest.raises(ValueError, match="needs the lines"):
        update_reference("# nothing", [])


def test_every_tool_and_option_that_the_page_names_exists():
    text = DOCUMENT.read_text(encoding="utf-8").partition("## Tools")[0]
    tools = {tool.name for tool in list_tools()}
    named = set(re.findall(r"`((?:get|find|list|identify|search)_\w+)`", text))
    assert named <= tools | {"find_your_way"}
    options = {option for lazy in COMMANDS.values() for option in options_of(command_of(lazy.module))}
    named = re.findall(r"^periplus .*|`periplus .*?`|`--.*?`", text, re.MULTILINE)
    assert set(re.findall(r"--[a-z][a-z-]+", " ".join(named))) <= options


def command_of(module):
    return typer.main.get_command(importlib.import_module(module).app)


def options_of(command):
    found = {option for param in command.params for option in param.opts}
    return found.union(*(options_of(each) for each in getattr(command, "commands", {}).values()))


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
