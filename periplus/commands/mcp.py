"""`periplus mcp`: the desk as an MCP server, over stdio or streamable HTTP."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Annotated

import typer

from kb_schema.urls import origin_of
from kb_store import Stores
from mcp_server.addresses import LOOPBACK
from mcp_server.server import create_server
from mcp_server.snapshots import MAX_BYTES
from mcp_server.store_source import StoreSource
from mcp_server.views import Views
from periplus.errors import UserError
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen

MAX_REQUEST_BYTES = 3 * MAX_BYTES
"""A page grows when it is written as JSON: quotes and characters beyond ASCII are escaped."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


class Transport(StrEnum):
    """How clients reach the server."""

    STDIO = "stdio"
    HTTP = "http"


@app.command()
def mcp(
    *,
    transport: Annotated[
        Transport, typer.Option(help="stdio: a client starts this command.")
    ] = Transport.STDIO,
    host: Annotated[str, typer.Option(help="Of http: this machine only, for now.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Of http.")] = 8765,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Without tools that change anything.")
    ] = False,
    base_url: Annotated[
        list[str] | None,
        typer.Option(metavar="WEBSITE=URL", help="Where a website runs, if not where it was authored."),
    ] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Serve the knowledge base to any MCP client.

    Over stdio, standard output carries the protocol and nothing else; over http the server is at
    http://HOST:PORT/mcp.
    """
    base_urls = _parsed(base_url or [])
    if transport is Transport.HTTP:
        _check_bindable(host, port)
    opening = open_chosen(mongodb_url, arangodb_url)
    asyncio.run(_serve(opening, transport, host, port, base_urls, read_only=read_only))


async def _serve(
    opening: AbstractAsyncContextManager[Stores],
    transport: Transport,
    host: str,
    port: int,
    base_urls: dict[str, str],
    *,
    read_only: bool,
) -> None:
    async with opening as stores, Views(StoreSource(stores.documents, stores.graph)).following() as views:
        server = create_server(views, base_urls=base_urls, read_only=read_only, learned=stores.learned)
        if transport is Transport.STDIO:
            await server.run_stdio_async()
            return
        typer.echo(f"MCP server at http://{host}:{port}/mcp (stop with Ctrl-C)", err=True)
        await server.run_streamable_http_async(
            host=host, port=port, stateless_http=True, max_request_body_size=MAX_REQUEST_BYTES
        )


def _parsed(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        website, equals, url = pair.partition("=")
        if not (website and equals and origin_of(url).startswith(("http://", "https://"))):
            fix = "write it like --base-url spadeworks=http://127.0.0.1:8080"
            raise UserError(f"--base-url {pair!r} is not WEBSITE=URL", fix=fix)
        found[website] = url
    return found


def _check_bindable(host: str, port: int) -> None:
    """Before anything is started, so that the message is ours."""
    if host not in LOOPBACK:
        raise UserError(
            f"--host {host}: the server has no way yet to tell who asks, so it serves this machine only",
            fix="use --host 127.0.0.1, behind a proxy that authenticates where others must reach it",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as exc:
            fix = "choose another with --port"
            raise UserError(f"cannot listen on {host}:{port}: {exc.strerror}", fix=fix) from exc
