"""What an MCP call of ours costs against an empty tool of the same SDK, and how large the tool list is.

Each transport has its own baseline in the same run; both servers are asked in turn, so that whatever
else the machine does hits both. Small answers show what a call costs by itself; what a tool works
for its answer is beside it, measured without MCP.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count, repeat
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the servers of stdio and HTTP are processes that run this file

from benchmarks import tokens  # noqa: E402
from benchmarks.shop import page, synthetic  # noqa: E402
from kb_schema.page_snapshots import PageSnapshot  # noqa: E402
from mcp_server.identification.screen_identification import identify  # noqa: E402
from mcp_server.knowledge.compiled_view import compile_view  # noqa: E402
from mcp_server.knowledge.knowledge_sources import MemorySource  # noqa: E402
from mcp_server.security.call_limits import CallLimits  # noqa: E402
from mcp_server.security.http_app import HttpAccessPolicy, create_http_app  # noqa: E402
from mcp_server.security.rate_limits import RateLimit  # noqa: E402
from mcp_server.server import create_server  # noqa: E402
from web_pages.stored_pages import StoredPage, answer_probes  # noqa: E402

pytestmark = pytest.mark.bench

ROUNDS = 300
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("list_websites", {}),
    ("find_screen_groups", {"screen_id": "s7"}),
    ("get_screen", {"screen_id": "s7"}),
    ("get_available_actions", {"screen_id": "s7"}),
    ("find_path", {"from_screen": "s7", "to_screen": "s20"}),
    ("search_knowledge", {"query": "screen 7"}),
    ("identify_current_screen", {"snapshot": page(7).to_json()}),
)
IDENTIFY = "identify_current_screen"
NEW_PAGE = f"{IDENTIFY} (new page)"
"""A page that was asked about before is not parsed again: both are measured."""


def ours() -> MCPServer[Any]:
    limits = CallLimits(
        calls_at_once=1_000, calls_per_client=1_000
    )  # `bench_clients` has one address for all
    return create_server(MemorySource(synthetic(50, 200)), limits=limits)


def empty() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("empty", log_level="WARNING")

    @server.tool()
    async def nothing(text: str) -> dict[str, str]:
        """Answer what was said."""
        return {"said": text}

    return server


def indexing() -> MCPServer[Any]:
    """An empty tool that is sent a page, and parses and indexes it: what no tool over pages can be cheaper than."""
    server: MCPServer[Any] = MCPServer("indexing", log_level="WARNING")

    @server.tool()
    async def index(website_id: str, snapshot: dict[str, str]) -> dict[str, str]:
        """Answer nothing about the page."""
        assert StoredPage(PageSnapshot(**snapshot)).text
        return {"said": website_id}

    return server


SERVERS: Mapping[str, Callable[[], MCPServer[Any]]] = {"ours": ours, "empty": empty, "indexing": indexing}


async def in_memory(name: str, stack: AsyncExitStack) -> Client:
    return await stack.enter_async_context(Client(SERVERS[name]()))


async def over_stdio(name: str, stack: AsyncExitStack) -> Client:
    started = StdioServerParameters(command=sys.executable, args=[__file__, name, "stdio"], cwd=ROOT)
    return await stack.enter_async_context(Client(started))


async def over_http(name: str, stack: AsyncExitStack) -> Client:
    port = await stack.enter_async_context(_listening(name))
    return await stack.enter_async_context(Client(f"http://127.0.0.1:{port}/mcp"))


@asynccontextmanager
async def _listening(name: str) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, name, "http", cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield int(await process.stdout.readline())
    finally:
        process.terminate()
        await process.wait()


TRANSPORTS = {"in memory": in_memory, "stdio": over_stdio, "HTTP": over_http}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_tool_call_against_an_empty_tool_of_the_same_sdk(transport: str) -> None:
    open_client = TRANSPORTS[transport]
    async with AsyncExitStack() as stack:
        us, them = await open_client("ours", stack), await open_client("empty", stack)
        print()
        for said, own in (*CALLS, (NEW_PAGE, CALLS[-1][1])):
            tool = said.partition(" ")[0]
            arguments = own if tool == "list_websites" else {"website_id": "shop", **own}
            assert not (await us.call_tool(tool, arguments)).is_error
            rounds = 60 if tool == IDENTIFY else ROUNDS
            asked = _new_pages(arguments) if said == NEW_PAGE else repeat(arguments)
            ms, baseline = await _in_turn(
                lambda tool=tool, asked=asked: us.call_tool(tool, next(asked)),
                lambda: them.call_tool("nothing", {"text": "x"}),
                rounds,
                time.process_time if transport == "in memory" else time.perf_counter,
            )
            beside = ""
            if said == NEW_PAGE:
                beside = f"   beside the page's index {(ms - _index_ms(asked)) / baseline:6.2f}"
            if said == NEW_PAGE and transport == "in memory":
                least = await open_client("indexing", stack)
                beside += f"   {await _beside_the_least(us, least, them, asked)}"
            print(
                f"{transport:<10} {said:<34} {ms:8.3f} ms   empty tool {baseline:7.3f} ms   "
                f"ratio {ms / baseline:6.2f}{beside}"
            )


async def _beside_the_least(us: Client, least: Client, them: Client, asked: Iterator[dict[str, Any]]) -> str:
    """Return how our call and that of an indexing tool compare, both measured in turn, in calls of the empty tool.

    Parsing empties the processor's caches, so that the rest of the same call takes longer; an index that is measured
    alone does not say so.
    """
    ours_ms, least_ms = await _in_turn(
        lambda: us.call_tool(IDENTIFY, next(asked)),
        lambda: least.call_tool("index", next(asked)),
        60,
        time.process_time,
    )
    _, empty_ms = await _in_turn(
        lambda: least.call_tool("index", next(asked)),
        lambda: them.call_tool("nothing", {"text": "x"}),
        60,
        time.process_time,
    )
    return f"above a tool that only indexes {1 + (ours_ms - least_ms) / empty_ms:6.2f} ({least_ms:.3f} ms)"


def _index_ms(asked: Iterator[dict[str, Any]]) -> float:
    """Return the median of parsing a new page and indexing what it shows, in milliseconds of CPU time."""
    view = compile_view(synthetic(50, 200), "1")
    times = []
    for _ in range(60):
        page = StoredPage(PageSnapshot(**next(asked)["snapshot"]))
        begin = time.process_time()
        identify(view, page, answer_probes)
        parsed = time.process_time()
        identify(view, page, answer_probes)
        times.append(parsed - begin - (time.process_time() - parsed))
    return statistics.median(times) * 1_000


def _new_pages(arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same page, each time with something else on it."""
    snapshot = arguments["snapshot"]
    for number in count():
        html = f"{snapshot['html']}<p>Visitor {number}"
        yield {**arguments, "snapshot": {**snapshot, "html": html}}


