"""`periplus serve`: one HTTP server with REST at /api, MCP at /mcp and the console at /."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kb_schema.url_patterns import LOOPBACK
from kb_store.audit.audit_recorder import set_actor
from periplus.exploration.map_folder import MAPS
from periplus.log_setup import log_to_stderr
from periplus.mcp_settings import load_mcp_settings
from periplus.privacy.retention import pruning_daily
from periplus.run_store_adapters import open_run_store
from periplus.seed_sites.seed_manifests import find_seed
from periplus.server_sockets import format_url_host, open_listening_socket, parse_base_urls
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores

RUNS, FILES = "runs", "files"
"""Subfolders of the data directory for the files of runs and for uploads."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def serve(
    *,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Other machines need a key: PERIPLUS_API_KEY.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0: any free port.")] = 8000,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            help="Maximum number of runs in parallel; each uses a browser context, about 100 MB.",
        ),
    ] = 2,
    grace: Annotated[
        float,
        typer.Option(
            min=0,
            max=3_600,
            help="Seconds that runs may take to finish after SIGTERM; unfinished runs are resumed at the next start.",
        ),
    ] = 30.0,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for tests and reports of runs; default: `runs` in PERIPLUS_DATA_DIR."),
    ] = None,
    headed: Annotated[bool, typer.Option("--headed", help="Show the browser.", show_default=False)] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="At /mcp: leave out tools that change data.")
    ] = False,
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEBSITE=URL",
            help="At /mcp: a website's base URL, if it differs from the one in the knowledge base.",
        ),
    ] = None,
    demo: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also run this demo's site and offer demos to visitors: POST /api/visit returns a link.",
        ),
    ] = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Serve the console, the HTTP API that verifies requirements, and the knowledge base over MCP.

    [bold]Console[/]: open the printed address in a browser. It shows maps of websites, paths, runs with their
    failures, proposals and demos (docs/console.md).

    [bold]Submit a requirement[/]: [cyan]curl -H "X-API-Key: $PERIPLUS_API_KEY" -H "Content-Type: application/json"
    http://127.0.0.1:8000/api/run -d '{"req_id": "REQ-1", "url": "https://shop.example.com", "steps":
    ["Login | click"]}'[/] (without a key set, the service answers this machine only, and needs no header)

    [bold]Query[/]: GET /api/runs/REQ-1, .../steps, .../events (live); GET /api/artifacts/REQ-1.
    POST /api/runs/REQ-1/cancel cancels a run. POST /api/collections runs a task many times. POST /api/visit creates a link to an interactive demo.
    /api/openapi.json describes the whole API.

    A submission that was answered with 202 is stored and executed, even if the connection or this process
    ends. Keys, limits and access to this machine: docs/service.md.
    """
    from periplus.fleet.fleet_setup import choose_store_addresses  # noqa: PLC0415 - slow imports
    from periplus.fleet.workers_option import WorkerSelection  # noqa: PLC0415
    from periplus.service import run_queue  # noqa: PLC0415 - an optional extra
    from periplus.service.service_settings import load_serve_settings  # noqa: PLC0415
    from periplus.service.single_sign_on import load_oidc_settings  # noqa: PLC0415
    from periplus.service.visits import visit_setup as visitors  # noqa: PLC0415
    from periplus.web_server import service_setup, uvicorn_server  # noqa: PLC0415 - an optional extra

    if demo is not None:
        find_seed(demo)  # reports a wrong name before anything is made
    log_to_stderr()
    settings, own = load_serve_settings(), load_settings(mongodb_url=mongodb_url)
    wanted = service_setup.ServiceOptions(
        host=host,
        settings=settings,
        mcp=load_mcp_settings(),
        folder=out or own.data_dir / RUNS,
        files=own.data_dir / FILES,
        limits=run_queue.RunQueueLimits(workers=workers, most_waiting=settings.serve_queue, grace_s=grace),
        base_urls=parse_base_urls(base_url or []),
        read_only=read_only,
        maps=own.data_dir / MAPS,
        oidc=load_oidc_settings(),
        store_addresses=choose_store_addresses(WorkerSelection("contexts", 1), mongodb_url, arangodb_url),
    )
    keyed = service_setup.build_access_control(wanted).verifier is not None
    opener = partial(
        service_setup.open_browser_verifier, wanted.folder, mongodb_url=mongodb_url, headed=headed
    )
    stores, run_store = open_selected_stores(mongodb_url, arangodb_url), open_run_store(mongodb_url)
    place = visitors.VisitSite(
        own.data_dir, demo, wanted.base_urls, mongodb_url=mongodb_url, arangodb_url=arangodb_url
    )

    set_actor("service")  # what nobody's request started

    async def run(listener: socket.socket) -> None:
        async with (
            stores as opened,
            run_store as runs,
            pruning_daily(own.data_dir, opened, runs),
            visitors.open_visit_registry(place, opened, runs) as visits,
            service_setup.open_service(wanted, opened, runs, opener, visits=visits) as (service, waiting),
        ):
            _print_address(listener, keyed=keyed)
            await uvicorn_server.serve_until_signal(service, waiting, listener, visits)

    with open_listening_socket(host, port) as listener:
        asyncio.run(run(listener))


def _print_address(listener: socket.socket, *, keyed: bool) -> None:
    host, port = listener.getsockname()[:2]
    where = f"http://{format_url_host(host)}:{port}"
    asked = (
        "key required" if keyed else "no key is set: every user of this machine has access (PERIPLUS_API_KEY)"
    )
    typer.echo(
        f"Periplus at {where}: REST at {where}/api, MCP at {where}/mcp ({asked}; stop with Ctrl-C)", err=True
    )
    if host not in LOOPBACK:
        typer.echo("Without TLS, keys are sent unencrypted: put an HTTPS proxy in front.", err=True)
