"""`periplus mcp` as a process of its own, over real stdio and real HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest
from mcp import Client, StdioServerParameters

from kb_schema.answers import Identification, Websites
from kb_store import load_knowledge, open_stores
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
        listed = Websites.model_validate((await client.call_tool("list_websites")).structured_content)
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


async def test_over_http_clients_of_this_machine_are_served_and_other_hosts_refused(data_dir):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *COMMAND,
        *("--transport", "http", "--port", str(port)),
        env=environment(data_dir),
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        assert process.stderr is not None
        said = await process.stderr.readline()
        assert url.encode() in said
        await _listening(port)
        large = pantry.page("/jars", f"<h1>Your jars</h1><!--{'x' * 4_500_000}-->").to_json()
        async with Client(url) as client:
            result = await client.call_tool(
                "identify_current_screen", {"website_id": "pantry", "snapshot": large}
            )
            assert Identification.model_validate(result.structured_content).screen_id == "shelf"
        async with httpx.AsyncClient() as http:
            refused = await http.post(url, json={}, headers={"Host": "evil.example"})
        assert refused.status_code in (403, 421)
    finally:
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.wait(), 20)


async def _listening(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)  # a poll: the server tells nobody when it listens
                continue
            writer.close()
            return


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--transport", "http", "--host", "0.0.0.0"], "without tokens"),
        (["--base-url", "pantry"], "WEBSITE=URL"),
        (["--transport", "carrier-pigeon"], "carrier-pigeon"),
    ],
)
async def test_what_cannot_be_served_is_told_before_anything_starts(tmp_path, arguments, said):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import periplus.cli as cli; cli.COMMANDS.setdefault('mcp', cli.Lazy('periplus.commands.mcp', '')); cli.main()",
        *("mcp", *arguments),
        env=environment(tmp_path),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 2
    assert said in " ".join(err.decode().split())
    assert b"Traceback" not in out + err
