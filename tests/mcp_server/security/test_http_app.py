"""The door over real HTTP: a server of its own on a free port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import tracemalloc
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from kb_schema.observed_outcomes import OutcomeAnswer
from kb_schema.tool_answers import Identification
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.security.bearer_tokens import FileTokenVerifier, mint_token
from mcp_server.security.call_limits import CallLimits
from mcp_server.security.http_app import HttpAccessPolicy, TokenVerifierChain, create_http_app
from mcp_server.security.key_lockout import KeyLockout
from mcp_server.security.oauth_tokens import OAuthResource
from mcp_server.security.rate_limits import RateLimit
from mcp_server.server import create_server
from tests.mcp_server import pantry

READ, READ_ENTRY = mint_token("reader", ["read"])
WRITE, WRITE_ENTRY = mint_token("writer", ["write"])
LOCKED = HttpAccessPolicy(
    verifier=TokenVerifierChain(FileTokenVerifier([READ_ENTRY]), FileTokenVerifier([WRITE_ENTRY]))
)
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
OUTCOME = {
    "website_id": "pantry",
    "outcome": {"outcome_id": "o1", "transition_id": "open_new", "succeeded": True},
}


@asynccontextmanager
async def served(door: HttpAccessPolicy, **options):
    """The address of a server behind that door."""
    server = create_server(MemorySource(pantry.knowledge()), **options)
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    app = create_http_app(server, door, server.write_tools)
    running = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    running.install_signal_handlers = lambda: None
    task = asyncio.create_task(running.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        await asyncio.wait_for(task, 20)


@asynccontextmanager
async def client(url: str, token: str | None = None, **options):
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), **options) as opened,
    ):
        yield opened


def call(tool: str, arguments: dict, request_id: int = 1) -> dict:
    """A call as older clients make it: no session, no handshake."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def bearer(token: str) -> dict[str, str]:
    return {**HEADERS, "authorization": f"Bearer {token}"}


def said(response: httpx.Response) -> dict:
    """The JSON-RPC message of an answer, streamed or not."""
    if response.headers["content-type"].startswith("text/event-stream"):
        (line,) = [line for line in response.text.splitlines() if line.startswith("data: {")]
        return json.loads(line.removeprefix("data: "))
    return response.json()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_of_any_age_are_served_by_their_token(mode):
    async with served(LOCKED) as url, client(url, WRITE, mode=mode) as mcp:
        assert (await mcp.call_tool("list_websites", {})).structured_content["websites"]
        told = await mcp.call_tool("record_outcome", OUTCOME)
        assert OutcomeAnswer.model_validate(told.structured_content).counted


async def test_without_a_good_token_nobody_gets_in():
    async with served(LOCKED) as url, httpx.AsyncClient() as http:
        for authorization in (None, "Bearer nonsense", f"Basic {READ}", READ):
            headers = HEADERS if authorization is None else {**HEADERS, "authorization": authorization}
            answer = await http.post(url, json=call("list_websites", {}), headers=headers)
            listing = await http.get(url, headers=headers)
            assert answer.status_code == listing.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer ")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_who_may_only_read_is_told_which_scope_a_tool_needs(mode):
    async with served(LOCKED) as url:
        async with httpx.AsyncClient() as http:
            refused = await http.post(url, json=call("record_outcome", OUTCOME), headers=bearer(READ))
            read = await http.post(url, json=call("list_websites", {}), headers=bearer(READ))
            about = {"website_id": "pantry", "query": "record_outcome"}
            named = await http.post(url, json=call("search_knowledge", about), headers=bearer(READ))
        async with client(url, READ, mode=mode) as mcp:
            tools = (await mcp.list_tools()).tools
    assert refused.status_code == 403
    challenge = refused.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="read write"' in challenge
    assert (read.status_code, named.status_code) == (200, 200)
    assert "record_outcome" in {tool.name for tool in tools}  # the list is the same for everybody


