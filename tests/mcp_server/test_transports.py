"""`periplus mcp` as a process of its own, over real stdio and real HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from kb_schema.tool_answers import Identification, WebsiteList
from kb_store import load_knowledge, open_stores
from mcp_server.security.bearer_tokens import TokenFile, mint_token
from periplus.cli import main
from tests.mcp_server import pantry

ROOT = Path(__file__).parents[2]
COMMAND = ["-c", "from periplus.commands.mcp import app; app()"]


@pytest.fixture
async def data_dir(tmp_path: Path) -> Path:
    """A data directory with the pantry in its store."""
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
    return tmp_path


def environment(data_dir: Path) -> dict[str, str]:
    return {**os.environ, "PERIPLUS_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT)}


async def test_a_client_that_starts_the_command_gets_answers(data_dir):
    server = StdioServerParameters(command=sys.executable, args=COMMAND, env=environment(data_dir), cwd=ROOT)
    async with Client(server) as client:
        listed = WebsiteList.model_validate((await client.call_tool("list_websites")).structured_content)
        assert [website.website_id for website in listed.websites] == ["pantry"]
        result = await client.call_tool(
            "identify_current_screen", {"website_id": "pantry", "snapshot": pantry.EDIT.to_json()}
        )
        assert Identification.model_validate(result.structured_content).screen_id == "jar_edit"
        async with open_stores(data_dir) as stores:  # a new load while the server runs
            cellar = {
                "type": "screen",
                "screen_id": "cellar",
                "name": "Cellar",
                "url_patterns": ["^/cellar$"],
            }
            await load_knowledge(stores.documents, stores.graph, pantry.knowledge(also=(cellar,)))
        asked = {"website_id": "pantry", "screen_id": "cellar"}
        assert not (await client.call_tool("get_screen", asked)).is_error


async def test_standard_output_carries_the_protocol_and_nothing_else(data_dir):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *COMMAND,
        env=environment(data_dir),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "no_such_tool", "arguments": {}},
        },
    ]
    assert process.stdin is not None
    assert process.stdout is not None
    for request in requests:
        process.stdin.write(json.dumps(request).encode() + b"\n")
    answers = [json.loads(await process.stdout.readline()) for _ in range(2)]
    process.stdin.close()
    rest, _ = await asyncio.wait_for(process.communicate(), 20)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert rest == b""
    assert process.returncode == 0


@asynccontextmanager
async def serving(data_dir: Path, *arguments: str, **settings: str):
    """The address of the command over HTTP, as it tells it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *COMMAND,
        *("--transport", "http", "--port", "0", *arguments),
        env={**environment(data_dir), **settings},
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    said = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
    try:
        yield re.search(r"http://\S+/mcp", said)[0], said
    finally:
        process.send_signal(signal.SIGINT)
        _, rest = await asyncio.wait_for(process.communicate(), 20)
        assert b"Traceback" not in rest


async def test_over_http_clients_of_this_machine_are_served_and_other_hosts_refused(data_dir):
    async with serving(data_dir) as (url, said):
        assert "no token needed" in said
        async with Client(url) as client:
            result = await client.call_tool(
                "identify_current_screen", {"website_id": "pantry", "snapshot": pantry.EDIT.to_json()}
            )
            assert Identification.model_validate(result.structured_content).screen_id == "jar_edit"
        async with httpx.AsyncClient() as http:
            refused = await http.post(url, json={}, headers={"Host": "evil.example"})
            assert refused.status_code == 421
            # Clients of every revision with a handshake get the one they speak.
            for version in HANDSHAKE_PROTOCOL_VERSIONS:
                hello = {
                    "protocolVersion": version,
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "0"},
                }
                body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
                answer = await http.post(
                    url, json=body, headers={"Accept": "application/json, text/event-stream"}
                )
                assert f'"protocolVersion":"{version}"' in answer.text


async def test_a_minted_token_opens_the_server_until_it_is_revoked(data_dir):
    file = TokenFile(data_dir / "mcp-tokens.json")
    token, entry = mint_token("ci", ["read"])
    file.add(entry)
    other = "x" * 40
    async with serving(data_dir, "--host", "0.0.0.0", PERIPLUS_MCP_TOKEN=other) as (told, said):
        assert "bearer token needed" in said
        url = told.replace("0.0.0.0", "127.0.0.1")
        headers = {"Accept": "application/json, text/event-stream"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        codes = []
        async with httpx.AsyncClient(headers=headers) as http:
            for given in (None, "nonsense", token, other):
                bearer = {} if given is None else {"Authorization": f"Bearer {given}"}
                codes.append((await http.post(url, json=body, headers=bearer)).status_code)
            file.remove("ci")
            codes.append(
                (await http.post(url, json=body, headers={"Authorization": f"Bearer {token}"})).status_code
            )
    assert codes == [401, 401, 200, 200, 401]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--transport", "http", "--host", "0.0.0.0"], "without tokens"),
        (["--transport", "http", "--host", "256.256.256.256"], "without tokens"),
        (["--base-url", "pantry"], "WEBSITE=URL"),
        (["--transport", "carrier-pigeon"], "carrier-pigeon"),
    ],
)
def test_what_cannot_be_served_is_told_before_anything_starts(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["mcp", *arguments])
    assert ended.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())
