"""`periplus serve`: one server with REST at /api, MCP at /mcp and the console at /."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mcp_server.addresses import LOOPBACK
from periplus.errors import UserError
from periplus.listening import base_urls_of, bracketed, listening
from periplus.logbook import open_logbook
from periplus.logs import to_stderr
from periplus.mapping.places import MAPS
from periplus.mcp_settings import load_mcp_settings
from periplus.settings import load_settings
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen

RUNS, FILES = "runs", "files"
"""In the data directory: what runs leave, and what may be uploaded."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def serve(
    *,
    host: Annotated[
        str, typer.Option(help="Others than this machine need a key: PERIPLUS_API_KEY.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any free one.")] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Runs at a time; each has a browser context, some 100 MB.")
    ] = 2,
    grace: Annotated[
        float,
        typer.Option(
            min=0,
            max=3_600,
            help="Seconds that runs may take to come to their end on SIGTERM; what is left is gone on with at the "
            "next start.",
        ),
    ] = 30.0,
    out: Annotated[
        Path | None,
        typer.Option(help="Where runs leave tests and reports; default: `runs` in PERIPLUS_DATA_DIR."),
    ] = None,
    headed: Annotated[bool, typer.Option("--headed", help="Show the browser.", show_default=False)] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="At /mcp: without tools that change anything.")
    ] = False,
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEBSITE=URL", help="At /mcp: where a website runs, if not where it was authored."
        ),
    ] = None,
    demo: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Run this demo's site beside the service, and show it to visitors: POST /api/visit gives a link.",
        ),
    ] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Serve the console, the HTTP API that verifies requirements, and the knowledge base over MCP.

    [bold]Look[/]: the address it prints, in a browser: maps of websites, paths, runs and why they failed, proposals
    to decide, demos to start (docs/console.md).

    [bold]Submit[/]: [cyan]curl -H "X-API-Key: $PERIPLUS_API_KEY" -H "Content-Type: application/json"
    http://127.0.0.1:8000/api/run -d '{"req_id": "REQ-1", "url": "https://shop.example.com", "steps":
    ["Login | click"]}'[/]

    [bold]Ask[/]: GET /api/runs/REQ-1, .../steps, .../events (as they happen); GET /api/artifacts/REQ-1.
    POST /api/runs/REQ-1/cancel stops one. POST /api/visit makes a link to a demo that its visitor may interrupt. /api/openapi.json has everything.

    A submission that was answered with 202 is kept and carried out, whatever happens to the connection or to
    this process. Keys, limits and what clients may use of this machine: docs/service.md.
    """
    try:
        from periplus.service import opening, queue, serving  # noqa: PLC0415 - an optional extra
        from periplus.service.settings import load_serve_settings  # noqa: PLC0415
        from periplus.service.visiting import opening as visitors  # noqa: PLC0415
    except ModuleNotFoundError as exc:
        raise UserError(f"{exc.name} is not installed", fix="pip install 'periplus[serve,verify]'") from exc
    to_stderr()
    settings, own = load_serve_settings(), load_settings(mongodb_url=mongodb_url)
    wanted = opening.Wanted(
        host=host,
        settings=settings,
        mcp=load_mcp_settings(),
        folder=out or own.data_dir / RUNS,
        files=own.data_dir / FILES,
        limits=queue.QueueLimits(workers=workers, most_waiting=settings.serve_queue, grace_s=grace),
        base_urls=base_urls_of(base_url or []),
        read_only=read_only,
        maps=own.data_dir / MAPS,
    )
    keyed = opening.access_of(wanted).verifier is not None
    opener = partial(opening.open_browser_verifier, wanted.folder, mongodb_url=mongodb_url, headed=headed)
    stores, logbook = open_chosen(mongodb_url, arangodb_url), open_logbook(mongodb_url)
    place = visitors.Place(
        own.data_dir, demo, wanted.base_urls, mongodb_url=mongodb_url, arangodb_url=arangodb_url
    )

    async def run(listener: socket.socket) -> None:
        async with (
            stores as opened,
            logbook as runs,
            visitors.open_visits(place, opened, runs) as visits,
            opening.open_service(wanted, opened, runs, opener, visits=visits) as (service, waiting),
        ):
            _say_where(listener, keyed=keyed)
            await serving.serve(service, waiting, listener, visits)

    with listening(host, port) as listener:
        asyncio.run(run(listener))


def _say_where(listener: socket.socket, *, keyed: bool) -> None:
    host, port = listener.getsockname()[:2]
    where = f"http://{bracketed(host)}:{port}"
    asked = (
        "a key is needed"
        if keyed
        else "no key is set: whoever is on this machine may use it (PERIPLUS_API_KEY)"
    )
    typer.echo(
        f"Periplus at {where}: REST at {where}/api, MCP at {where}/mcp ({asked}; stop with Ctrl-C)", err=True
    )
    if host not in LOOPBACK:
        typer.echo("Keys travel in clear without TLS: put a proxy that speaks https in front.", err=True)