async def _in_turn(
    one: Callable[[], Awaitable[object]],
    other: Callable[[], Awaitable[object]],
    rounds: int,
    clock: Callable[[], float],
) -> tuple[float, float]:
    """Medians in milliseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, found in zip((one, other), times, strict=True):
            begin = clock()
            await work()
            found.append(clock() - begin)
    return statistics.median(times[0]) * 1_000, statistics.median(times[1]) * 1_000


async def test_how_large_the_tool_list_is() -> None:
    tools = await ours().list_tools()
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    text = json.dumps({"tools": listed}, separators=(",", ":"), ensure_ascii=False)
    try:
        (size,) = tokens.count([text])
    except tokens.NoTokenizer as exc:
        pytest.skip(exc.reason)
    print(f"\n{len(tools)} tools, {len(text)} characters, {size} tokens")
    assert size < 4_000


def main(name: str, transport: str) -> None:
    """One of the servers as a process: over stdio, or over HTTP on a port that it prints."""
    server = SERVERS[name]()
    if transport == "stdio":
        asyncio.run(server.run_stdio_async())
        return
    asyncio.run(_serve(server))


async def _serve(server: MCPServer[Any]) -> None:
    import socket  # noqa: PLC0415 - only the HTTP process needs these

    import uvicorn  # noqa: PLC0415

    # Named as TCP, or asyncio leaves Nagle's algorithm on: 40 ms for every answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    # Ours goes through its door, as users have it; only the rate is opened, a benchmark is no guest.
    if server.name == "periplus":
        app = create_http_app(server, HttpAccessPolicy(rate=RateLimit(per_second=1e6, burst=10**6)))
    else:
        app = server.streamable_http_app(stateless_http=True)
    print(listener.getsockname()[1], flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
