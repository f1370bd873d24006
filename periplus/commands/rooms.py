"""`periplus rooms`: a worker that gives demos in LiveKit rooms."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kb_store.audit.audit_recorder import record_async
from periplus.commands.command_options import DemoArangoUrl, DemoBaseUrl, DemoMongoUrl, DemoName
from periplus.errors import UserError
from periplus.log_setup import log_to_stderr
from periplus.rooms.room_settings import RoomSettings, load_room_settings
from periplus.seed_sites.seed_manifests import Seed, find_seed
from periplus.settings import load_settings
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def rooms(
    name: DemoName = "spadeworks",
    *,
    flow: Annotated[
        str | None, typer.Option(help="The flow to present; default: the demo's own default.")
    ] = None,
    max_rooms: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="Maximum number of demos in parallel; further visitors are refused.",
            show_default="2",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port of the local health page; 0: any free port.")
    ] = 0,
    invite: Annotated[
        bool, typer.Option("--invite", help="Print the URL and a token for one visitor.", show_default=False)
    ] = False,
    headed: Annotated[bool, typer.Option("--headed", help="Show the browser.", show_default=False)] = False,
    base_url: DemoBaseUrl = None,
    mongodb_url: DemoMongoUrl = None,
    arangodb_url: DemoArangoUrl = None,
) -> None:
    """Give demos in LiveKit rooms. Visitors hear and see the demo and may interrupt it at any time.

    [bold]periplus rooms[/]                   wait for dispatches, as the agent `periplus`
    [bold]periplus rooms --invite[/]          also print the URL and a token for a first visitor

    PERIPLUS_LIVEKIT_URL, PERIPLUS_LIVEKIT_API_KEY and PERIPLUS_LIVEKIT_API_SECRET configure the LiveKit
    server; see docs/livekit.md. Ctrl-C stops all running demos.
    """
    settings = load_room_settings(max_rooms=max_rooms)
    settings.reach  # noqa: B018 - raises `UserError` for a missing setting
    seed = find_seed(name)
    log_to_stderr()
    from periplus.demos.demo_environment import DemoEnvironmentSettings  # noqa: PLC0415 - slow import

    environment = DemoEnvironmentSettings(
        data_dir=load_settings().data_dir,
        base_url=base_url,
        mongodb_url=mongodb_url,
        arangodb_url=arangodb_url,
        headed=headed,
    )
    asyncio.run(_serve(seed, environment, settings, flow, port, CommandConsole() if invite else None))


async def _serve(
    seed: Seed, where: object, settings: RoomSettings, flow: str | None, port: int, console: Console | None
) -> None:
    from periplus.demos.demo_environment import DemoEnvironmentSettings, open_demo_environment  # noqa: PLC0415
    from periplus.rooms.livekit_plugins import LivekitPlugins  # noqa: PLC0415
    from periplus.rooms.room_tickets import new_ticket  # noqa: PLC0415
    from periplus.rooms.room_worker import RoomPresenters, run_room_worker  # noqa: PLC0415
    from periplus.signals import on_signals  # noqa: PLC0415

    assert isinstance(where, DemoEnvironmentSettings)  # noqa: S101 - made by `rooms`
    plugins = LivekitPlugins.from_settings(settings)
    over, lost = asyncio.Event(), asyncio.Event()

    def lose() -> None:
        lost.set()
        over.set()

    def tell(words: str) -> None:
        typer.echo(words, err=True)

    with on_signals(over.set, signal.SIGINT, signal.SIGTERM):
        async with open_demo_environment(seed, where, flow=flow, tell=tell) as environment:
            presenters = RoomPresenters(environment, settings, plugins=plugins)
            async with run_room_worker(presenters, settings, port=port, lost=lose) as running:
                tell(
                    f"{seed.title or seed.name}: up to {settings.max_rooms} rooms at a time, as the agent "
                    f"{settings.agent!r} of {settings.url} (health: http://127.0.0.1:{running.worker_info.http_port}; "
                    "stop with Ctrl-C)"
                )
                if console is not None:
                    ticket = new_ticket(settings)
                    await record_async("room_link_made", f"room {ticket.room}")
                    console.print(f"{ticket.url}\n{escape(ticket.token)}", soft_wrap=True, highlight=False)
                await over.wait()
                tell("stopping the demos")
    if lost.is_set():
        raise UserError(
            f"the connection to the LiveKit server at {settings.url} was lost",
            fix="check that the server runs, then start the command again",
        )
