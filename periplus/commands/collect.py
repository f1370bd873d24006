"""`periplus collect`: one task many times over, a trace of each run."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from periplus.commands.on_a_site import BaseUrl, WebsiteId, read_inputs
from periplus.errors import EXIT_INTERRUPTED, UserError
from periplus.fleet.workers import WorkersOption, read_workers
from periplus.shelves import ArangoUrl, MongoUrl

if TYPE_CHECKING:
    from periplus.fleet.collecting import Collected, Collection, CollectSettings
    from periplus.fleet.rows import Row
    from periplus.fleet.workers import Workers

EXIT_FAILED = 1

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def collect(
    task: Annotated[
        str | None, typer.Argument(help="The task's id, or a workflow's.", show_default=False)
    ] = None,
    *,
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs",
            metavar="FILE",
            help="A .csv, .tsv or .jsonl: one row for each run.",
            show_default=False,
        ),
    ] = None,
    shared: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=VALUE", help="The same for every run; may be repeated."),
    ] = None,
    workers: WorkersOption = "2",
    website: WebsiteId = None,
    base_url: BaseUrl = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Carry on what was cut off: its folder.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for traces and results.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Do a task once for each row of a file, several at a time, and keep a trace of each run.

    [bold]periplus collect create_agent --inputs names.csv --workers 4 -i email=... -i password=...[/]
    [bold]periplus synthesize out/collect-*/runs --name "Create agents"[/]

    The first line of a CSV names the inputs. Each run has a browser context of its own. What a worker had
    when it died is gone on with by another one, from the run's journal: nothing is done twice.

    [bold]periplus collect --resume out/collect-...[/]

    What is finished is not done again. Values given with -i are not kept: give them again.

    Leaves a folder: runs/ROW/session (the traces), results.jsonl, collection.json.

    Exit code 0 all done, 1 a run was not, 2 something to put right, 130 interrupted.
    """
    console = Console(stderr=as_json)
    who = read_workers(workers)
    from periplus.fleet.collecting import CollectSettings  # noqa: PLC0415 - takes its time to import
    from periplus.fleet.opening import shelf_for  # noqa: PLC0415

    shelf = shelf_for(who, mongodb_url, arangodb_url)
    values = read_inputs(shared or [])
    if resume is not None:
        if task is not None or inputs is not None or out is not None:
            raise UserError("--resume knows its task and file", fix="periplus collect --resume DIR")
        folder = resume
    else:
        folder = out or Path("out") / f"collect-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    settings = CollectSettings(shelf, folder, values)
    collection, rows = _wanted(task, inputs, website, base_url, resume, settings)
    came, stopped = asyncio.run(_collected(collection, rows, who, settings, console))
    _tell(collection, came, folder, console, as_json=as_json)
    if stopped:
        console.print(
            f"[yellow]interrupted[/]; carry on: periplus collect --resume {escape(str(folder))}",
            soft_wrap=True,
        )
        raise typer.Exit(EXIT_INTERRUPTED)
    if not all(each.succeeded for each in came):
        raise typer.Exit(EXIT_FAILED)


def _wanted(
    task: str | None,
    inputs: Path | None,
    website: str | None,
    base_url: str | None,
    resume: Path | None,
    settings: CollectSettings,
) -> tuple[Collection, list[Row]]:
    """What is collected. Raises `UserError` for what a person can put right, before anything begins."""
    from periplus.fleet.collecting import (  # noqa: PLC0415 - takes its time to import
        Collection,
        begin_collection,
        find_collection,
        find_website,
        sha256_of,
    )
    from periplus.fleet.rows import read_rows  # noqa: PLC0415
    from periplus.outputs import output_folder  # noqa: PLC0415

    if resume is not None:
        found = find_collection(resume)
        return found, read_rows(Path(found.inputs))
    if task is None or inputs is None:
        raise UserError(
            "name a task and a file", fix="periplus collect TASK --inputs FILE.csv (or --resume DIR)"
        )
    rows = read_rows(inputs)
    website_id = asyncio.run(find_website(settings.shelf, website))
    collection = Collection(
        task_id=task, website_id=website_id, inputs=str(inputs.absolute()), inputs_sha256=sha256_of(inputs),
        base_url=base_url,
    )  # fmt: skip
    begin_collection(collection, output_folder(settings.folder))
    return collection, rows


async def _collected(
    collection: Collection, rows: list[Row], who: Workers, settings: CollectSettings, console: Console
) -> tuple[list[Collected], bool]:
    """All, and whether it was interrupted: then what goes on ends after its step; a second Ctrl-C ends it."""
    from periplus.fleet.collecting import collect as collect_all  # noqa: PLC0415
    from periplus.fleet.opening import open_fleet  # noqa: PLC0415
    from periplus.fleet.view import CollectView  # noqa: PLC0415
    from periplus.signals import on_signals  # noqa: PLC0415

    stopping: list[asyncio.Task[None]] = []
    async with open_fleet(who) as fleet:
        with CollectView(console, len(rows)) as view:
            work = asyncio.create_task(
                collect_all(collection, rows, fleet, settings, tell=view.ended, heard=view.heard)
            )

            def interrupted() -> None:
                if stopping:
                    work.cancel()
                stopping.append(asyncio.create_task(fleet.stop("interrupted")))

            with on_signals(interrupted, signal.SIGINT, signal.SIGTERM):
                came = await work
    await asyncio.gather(*stopping)
    return came, bool(stopping)


def _tell(
    collection: Collection, came: list[Collected], folder: Path, console: Console, *, as_json: bool
) -> None:
    done = sum(each.succeeded for each in came)
    if as_json:
        told: Mapping[str, object] = {
            "collection": collection.collection_id,
            "done": done,
            "rows": [each.model_dump(mode="json") for each in came],
            "out": str(folder.absolute()),
        }
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    style = "green" if done == len(came) else "yellow"
    console.print(f"[{style}]{done} of {len(came)} done[/]  {escape(str(folder))}", soft_wrap=True)
