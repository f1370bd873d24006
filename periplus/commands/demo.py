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

from loaders.files.folder_layout import SUFFIXES
from periplus.commands.command_options import (
    AllowRemoteCdp,
    CdpEndpoint,
    Channel,
    DemoArangoUrl,
    DemoBaseUrl,
    DemoInputs,
    DemoMongoUrl,
    DemoName,
    DemoSignInForm,
    DemoSignInUrl,
    DemoStorageState,
    DemoWorkers,
    PathObjective,
    ProxyServer,
    choose_browser,
    parse_inputs,
)
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.seed_sites.seed_manifests import Seed, find_seed
from periplus.settings import load_settings
from periplus.store_selection import get_store_urls
from periplus.terminal.command_console import CommandConsole

if TYPE_CHECKING:
    from periplus.demos.filmed_demo import DemoResult
    from periplus.demos.website_demo import WebsiteDemo


class FilmFormat(StrEnum):
    """The output formats of a demo's film."""

    mp4 = "mp4"
    gif = "gif"


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def demo(
    context: typer.Context,
    name: DemoName = "spadeworks",
    *,
    website: Annotated[
        str | None,
        typer.Option(
            "--website",
            "-w",
            metavar="ID",
            help="Present this loaded website instead of a built-in demo.",
            show_default=False,
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow to play; default: the demo's own default. With --website also a file.",
            show_default=False,
        ),
    ] = None,
    inputs: DemoInputs = None,
    storage_state: DemoStorageState = None,
    sign_in_form: DemoSignInForm = False,
    sign_in_url: DemoSignInUrl = None,
    speed: Annotated[
        float,
        typer.Option(min=0, max=10, help="2 is twice as fast; 0 is as fast as possible, without speech."),
    ] = 1.0,
    headed: Annotated[
        bool | None,
        typer.Option("--headed/--headless", help="Show the browser; default: if there is a display."),
    ] = None,
    cdp_endpoint: CdpEndpoint = None,
    allow_remote_cdp: AllowRemoteCdp = False,
    channel: Channel = None,
    proxy_server: ProxyServer = None,
    no_voice: Annotated[
        bool, typer.Option("--no-voice", help="Captions only, even if espeak-ng is installed.")
    ] = False,
    voice: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A voice, such as de or en-us+f3 of espeak-ng, or openai:alloy (docs/voices.md).",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Another language that the flow supports.", show_default=False),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option(min=1, metavar="SECONDS", help="The time limit; optional segments are dropped first."),
    ] = None,
    film_format: Annotated[
        FilmFormat, typer.Option("--format", help="gif: also make an animated picture, for a README.")
    ] = FilmFormat.mp4,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Record every segment again, also unchanged ones.")
    ] = False,
    zoom: Annotated[
        bool,
        typer.Option(
            "--zoom", help="Enlarge the film around what is pointed at. Records every segment again."
        ),
    ] = False,
    rehearse: Annotated[
        bool,
        typer.Option("--rehearse", help="Try every branch without narration and report the risks."),
    ] = False,
    workers: DemoWorkers = "1",
    objective: PathObjective = None,
    out: Annotated[Path | None, typer.Option(help="Folder for film, captions, report and trace.")] = None,
    base_url: DemoBaseUrl = None,
    mongodb_url: DemoMongoUrl = None,
    arangodb_url: DemoArangoUrl = None,
) -> None:
    """Run a narrated demo: a site, its knowledge base, and the agent in a real browser.

    [bold]periplus demo[/]                                 the one-minute tour
    [bold]periplus demo --flow spadeworks_demo[/]          the whole five minutes
    [bold]periplus demo --speed 0 --out out/quick[/]       no narration
    [bold]periplus demo --language de --format gif[/]      in German, with a picture for a README
    [bold]periplus demo --rehearse[/]                      find out beforehand what could go wrong
    [bold]periplus demo --website shop --flow shop_tour.yaml[/]   a website that was mapped and loaded

    The output folder contains demo.mp4, poster.jpg, captions.vtt, report.html (open it) and the
    session's trace. Segments that have not changed since the last film are not recorded again.
    A demo needs no server: its knowledge is loaded into PERIPLUS_DATA_DIR. The settings
    PERIPLUS_MONGODB_URL and PERIPLUS_ARANGODB_URL are ignored; only the flags name another store.
    With --website the website must be running, and its knowledge is taken from the configured store.
    With --cdp-endpoint it is shown in a window of its own of your running Chrome; with --website and no other way to
    sign in, with a copy of the session that Chrome has for the site.
    The run is stored with the other runs.
    Ctrl-C stops the demo and keeps what was recorded so far.
    """
    console = CommandConsole()
    using = choose_browser(cdp_endpoint, allow_remote_cdp, None, channel, proxy_server, headed)
    data_dir = load_settings().data_dir
    if website is None:
        if inputs or storage_state or sign_in_form or sign_in_url:
            fix = "add --website ID; built-in demos sign in by themselves"
            raise UserError("signing in is only for --website", fix=fix)
        seed: Seed | WebsiteDemo = find_seed(name)  # reports a wrong name before the slow imports
    else:
        named = context.get_parameter_source("name")
        if named is not None and named.name != "DEFAULT":
            raise UserError(f"both the demo {name!r} and --website are given", fix="give one of them")
        seed, flow = _find_website(website, flow, inputs, storage_state, sign_in_form, sign_in_url)
        mongodb_url, arangodb_url = get_store_urls(mongodb_url, arangodb_url)
    from periplus.demos.filmed_demo import DemoSettings, run_demo  # noqa: PLC0415
    from periplus.output_folder import open_output_folder  # noqa: PLC0415

    if workers != "1" and not rehearse:
        raise UserError("--workers needs --rehearse", fix="add --rehearse, or leave --workers out")
    if zoom and (rehearse or speed == 0):
        raise UserError(
            "--zoom needs a film with a pointer", fix="leave out --zoom, or --rehearse and --speed 0"
        )
    if rehearse:
        if cdp_endpoint or channel or proxy_server:
            raise UserError(
                "--rehearse starts browsers of its own",
                fix="leave out --cdp-endpoint, --channel and --proxy-server, or --rehearse",
            )
        from periplus.demos.demo_rehearsal import RehearsalSettings  # noqa: PLC0415
        from periplus.demos.rehearsal_run import run_rehearsal  # noqa: PLC0415

        # A rehearsal runs as fast as possible unless --speed is given.
        source = context.get_parameter_source("speed")
        asked = source is not None and source.name != "DEFAULT"
        wanted = RehearsalSettings(
            flow,
            speed if asked else 0.0,
            headed,
            base_url,
            mongodb_url,
            arangodb_url,
            language,
            workers,
            objective,
        )
        with open_output_folder(out or _fresh_folder(seed, flow)) as folder:
            ready = asyncio.run(run_rehearsal(seed, wanted, data_dir, folder, console))
        raise typer.Exit(ExitCode.DONE if ready else ExitCode.FAILED)
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
        zoom=zoom,
        objective=objective,
        browser=using,
    )
    with open_output_folder(out or _fresh_folder(seed, flow)) as folder:
        if isinstance(seed, Seed):
            console.print(f"[bold]{escape(seed.title or seed.name)}[/] {escape(seed.description)}".rstrip())
        else:
            console.print(f"[bold]{escape(seed.name)}[/]")
        result = asyncio.run(run_demo(seed, settings, data_dir=data_dir, out=folder, console=console))
    _print_demo_result(console, result)
    if result.presentation.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not result.presentation.succeeded:
        raise typer.Exit(ExitCode.FAILED)


