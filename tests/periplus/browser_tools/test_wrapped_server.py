"""What a wrapped server can give its clients, and what it gets of ours."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from mcp.types import Tool

from kb_store import open_stores
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from periplus.browser_tools import wrapped_server
from periplus.browser_tools.wrapped_answers import WHOLE
from periplus.browser_tools.wrapped_server import SNAPSHOT, choose_tools, open_wrapped_server

INNER = """
import json, os, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("inner")
@server.tool()
async def browser_snapshot() -> str:
    return json.dumps(sorted(each for each in os.environ if "SECRET" in each or each == "PATH"))
@server.tool()
async def forever() -> str:
    import asyncio
    await asyncio.Event().wait()
server.run()
"""


def test_of_several_tools_of_a_name_the_first_is_passed_on_and_none_is_called_like_ours():
    tools = [
        Tool(name=name, description=text, input_schema={"type": "object"})
        for name, text in ((SNAPSHOT, "a"), ("click", "b"), ("click", "c"), (WHOLE, "d"))
    ]
    assert choose_tools(tools) == tools[:2]


async def test_it_gets_no_variables_of_ours_and_an_answer_that_never_comes_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_SHOP_PASSWORD", "x")
    monkeypatch.setenv("THEIR_SECRET", "y")
    monkeypatch.setattr(wrapped_server, "ANSWER_S", 0.2)
    (tmp_path / "inner.py").write_text(INNER)
    command = shlex.join([sys.executable, str(tmp_path / "inner.py")])
    async with open_stores(tmp_path) as stores:
        views = ViewCache(StoreSource(stores.documents, stores.graph))
        async with open_wrapped_server(command, stores, views, {}) as server:
            with pytest.raises(Exception, match=r"(?i)time"):
                await server.call_tool("forever", {})
            monkeypatch.setattr(wrapped_server, "ANSWER_S", 30.0)
            (told,) = (await server.call_tool(SNAPSHOT, {})).content
            assert json.loads(told.text) == ["PATH", "THEIR_SECRET"]
