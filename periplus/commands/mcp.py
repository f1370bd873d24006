"""`periplus mcp`: the desk, or the agent, as an MCP server, over stdio or streamable HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from kb_store import Stores
from kb_store.runs import RunStore
from mcp_server.addresses import LOOPBACK
from mcp_server.engines import PathEngines
from mcp_server.offering import OfferingServer
from mcp_server.security.door import PATH, Door, http_app
from mcp_server.security.limits import CallLimits
from mcp_server.server import create_server
from mcp_server.store_source import StoreSource
from mcp_server.views import Views
from periplus.commands.mcp_tokens import app as tokens
from periplus.desk import path_engines
from periplus.errors import UserError
from periplus.listening import base_urls_of, bracketed, listening
from periplus.logbook import open_logbook
from periplus.logs import to_stderr
from periplus.mcp_settings import load_mcp_settings
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen

GRACE_S = 3
"""How long open streams may take to end once the server is told to stop."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
app.add_typer(tokens, name="token")


class Transport(StrEnum):
    """How clients reach the server."""

    STDIO = "stdio"
    HTTP = "http"


class Searching(StrEnum):
    """Where paths are searched, as `mcp_server.engines.Mode` has it."""

    AUTO = "auto"
    MEMORY = "memory"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the command line and the environment say."""

    base_urls: Mapping[str, str]
    read_only: bool
    limits: CallLimits
    paths: Searching | None
    agent: bool
    headed: bool
    runs_at_once: int
    files: Path | None


@app.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    *,
    transport: Annotated[
        Transport, typer.Option(help="stdio: a client starts this command.")
    ] = Transport.STDIO,
    host: Annotated[
        str, typer.Option(help="Of http. Others than this machine need a token: periplus mcp token new.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Of http; 0: any free one.")] = 8765,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Without tools that change anything.")
    ] = False,
    base_url: Annotated[
        list[str] | None,
        typer.Option(metavar="WEBSITE=URL", help="Where a website runs, if not where it was authored."),
    ] = None,
    paths: Annotated[
        Searching | None,
        typer.Option(
            help="Where paths are searched; auto: in the store where it can (ArangoDB) and a website has more than "
            "PERIPLUS_PATHS_LIMIT transitions. Else PERIPLUS_PATHS, else auto.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        bool,
        typer.Option(
            "--agent", help="Serve the agent instead: run_task, run_status, cancel_run. docs/agent-server.md"
        ),
    ] = False,
    headed: Annotated[
        bool, typer.Option("--headed", help="With --agent: show the browser.", show_default=False)
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Serve the knowledge base, or the agent that works by it, to any MCP client.

    Over stdio, standard output carries the protocol and nothing else; over http the server is at
    http://HOST:PORT/mcp. Once there is a token, http asks for one. docs/mcp.md has the settings.
    """
    if context.invoked_subcommand is not None:
        return
    to_stderr()
    settings = load_mcp_settings()
    if headed and not agent:
        raise UserError("--headed: only the agent has a browser", fix="give --agent, too, or leave it out")
    wanted = _Wanted(
        base_urls_of(base_url or []),
        read_only,
        settings.call_limits,
        paths,
        agent,
        headed,
        settings.runs_at_once,
        settings.files,
    )
    opening, logbook = open_chosen(mongodb_url, arangodb_url), open_logbook(mongodb_url)
    if transport is Transport.STDIO:
        asyncio.run(_serve(opening, logbook, wanted))
        return
    door = settings.door(host)
    _check_locked(door, host)
    with listening(host, port) as listener:
        asyncio.run(_serve(opening, logbook, wanted, door, listener))


async def _serve(
    opening: AbstractAsyncContextManager[Stores],
    logbook: AbstractAsyncContextManager[RunStore],
    wanted: _Wanted,
    door: Door | None = None,
    listener: socket.socket | None = None,
) -> None:
    async with opening as stores, logbook as runs, _server(stores, runs, wanted) as server:
        if door is None or listener is None:
            await server.run_stdio_async()
            return
        host, port = listener.getsockname()[:2]
        asked = "no token needed" if door.verifier is None else "bearer token needed"
        typer.echo(
            f"MCP server at http://{bracketed(host)}:{port}{PATH} ({asked}; stop with Ctrl-C)", err=True
        )
        if host not in LOOPBACK:
            typer.echo(
                "Tokens travel in clear without TLS: put a proxy that speaks https in front.", err=True
            )
        config = uvicorn.Config(
            http_app(server, door, server.write_tools),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
        )
        await uvicorn.Server(config).serve(sockets=[listener])


@asynccontextmanager
async def _server(stores: Stores, runs: RunStore, wanted: _Wanted) -> AsyncIterator[OfferingServer]:
    """The server that is asked for, over these stores."""
    async with _followed(stores, wanted) as (views, engines):
        if wanted.agent:
            from periplus.agent_server.opening import agent_server  # noqa: PLC0415 - brings the browser's driver

            async with agent_server(
                stores, runs, views, base_urls=wanted.base_urls, read_only=wanted.read_only,
                limits=wanted.limits, headed=wanted.headed, runs_at_once=wanted.runs_at_once,
                files=wanted.files,
            ) as server:  # fmt: skip
                yield server
            return
        yield create_server(
            views,
            base_urls=wanted.base_urls,
            read_only=wanted.read_only,
            learned=stores.learned,
            proposals=stores.proposals,
            runs=runs,
            limits=wanted.limits,
            engines=engines,
        )


@asynccontextmanager
async def _followed(stores: Stores, wanted: _Wanted) -> AsyncIterator[tuple[Views, PathEngines]]:
    """The views of these stores, and what searches paths on them."""
    engines = path_engines(stores, wanted.paths)
    source = StoreSource(stores.documents, stores.graph)
    async with Views(source, engines.compiled).following() as views:
        yield views, engines


def _check_locked(door: Door, host: str) -> None:
    """Others than this machine only with tokens."""
    if host in LOOPBACK or door.verifier is not None:
        return
    raise UserError(
        f"--host {host}: without tokens, everybody who reaches this address could use the server",
        fix="mint one with `periplus mcp token new` (or set PERIPLUS_MCP_TOKEN or PERIPLUS_MCP_ISSUER), "
        "or use --host 127.0.0.1",
    )
