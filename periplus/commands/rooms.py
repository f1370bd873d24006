"""`periplus rooms`: a worker that presents in the rooms of a LiveKit server."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from periplus.commands.demo_options import DemoArangoUrl, DemoBaseUrl, DemoMongoUrl, DemoName
from periplus.errors import UserError
from periplus.logs import to_stderr
from periplus.rooms.settings import RoomSettings, load_room_settings
from periplus.seeds import Seed, find_seed
from periplus.settings import load_settings

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def rooms(
    name: DemoName = "spadeworks",
    *,
    flow: Annotated[
        str | None, typer.Option(help="What is told where nobody asks for another; the demo's default.")
    ] = None,
    max_rooms: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Demos at a time; who comes later is told so.", show_default="2"),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Of the health page, on this machine; 0: any free one.")
    ] = 0,
    invite: Annotated[
        bool, typer.Option("--invite", help="Print a ticket for one visitor.", show_default=False)
    ] = False,
    headed: Annotated[bool, typer.Option("--headed", help="Show the browser.", show_default=False)] = False,
    base_url: DemoBaseUrl = None,
    mongodb_url: DemoMongoUrl = None,
    arangodb_url: DemoArangoUrl = None,
) -> None:
    """Present in LiveKit rooms: whoever is in one hears, sees, and may interrupt at any time.

    [bold]periplus rooms[/]                   wait to be dispatched, as the agent `periplus`
    [bold]periplus rooms --invite[/]          and print what a first visitor enters with

    PERIPLUS_LIVEKIT_URL, _API_KEY and _API_SECRET say where the server is; docs/livekit.md has the rest.
    Ctrl-C ends every demo in progress in good order.
    """
    settings = load_room_settings(max_rooms=max_rooms)
    settings.reach  # noqa: B018 - what is not set is told before anything is started
    seed = find_seed(name)
    try:
        from periplus.rooms import worker  # noqa: F401, PLC0415 - an optional extra
    except ModuleNotFoundError as exc:
        raise UserError(f"{exc.name} is not installed", fix="pip install 'periplus[livekit]'") from exc
    to_stderr()
    from periplus.presenting.venue import VenueSettings  # noqa: PLC0415 - heavy: not for a wrong name

    venue = VenueSettings(
        data_dir=load_settings().data_dir,
        base_url=base_url,
        mongodb_url=mongodb_url,
        arangodb_url=arangodb_url,
        headed=headed,
    )
    asyncio.run(_serve(seed, venue, settings, flow, port, Console() if invite else None))


async def _serve(
    seed: Seed, where: object, settings: RoomSettings, flow: str | None, port: int, console: Console | None
) -> None:
    from periplus.presenting.venue import VenueSettings, open_venue  # noqa: PLC0415
    from periplus.rooms.plugins import Plugins  # noqa: PLC0415
    from periplus.rooms.tickets import new_ticket  # noqa: PLC0415
    from periplus.rooms.worker import Presenters, serving_rooms  # noqa: PLC0415
    from periplus.signals import on_signals  # noqa: PLC0415

    assert isinstance(where, VenueSettings)  # noqa: S101 - made by `rooms`
    plugins = Plugins.of(settings)
    over, lost = asyncio.Event(), asyncio.Event()

    def lose() -> None:
        lost.set()
        over.set()

    def tell(words: str) -> None:
        typer.echo(words, err=True)

    with on_signals(over.set, signal.SIGINT, signal.SIGTERM):
        async with open_venue(seed, where, flow=flow, tell=tell) as venue:
            presenters = Presenters(venue, settings, plugins=plugins)
            async with serving_rooms(presenters, settings, port=port, lost=lose) as running:
                tell(
                    f"{seed.title or seed.name}: up to {settings.max_rooms} rooms at a time, as the agent "
                    f"{settings.agent!r} of {settings.url} (health: http://127.0.0.1:{running.worker_info.http_port}; "
                    "stop with Ctrl-C)"
                )
                if console is not None:
                    ticket = new_ticket(settings)
                    console.print(f"{ticket.url}\n{escape(ticket.token)}", soft_wrap=True, highlight=False)
                await over.wait()
                tell("leaving the rooms")
    if lost.is_set():
        raise UserError(
            f"the LiveKit server at {settings.url} is not reached any more",
            fix="see that it runs; start again",
        )
