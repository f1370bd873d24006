"""`periplus collect`: run a task once for each row of a file and keep a trace of each run."""

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

from periplus.commands.command_options import BaseUrl, WebsiteId, choose_import_budget, parse_inputs
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.fleet.workers_option import WorkersOption, parse_workers
from periplus.foreign_input import read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl

if TYPE_CHECKING:
    from periplus.fleet.input_rows import InputRow
    from periplus.fleet.run_collection import CollectedRun, RunCollection, RunCollectionSettings
    from periplus.fleet.workers_option import WorkerSelection


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def collect(
    task: Annotated[
        str | None, typer.Argument(help="The id of a task or a workflow.", show_default=False)
    ] = None,
    *,
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs",
            metavar="FILE",
            help="A .csv, .tsv or .jsonl file with one row per run.",
            show_default=False,
        ),
    ] = None,
    shared: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="NAME=VALUE",
            help="An input with the same value in every run; may be repeated.",
        ),
    ] = None,
    workers: WorkersOption = "2",
    website: WebsiteId = None,
    base_url: BaseUrl = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Resume an interrupted collection from its folder.", show_default=False
        ),
    ] = None,
    allow_unverified: Annotated[
        bool,
        typer.Option("--allow-unverified", help="Exit with 0 also if nothing shows that some runs worked."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for traces and results.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Run a task once for each row of a file, several in parallel, and keep a trace of each run.

    [bold]periplus collect create_agent --inputs names.csv --workers 4 -i email=... -i password=...[/]
    [bold]periplus synthesize out/collect-*/runs --name "Create agents"[/]

    The first line of a CSV names the inputs. Each run has its own browser context. If a worker dies,
    another worker resumes its run from the journal; no step is repeated.

    [bold]periplus collect --resume out/collect-...[/]

    Finished rows are not run again. Values given with -i are not stored: give them again.

    The output folder contains runs/ROW/session (the traces), results.jsonl and collection.json.

    Exit codes: 0 all runs succeeded, 1 a run failed, 2 an error to correct, 5 a run is unverified,
    130 interrupted.
    """
    console = Console(stderr=as_json)
    selection = parse_workers(workers)
    from periplus.fleet.fleet_setup import choose_store_addresses  # noqa: PLC0415
    from periplus.fleet.run_collection import RunCollectionSettings  # noqa: PLC0415 - slow import

    store_addresses = choose_store_addresses(selection, mongodb_url, arangodb_url)
    values = parse_inputs(shared or [])
    if resume is not None:
        if task is not None or inputs is not None or out is not None:
            raise UserError(
                "--resume takes task, file and folder from the interrupted collection",
                fix="leave out TASK, --inputs and --out: periplus collect --resume DIR",
            )
        folder = resume
    else:
        folder = out or Path("out") / f"collect-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    settings = RunCollectionSettings(store_addresses, folder, values)
    collection, rows = _read_collection(task, inputs, website, base_url, resume, settings)
    results, stopped = asyncio.run(_run_collection(collection, rows, selection, settings, console))
    _print_collection(collection, results, folder, console, as_json=as_json)
    if stopped:
        console.print(
            f"[yellow]interrupted[/]; resume with: periplus collect --resume {escape(str(folder))}",
            soft_wrap=True,
        )
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not all(each.succeeded for each in results):
        raise typer.Exit(ExitCode.FAILED)
    if any(each.unverified for each in results) and not allow_unverified:
        raise typer.Exit(ExitCode.UNVERIFIED)


def _read_collection(
    task: str | None,
    inputs: Path | None,
    website: str | None,
    base_url: str | None,
    resume: Path | None,
    settings: RunCollectionSettings,
) -> tuple[RunCollection, list[InputRow]]:
    """Return the collection and its rows. Raises `UserError` before any run starts."""
    from periplus.fleet.input_rows import read_input_rows  # noqa: PLC0415
    from periplus.fleet.run_collection import (  # noqa: PLC0415 - slow import
        RunCollection,
        begin_collection,
        find_collection,
        find_website,
        hash_file,
    )
    from periplus.output_folder import prepare_output_folder  # noqa: PLC0415

    budget = choose_import_budget(None, None)
    if resume is not None:
        found = find_collection(resume)
        file = Path(found.inputs)
        return found, read_foreign(file, budget, read_input_rows, file)
    if task is None or inputs is None:
        raise UserError(
            "task or file is missing", fix="periplus collect TASK --inputs FILE.csv (or --resume DIR)"
        )
    rows = read_foreign(inputs, budget, read_input_rows, inputs)
    website_id = asyncio.run(find_website(settings.store_addresses, website))
    collection = RunCollection(
        task_id=task,
        website_id=website_id,
        inputs=str(inputs.absolute()),
        inputs_sha256=hash_file(inputs),
        base_url=base_url,
    )
    begin_collection(collection, prepare_output_folder(settings.folder))
    return collection, rows


async def _run_collection(
    collection: RunCollection,
    rows: list[InputRow],
    selection: WorkerSelection,
    settings: RunCollectionSettings,
    console: Console,
) -> tuple[list[CollectedRun], bool]:
    """Run all rows; return the results and whether the collection was interrupted.

    The first Ctrl-C stops each run after its current step; a second one cancels at once.
    """
    from periplus.fleet.collection_view import CollectionView  # noqa: PLC0415
    from periplus.fleet.fleet_setup import open_fleet  # noqa: PLC0415
    from periplus.fleet.run_collection import collect_runs as collect_all  # noqa: PLC0415
    from periplus.signals import on_signals  # noqa: PLC0415

    stopping: list[asyncio.Task[None]] = []
    async with open_fleet(selection) as fleet:
        with CollectionView(console, len(rows)) as view:
            work = asyncio.create_task(
                collect_all(collection, rows, fleet, settings, tell=view.ended, heard=view.heard)
            )

            def interrupted() -> None:
                if stopping:
                    work.cancel()
                stopping.append(asyncio.create_task(fleet.stop("interrupted")))

            with on_signals(interrupted, signal.SIGINT, signal.SIGTERM):
                results = await work
    await asyncio.gather(*stopping)
    return results, bool(stopping)


def _print_collection(
    collection: RunCollection, results: list[CollectedRun], folder: Path, console: Console, *, as_json: bool
) -> None:
    done = sum(each.succeeded for each in results)
    if as_json:
        output: Mapping[str, object] = {
            "collection": collection.collection_id,
            "done": done,
            "rows": [each.model_dump(mode="json") for each in results],
            "out": str(folder.absolute()),
        }
        typer.echo(json.dumps(output, indent=2, ensure_ascii=False))
        return
    style = "green" if done == len(results) else "yellow"
    console.print(f"[{style}]{done} of {len(results)} done[/]  {escape(str(folder))}", soft_wrap=True)
    unverified = sum(each.unverified for each in results)
    if unverified:
        console.print(
            f"  [yellow]{unverified} unverified[/]: nothing in the application shows that they worked",
            highlight=False,
        )
