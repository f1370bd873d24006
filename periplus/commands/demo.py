"""`periplus demo`: a narrated demo in a real browser, on embedded stores."""

from __future__ import annotations

import asyncio
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from periplus.commands.demo_options import DemoArangoUrl, DemoBaseUrl, DemoMongoUrl, DemoName, DemoWorkers
from periplus.errors import EXIT_INTERRUPTED, UserError
from periplus.seeds import Seed, find_seed
from periplus.settings import load_settings

if TYPE_CHECKING:
    from periplus.demo import DemoResult

EXIT_INCOMPLETE = 1


class FilmFormat(StrEnum):
    """What a demo's film is made into."""

    mp4 = "mp4"
    gif = "gif"


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def demo(
    context: typer.Context,
    name: DemoName = "spadeworks",
    *,
    flow: Annotated[
        str | None, typer.Option(help="Which flow to play; the demo's default without it.")
    ] = None,
    speed: Annotated[
        float, typer.Option(min=0, max=10, help="2 is twice as fast; 0 as fast as it goes, without speech.")
    ] = 1.0,
    headed: Annotated[
        bool | None,
        typer.Option("--headed/--headless", help="Show the browser; by default where there is a display."),
    ] = None,
    no_voice: Annotated[
        bool, typer.Option("--no-voice", help="Captions only, even where espeak-ng is there.")
    ] = False,
    voice: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Who speaks, as espeak-ng names it: de, en-us+f3.", show_default=False
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Tell it in another language the flow has.", show_default=False),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option(min=1, metavar="SECONDS", help="How long it may take; optional parts go first."),
    ] = None,
    film_format: Annotated[
        FilmFormat, typer.Option("--format", help="gif: an animated picture as well, for a README.")
    ] = FilmFormat.mp4,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Film everything, also what has not changed since the last film.")
    ] = False,
    rehearse: Annotated[
        bool,
        typer.Option("--rehearse", help="Try every branch without words, and tell what is at risk."),
    ] = False,
    workers: DemoWorkers = "1",
    out: Annotated[Path | None, typer.Option(help="Folder for film, captions, report and trace.")] = None,
    base_url: DemoBaseUrl = None,
    mongodb_url: DemoMongoUrl = None,
    arangodb_url: DemoArangoUrl = None,
) -> None:
    """Watch the product work: a site, its knowledge, a browser, and someone who talks you through it.

    [bold]periplus demo[/]                                 the one-minute tour
    [bold]periplus demo --flow spadeworks_demo[/]          the whole five minutes
    [bold]periplus demo --speed 0 --out out/quick[/]       only the work, no words
    [bold]periplus demo --language de --format gif[/]      told in German, and a picture for a README
    [bold]periplus demo --rehearse[/]                      what could go wrong in front of people

    Leaves a folder with demo.mp4, poster.jpg, captions.vtt, report.html (open it) and the session's
    trace. Parts of the film that would come out as they did the last time are not filmed again.
    A demo needs no server: its knowledge is loaded into PERIPLUS_DATA_DIR, whatever
    PERIPLUS_MONGODB_URL and PERIPLUS_ARANGODB_URL say, unless the flags name a store. Its run is
    kept where other runs are.
    Ctrl-C ends it in good order and keeps what there is.
    """
    console = Console()
    seed = find_seed(name)  # a wrong name is told before anything heavy is imported
    from periplus.demo import DemoSettings, run_demo  # noqa: PLC0415
    from periplus.outputs import output_folder  # noqa: PLC0415

    if workers != "1" and not rehearse:
        raise UserError("a demo is given by one guide", fix="--workers goes with --rehearse")
    if rehearse:
        from periplus.rehearsing import RehearsalSettings, run_rehearsal  # noqa: PLC0415

        # A rehearsal goes as fast as it can unless a speed is asked for: then words take their time.
        source = context.get_parameter_source("speed")
        asked = source is not None and source.name != "DEFAULT"
        wanted = RehearsalSettings(
            flow, speed if asked else 0.0, headed, base_url, mongodb_url, arangodb_url, language, workers
        )
        folder = output_folder(out or _fresh_folder(seed, flow))
        ready = asyncio.run(run_rehearsal(seed, wanted, load_settings().data_dir, folder, console))
        raise typer.Exit(0 if ready else EXIT_INCOMPLETE)
    settings = DemoSettings(
        flow,
        speed,
        headed,
        not no_voice,
        base_url,
        mongodb_url,
        arangodb_url,
        language=language,
        speaker=voice,
        window_s=window,
        gif=film_format is FilmFormat.gif,
        afresh=fresh,
    )
    folder = output_folder(out or _fresh_folder(seed, flow))
    data_dir = load_settings().data_dir
    console.print(f"[bold]{escape(seed.title or seed.name)}[/] {escape(seed.description)}".rstrip())
    result = asyncio.run(run_demo(seed, settings, data_dir=data_dir, out=folder, console=console))
    _tell(console, result)
    if result.presentation.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if not result.presentation.succeeded:
        raise typer.Exit(EXIT_INCOMPLETE)


def _fresh_folder(seed: Seed, flow: str | None) -> Path:
    now = datetime.now().astimezone()
    return Path("out") / f"{flow or seed.default_flow or seed.name}-{now:%Y%m%d-%H%M%S}"


def _tell(console: Console, result: DemoResult) -> None:
    presentation = result.presentation
    word = (
        "[yellow]stopped[/]"
        if presentation.interrupted
        else ("[green]done[/]" if presentation.succeeded else "[red]incomplete[/]")
    )
    console.print(
        f"{word}: {presentation.shown_count} of {presentation.total} segments shown, "
        f"{presentation.step_count} steps, {presentation.duration_s:.0f} s"
    )
    for segment in presentation.segments:
        if segment.status != "shown":
            style = "red" if segment.required else "yellow"
            console.print(
                f"  [{style}]{segment.segment_id} {segment.status}[/]: {escape(segment.reason or '')}"
            )
    if result.kept:
        console.print(f"  [dim]as filmed before: {escape(', '.join(result.kept))}[/]", highlight=False)
    for note in result.notes:
        console.print(f"  [yellow]{escape(note)}[/]")
    for name in result.files:
        console.print(f"  {escape(str(result.folder / name))}", soft_wrap=True, highlight=False)
    if result.run_id:
        console.print(f"  [dim]periplus runs show {result.run_id}[/]", highlight=False)
