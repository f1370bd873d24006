"""`periplus mcp`: serve the knowledge base, or the agent, over MCP (stdio or streamable HTTP)."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvicorn

from kb_schema.url_patterns import LOOPBACK
from kb_store import Stores
from kb_store.runs.run_store import RunStore
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.paths.path_engines import PathEngines
from mcp_server.security.call_limits import CallLimits
from mcp_server.security.http_app import MCP_PATH, HttpAccessPolicy, create_http_app
from mcp_server.server import create_server
from mcp_server.tool_server import ToolServer
from periplus.commands.command_options import AllowRemoteCdp, CdpEndpoint, Channel, ProxyServer, UserDataDir
from periplus.commands.mcp_tokens import app as tokens
from periplus.errors import UserError
from periplus.knowledge_server import choose_path_engines
from periplus.log_setup import log_to_stderr
from periplus.mcp_settings import load_mcp_settings
from periplus.memory_return import returning_memory
from periplus.run_store_adapters import open_run_store
from periplus.server_sockets import format_url_host, open_listening_socket, parse_base_urls, proxy_options
from periplus.session_setup import BrowserOptions
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores

if TYPE_CHECKING:
    from periplus.browser_tools.wrapped_server import WrappedServer

GRACE_S = 3
"""Seconds that open streams may take to end when the server stops."""

PLAYWRIGHT_FOLDER = ".playwright-mcp"
"""Where Playwright MCP writes snapshots, relative to the folder where client and servers run."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
app.add_typer(tokens, name="token")


class Transport(StrEnum):
    """The MCP transports."""

    STDIO = "stdio"
    HTTP = "http"


class Opened(StrEnum):
    """What the browser tools open; the values of `periplus.browser_tools.address_policy.OpenMode`."""

    KNOWN = "known"
    WEB = "web"
    ANY = "any"


class PathSearchMode(StrEnum):
    """Where paths are searched; the values of `mcp_server.paths.path_search.path_engines.PathEngineMode`."""

    AUTO = "auto"
    MEMORY = "memory"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class _McpOptions:
    """The options of the command line and the environment."""

    base_urls: Mapping[str, str]
    read_only: bool
    limits: CallLimits
    paths: PathSearchMode | None
    agent: bool
    headed: bool
    runs_at_once: int
    files: Path | None
    browser: BrowserOptions | None
    shared: bool
    """Whether several clients may use the server."""
    all_tools: bool
    snapshots: Path | None
    wrap: str | None
    opened: Opened