def _find_website(
    website: str,
    flow: str | None,
    inputs: list[str] | None,
    storage_state: Path | None,
    sign_in_form: bool,
    sign_in_url: str | None,
) -> tuple[WebsiteDemo, str | None]:
    """Return the website to present, and the flow if it is an id; a flow that is a file belongs to the former."""
    from periplus.demos.website_demo import WebsiteDemo  # noqa: PLC0415 - slow imports

    if storage_state is not None and sign_in_form:
        raise UserError("--storage-state and --sign-in-form cannot be combined", fix="give one of them")
    file = Path(flow) if flow is not None and Path(flow).suffix in SUFFIXES else None
    if file is not None and not file.is_file():
        raise UserError(f"--flow: there is no file {file}", fix="draft one: periplus draft-flow")
    demo = WebsiteDemo(website, file, parse_inputs(inputs or ()), storage_state, sign_in_form, sign_in_url)
    return demo, None if file is not None else flow


def _fresh_folder(seed: Seed | WebsiteDemo, flow: str | None) -> Path:
    now = datetime.now().astimezone()
    default = seed.default_flow if isinstance(seed, Seed) else None
    return Path("out") / f"{flow or default or seed.name}-{now:%Y%m%d-%H%M%S}"


_NOT_OBSERVED = "success was not observed"
"""In a broken rule of engagement: the task of a segment ended without evidence."""


def _print_demo_result(console: Console, result: DemoResult) -> None:
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
        for broken in segment.violations:
            if _NOT_OBSERVED in broken:
                console.print(
                    f"  [yellow]{segment.segment_id} is not verified[/]: nothing seen in the application shows that it worked"
                )
    if result.kept:
        console.print(
            f"  [dim]reused from the last film: {escape(', '.join(result.kept))}[/]", highlight=False
        )
    for note in result.notes:
        console.print(f"  [yellow]{escape(note)}[/]")
    for name in result.files:
        console.print(f"  {escape(str(result.folder / name))}", soft_wrap=True, highlight=False)
    if result.run_id:
        console.print(f"  [dim]periplus runs show {result.run_id}[/]", highlight=False)