async def test_a_write_tool_that_is_spelled_so_that_the_door_misses_it_still_refuses():
    body = json.dumps(call("record_outcome", OUTCOME)).replace("record_outcome", "record\\u005foutcome")
    async with served(LOCKED) as url, httpx.AsyncClient() as http:
        answer = await http.post(url, content=body, headers=bearer(READ))
        allowed = await http.post(url, content=body, headers=bearer(WRITE))
    result = said(answer)["result"]
    assert result["isError"]
    assert result["structuredContent"]["error"] == "insufficient_scope"
    assert said(allowed)["result"]["structuredContent"]["counted"]


async def test_a_token_without_our_scopes_gets_nowhere():
    _, entry = mint_token("nobody", [])
    token, entry = mint_token("nobody", ["read"])
    door = HttpAccessPolicy(verifier=FileTokenVerifier([entry.model_copy(update={"scopes": ()})]))
    async with served(door) as url, httpx.AsyncClient() as http:
        answer = await http.post(url, json=call("list_websites", {}), headers=bearer(token))
    assert answer.status_code == 403


async def test_clients_are_told_where_tokens_come_from():
    resource = OAuthResource("https://login.example", "https://kb.example/mcp")
    async with served(replace(LOCKED, resource=resource)) as url, httpx.AsyncClient() as http:
        metadata = await http.get(url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"))
        refused = await http.post(url, json=call("list_websites", {}), headers=HEADERS)
    assert metadata.json()["resource"] == "https://kb.example/mcp"
    assert [each.rstrip("/") for each in metadata.json()["authorization_servers"]] == [
        "https://login.example"
    ]
    assert metadata.json()["scopes_supported"] == ["read", "write"]
    expected = 'resource_metadata="https://kb.example/.well-known/oauth-protected-resource/mcp"'
    assert expected in refused.headers["www-authenticate"]


ADDRESSED = [
    ({}, 200),
    ({"host": "localhost:80"}, 200),
    ({"host": "[::1]:80"}, 200),
    ({"host": "kb.example"}, 200),
    ({"host": "evil.example"}, 421),
    ({"host": "localhost.evil.example"}, 421),
    ({"host": "127.0.0.1@evil.example"}, 421),
    ({"host": ""}, 421),
    ({"origin": "http://localhost:3000"}, 200),
    ({"origin": "https://app.example"}, 200),
    ({"origin": "https://evil.example"}, 403),
    ({"origin": "http://localhost.evil.example"}, 403),
    ({"origin": "null"}, 403),
]


async def test_only_our_names_and_the_pages_that_may():
    door = HttpAccessPolicy(
        hosts=HttpAccessPolicy().hosts | {"kb.example"}, origins=frozenset({"https://app.example"})
    )
    async with served(door) as url, httpx.AsyncClient() as http:
        for headers, status in ADDRESSED:
            answer = await http.post(url, json=call("list_websites", {}), headers={**HEADERS, **headers})
            assert answer.status_code == status, headers
            assert status == 200 or "PERIPLUS_MCP_ALLOWED_" in answer.json()["error"]["message"]


async def test_who_asks_too_often_is_told_when_to_come_back_and_others_are_not_held_up():
    door = replace(LOCKED, rate=RateLimit(per_second=0.01, burst=2))
    async with served(door) as url, httpx.AsyncClient() as http:
        body = call("list_websites", {})
        answers = [await http.post(url, json=body, headers=bearer(READ)) for _ in range(3)]
        other = await http.post(url, json=body, headers=bearer(WRITE))
        guesses = [await http.post(url, json=body, headers=bearer(f"guess-{n}")) for n in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 100
    assert other.status_code == 200
    assert [answer.status_code for answer in guesses] == [401, 401, 429, 429]


async def test_a_page_of_20_megabytes_is_refused_clearly_however_it_is_sent():
    async def body():
        for _ in range(2_000):
            yield b"x" * 10_000

    async with served(HttpAccessPolicy(max_body_bytes=3_000_000)) as url, httpx.AsyncClient() as http:
        declared = await http.post(url, content=b"x" * 20_000_000, headers=HEADERS)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        streamed = await http.post(url, content=body(), headers=HEADERS)
        kept = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
    for answer in (declared, streamed):
        assert answer.status_code == 413
        assert "larger than 3 MB; send the page without scripts" in answer.json()["error"]["message"]
    assert kept < 9_000_000  # client and server together


async def test_who_never_ends_is_cut_off():
    async def body():
        while True:
            yield b"x" * 100_000

    async with served(HttpAccessPolicy(max_body_bytes=100_000)) as url, httpx.AsyncClient() as http:
        with contextlib.suppress(httpx.TransportError):  # cut off, before it has heard why or after
            assert (await http.post(url, content=body(), headers=HEADERS)).status_code == 413


async def test_pages_up_to_the_limit_are_looked_at_and_those_beyond_are_told_what_to_send():
    large = pantry.page("/jars", f"<h1>Your jars</h1><!--{'x' * 4_500_000}-->").to_json()
    beyond = pantry.page("/jars", f"<h1>Your jars</h1><!--{'x' * 5_500_000}-->").to_json()
    async with served(HttpAccessPolicy()) as url, client(url) as mcp:
        seen = await mcp.call_tool("identify_current_screen", {"website_id": "pantry", "snapshot": large})
        refused = await mcp.call_tool("identify_current_screen", {"website_id": "pantry", "snapshot": beyond})
    assert Identification.model_validate(seen.structured_content).screen_id == "shelf"
    assert refused.structured_content["error"] == "bad_request"
    assert "at most 5.0 MB" in refused.content[0].text


async def test_who_sends_too_slowly_is_not_waited_for():
    async with served(HttpAccessPolicy(body_seconds=0.05)) as url:
        port = int(url.split(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        answer = await asyncio.wait_for(reader.readline(), 20)
        writer.close()
    assert b" 408 " in answer


async def test_large_requests_at_once_do_not_fill_the_memory():
    door = HttpAccessPolicy(max_body_bytes=1_000_000, bodies_at_once=1)
    async with served(door) as url:
        port = int(url.split(":")[2].partition("/")[0])
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n"
        first, other = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        first[1].write(head + b"x" * 800_000)
        await first[1].drain()
        refused = b""
        other[1].write(head)
        async with asyncio.timeout(20):
            while not refused:  # until what the first one sent has arrived
                other[1].write(b"x" * 10_000)
                try:
                    refused = await asyncio.wait_for(other[0].readline(), 0.02)
                except TimeoutError:
                    continue
        first[1].close()
        other[1].close()
    assert b" 503 " in refused


async def test_secrets_are_never_logged(caplog):
    bad = "ppl_" + "b" * 43
    with caplog.at_level(logging.DEBUG):
        async with served(LOCKED) as url, httpx.AsyncClient() as http:
            for token in (READ, bad):
                await http.post(url, json=call("record_outcome", OUTCOME), headers=bearer(token))
                await http.post(url, json=call("list_websites", {}), headers=bearer(token))
            async with client(url, WRITE) as mcp:
                await mcp.call_tool("list_websites", {})
    server_side = "".join(
        record.getMessage() for record in caplog.records if not record.name.startswith("http")
    )
    assert server_side
    for secret in (READ, WRITE, bad):
        assert secret not in server_side


async def test_a_server_that_bears_one_call_says_so_over_http():
    async with (
        served(HttpAccessPolicy(), limits=CallLimits(calls_at_once=0)) as url,
        httpx.AsyncClient() as http,
    ):
        answer = await http.post(url, json=call("list_websites", {}), headers=HEADERS)
    assert said(answer)["result"]["structuredContent"]["error"] == "busy"


async def test_wrong_tokens_lock_an_address_out_and_one_that_was_right_goes_on():
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    policy = replace(LOCKED, lockout=KeyLockout(3))
    async with served(policy) as url, httpx.AsyncClient() as client:

        async def ask(token):
            offered = {"authorization": f"Bearer {token}".encode()}
            return await client.post(url, json=body, headers={**HEADERS, **offered})

        assert (await ask(READ)).status_code not in (401, 429)
        codes = [(await ask(f"wrong-{number}-\xe9")).status_code for number in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        refused = await ask(WRITE)  # it was never right here
        assert refused.json()["error"]["data"] == {"error": "locked_out"}
        assert int(refused.headers["retry-after"]) >= 1
        assert (await ask(READ)).status_code not in (401, 429)
        assert (await client.post(url, json=body, headers=HEADERS)).status_code == 401