@app.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    *,
    transport: Annotated[
        Transport, typer.Option(help="stdio: the client starts this command. http: streamable HTTP.")
    ] = Transport.STDIO,
    host: Annotated[
        str,
        typer.Option(
            help="http: the address to listen on. Other machines need a token: periplus mcp token new."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="http: the port; 0: any free port.")] = 8765,
    read_only: Annotated[bool, typer.Option("--read-only", help="Leave out tools that change data.")] = False,
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEBSITE=URL",
            help="A website's base URL, if it differs from the one in the knowledge base.",
        ),
    ] = None,
    paths: Annotated[
        PathSearchMode | None,
        typer.Option(
            help="Where paths are searched. auto: in ArangoDB if the website has more than PERIPLUS_PATHS_LIMIT "
            "transitions, else in memory. Default: PERIPLUS_PATHS, else auto.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        bool,
        typer.Option(
            "--agent", help="Serve the agent instead: run_task, run_status, cancel_run. docs/agent-server.md"
        ),
    ] = False,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser",
            help="Work in a browser, too: look, go_to, act, read, tabs, run_task. docs/browser-tools.md",
        ),
    ] = False,
    cdp_endpoint: CdpEndpoint = None,
    allow_remote_cdp: AllowRemoteCdp = False,
    user_data_dir: UserDataDir = None,
    channel: Channel = None,
    storage_state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="With --browser: a Playwright storage state to start with.",
        ),
    ] = None,
    proxy_server: ProxyServer = None,
    wrap: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            show_default=False,
            help="Start Playwright's MCP server with this command and pass its tools on; on known pages a summary takes "
            "the place of the snapshot. docs/browser-tools.md",
        ),
    ] = None,
    all_tools: Annotated[
        bool,
        typer.Option("--all-tools", help="With --browser: also the rarer questions to the knowledge base."),
    ] = False,
    opened: Annotated[
        Opened | None,
        typer.Option(
            "--open",
            help="With --browser: the addresses that are opened beside known websites. known: none. web: public ones, "
            "and with stdio those of this machine. any: also those of the local network. Default: web with stdio, "
            "known with http.",
            show_default=False,
        ),
    ] = None,
    headed: Annotated[
        bool,
        typer.Option("--headed", help="With --agent or --browser: show the browser.", show_default=False),
    ] = False,
    snapshots: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The only folder from which a tool may read a page's snapshot as a file. Default: "
            "PERIPLUS_MCP_SNAPSHOTS, else with stdio .playwright-mcp, where Playwright MCP writes, and with http "
            "none.",
            show_default=False,
        ),
    ] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Serve the knowledge base, or the agent that uses it, to any MCP client.

    With stdio, standard output carries only the protocol. With http, the server is at
    http://HOST:PORT/mcp and requires a token if at least one exists. Settings: docs/mcp.md.
    """
    if context.invoked_subcommand is not None:
        return
    log_to_stderr()
    settings = load_mcp_settings()
    given = {
        "--allow-remote-cdp": allow_remote_cdp,
        "--user-data-dir": user_data_dir,
        "--channel": channel,
        "--storage-state": storage_state,
        "--proxy-server": proxy_server,
        "--all-tools": all_tools,
        "--open": opened,
    }
    eyes = browser or cdp_endpoint is not None
    if headed and not (agent or eyes):
        raise UserError("--headed needs --browser or --agent", fix="add one of them, or leave --headed out")
    if eyes and agent:
        raise UserError(
            "--browser and --agent do not go together", fix="--browser has the agent's tools, too"
        )
    if not eyes and (alone := [name for name, value in given.items() if value]):
        raise UserError(
            f"{alone[0]} needs --browser or --cdp-endpoint", fix=f"add one, or leave {alone[0]} out"
        )
    if wrap is not None and (eyes or agent or read_only or transport is Transport.HTTP):
        raise UserError(
            "--wrap goes with stdio and without --browser, --cdp-endpoint, --agent and --read-only",
            fix="give options of the browser to the wrapped command",
        )
    options = None
    if eyes:
        options = BrowserOptions(
            cdp_endpoint,
            allow_remote_cdp,
            user_data_dir,
            channel,
            storage_state,
            proxy_server,
            headed or None,
        )
        options.check()
    wanted = _McpOptions(
        parse_base_urls(base_url or []),
        read_only,
        settings.call_limits,
        paths,
        agent,
        headed,
        settings.runs_at_once,
        settings.files,
        options,
        transport is Transport.HTTP,
        all_tools,
        _choose_snapshots_folder(snapshots or settings.snapshots, transport),
        wrap,
        opened or (Opened.WEB if transport is Transport.STDIO else Opened.KNOWN),
    )
    opening, run_store = open_selected_stores(mongodb_url, arangodb_url), open_run_store(mongodb_url)
    if transport is Transport.STDIO:
        asyncio.run(_serve(opening, run_store, wanted))
        return
    policy = settings.access_policy(host)
    _check_access_protected(policy, host)
    with open_listening_socket(host, port) as listener:
        asyncio.run(_serve(opening, run_store, wanted, policy, listener))


async def _serve(
    opening: AbstractAsyncContextManager[Stores],
    run_store: AbstractAsyncContextManager[RunStore],
    wanted: _McpOptions,
    policy: HttpAccessPolicy | None = None,
    listener: socket.socket | None = None,
) -> None:
    gc.freeze()  # what was imported is never garbage: a full collection while a page is read need not look at it
    async with opening as stores, run_store as runs, _server(stores, runs, wanted) as server:
        if policy is None or listener is None:
            await server.run_stdio_async()
            return
        host, port = listener.getsockname()[:2]
        asked = "no token needed" if policy.verifier is None else "bearer token needed"
        typer.echo(
            f"MCP server at http://{format_url_host(host)}:{port}{MCP_PATH} ({asked}; stop with Ctrl-C)",
            err=True,
        )
        if host not in LOOPBACK:
            typer.echo("Without TLS, tokens are sent unencrypted: put an HTTPS proxy in front.", err=True)
        config = uvicorn.Config(
            create_http_app(server, policy, server.write_tools),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_S,
            **proxy_options(load_settings().trusted_proxies),
        )
        async with returning_memory():
            await uvicorn.Server(config).serve(sockets=[listener])


@asynccontextmanager
async def _server(
    stores: Stores, runs: RunStore, wanted: _McpOptions
) -> AsyncIterator[ToolServer | WrappedServer]:
    """Open the server that the options ask for on these stores."""
    async with _follow_stores(stores, wanted) as (views, engines):
        if wanted.wrap is not None:
            from periplus.browser_tools.wrapped_server import open_wrapped_server  # noqa: PLC0415 - imports the client

            async with open_wrapped_server(wanted.wrap, stores, views, wanted.base_urls) as wrapped:
                yield wrapped
            return
        if wanted.browser is not None:
            from periplus.browser_tools.address_policy import OpenMode  # noqa: PLC0415 - beside the next
            from periplus.browser_tools.browser_server import open_browser_server  # noqa: PLC0415 - imports Playwright

            async with open_browser_server(
                stores,
                runs,
                views,
                wanted.browser,
                base_urls=wanted.base_urls,
                read_only=wanted.read_only,
                limits=wanted.limits,
                engines=engines,
                files=wanted.files,
                runs_at_once=wanted.runs_at_once,
                shared=wanted.shared,
                all_tools=wanted.all_tools,
                open_mode=OpenMode(wanted.opened.value),
            ) as server:
                yield server
            return
        if wanted.agent:
            from periplus.agent_server.agent_mcp_server import open_agent_server  # noqa: PLC0415 - imports Playwright

            async with open_agent_server(
                stores,
                runs,
                views,
                base_urls=wanted.base_urls,
                read_only=wanted.read_only,
                limits=wanted.limits,
                headed=wanted.headed,
                runs_at_once=wanted.runs_at_once,
                files=wanted.files,
                shared=wanted.shared,
            ) as server:
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
            snapshots=wanted.snapshots,
        )


@asynccontextmanager
async def _follow_stores(stores: Stores, wanted: _McpOptions) -> AsyncIterator[tuple[ViewCache, PathEngines]]:
    """Open the views of these stores, and the engines that search paths in them."""
    engines = choose_path_engines(stores, wanted.paths)
    source = StoreSource(stores.documents, stores.graph, stores.views_folder)
    async with ViewCache(source, engines.compiled).following() as views:
        yield views, engines


def _choose_snapshots_folder(named: Path | None, transport: Transport) -> Path | None:
    """Return the folder that snapshots may be read from. Raises `UserError` if the named one is no folder."""
    if named is None:
        return Path(PLAYWRIGHT_FOLDER) if transport is Transport.STDIO else None
    if not named.is_dir():
        raise UserError(
            f"--snapshots {named} is no folder",
            fix="create it, or name the one that the browser's server writes to",
        )
    return named


def _check_access_protected(policy: HttpAccessPolicy, host: str) -> None:
    """Raise `UserError` for an address other machines can reach when there are no tokens."""
    if host in LOOPBACK or policy.verifier is not None:
        return
    raise UserError(
        f"--host {host}: without tokens, anyone who reaches this address could use the server",
        fix="create one with `periplus mcp token new` (or set PERIPLUS_MCP_TOKEN or PERIPLUS_MCP_ISSUER), "
        "or use --host 127.0.0.1",
    )
