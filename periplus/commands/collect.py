"""`periplus collect`: run a task, a workflow or an agent several times and keep a trace of each run."""

from __future__ import annotations

import asyncio
import json
import signal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agent.synthesis.pipeline_config import SynthesisStrategy
from periplus.commands.command_options import BaseUrl, WebsiteId, choose_import_budget, parse_inputs
from periplus.commands.synthesis_options import (
    Judge,
    MinScore,
    MinTraces,
    Model,
    NoValidate,
    Prompts,
    Rules,
    Strategy,
    ValidateRuns,
    choose_judgement,
    choose_validation_runs,
)
from periplus.commands.synthesis_output import WorkflowRequest, make_workflow
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.fleet.workers_option import WorkersOption, parse_workers
from periplus.foreign_input import read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl
from periplus.synthesis.workflow_synthesis import BY_RULES, SynthesisJudgement, read_traces
from periplus.terminal.command_console import CommandConsole
from periplus.terminal.live_view import QueuedPrompts, find_terminal_prompts

if TYPE_CHECKING:
    from kb_schema.execution_traces import ExecutionTrace
    from periplus.fleet.input_rows import InputRow
    from periplus.fleet.run_collection import CollectedRun, RunCollection, RunCollectionSettings
    from periplus.fleet.workers_option import WorkerSelection


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def collect(
    task: Annotated[
        str | None,
        typer.Argument(
            help="The id of a task or a workflow; with --agent, the task in words.", show_default=False
        ),
    ] = None,
    *,
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs",
            metavar="FILE",
            help="A .csv, .tsv or .jsonl file with one row per run; default: inputs are made.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            metavar="N",
            min=1,
            max=1_000,
            help="Runs with made inputs; default: 5.",
            show_default=False,
        ),
    ] = None,
    make: Annotated[
        list[str] | None,
        typer.Option(
            "--make",
            metavar="NAME=KIND",
            help="What to make for an input: a kind (name, email, phone, date, ...) or values, ONE|OTHER. May be"
            " repeated.",
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(help="Makes the same inputs again; default: others each time.", show_default=False),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="An agent in place of a task: an async function that takes the task in words and the inputs, and"
            " returns a session folder or a trace.",
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
    synthesize: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Make a workflow of this name of the traces.", show_default=False),
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="With --synthesize: add the workflow to the knowledge base.")
    ] = False,
    validate: ValidateRuns = None,
    no_validate: NoValidate = False,
    strategy: Strategy = SynthesisStrategy.RULE_BASED,
    judge: Judge = False,
    rule: Rules = None,
    min_score: MinScore = 0.5,
    model: Model = None,
    prompts: Prompts = None,
    min_traces: MinTraces = 1,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Run a task several times, in parallel, and keep a trace of each run.

    [bold]periplus collect create_agent --inputs names.csv --workers 4 -i email=... -i password=...[/]
    [bold]periplus collect create_agent --runs 5 --make language="Hindi|Spanish" --synthesize "Create agents"[/]
    [bold]periplus collect "Add an agent" --agent my_agents:add --make "member=name"[/]

    Without --inputs, the inputs that the task requires are made, by their type, name and field; each run has others.
    Secrets are not made: give them with -i, or have them in a vault. In a terminal, with --workers N, missing inputs and
    waits for a person are asked. The traces are made into a workflow with --synthesize, with the options of `synthesize`.

    The first line of a CSV names the inputs. Each run has its own browser context. If a worker dies,
    another worker resumes its run from the journal; no step is repeated.

    [bold]periplus collect --resume out/collect-...[/]

    Finished rows are not run again. Values given with -i are not stored: give them again.

    The output folder contains runs/ROW/session (the traces), results.jsonl and collection.json.

    Exit codes: 0 all runs succeeded, 1 a run failed, 2 an error to correct, 5 a run is unverified,
    130 interrupted.
    """
    console = CommandConsole(stderr=as_json)
    selection = parse_workers(workers)
    from periplus.fleet.fleet_setup import choose_store_addresses  # noqa: PLC0415
    from periplus.fleet.run_collection import RunCollectionSettings  # noqa: PLC0415 - slow import

    choose_validation_runs(validate, no_validate=no_validate)
    judgement = choose_judgement(
        strategy,
        judge=judge,
        rules=rule,
        min_score=min_score,
        model=model,
        prompts=prompts,
        min_traces=min_traces,
    )
    _check_options(inputs, runs, make, seed, resume, synthesize, publish=publish, as_json=as_json)
    _check_judgement(judgement, synthesize, validated=validate is not None or no_validate)
    values = parse_inputs(shared or [])
    if resume is not None:
        if task is not None or inputs is not None or out is not None or agent is not None:
            raise UserError(
                "--resume takes task, file and folder from the interrupted collection",
                fix="leave out TASK, --inputs, --agent and --out: periplus collect --resume DIR",
            )
        folder = resume
    else:
        folder = out or Path("out") / f"collect-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    made = _MadeInputs(runs, tuple(make or ()), seed)
    if agent is not None:
        failed, unverified = _collect_from_agent(agent, task, inputs, made, values, folder, console), False
        stopped = False
    else:
        store_addresses = choose_store_addresses(selection, mongodb_url, arangodb_url)
        settings = RunCollectionSettings(store_addresses, folder, values)
        collection, rows = _read_collection(task, inputs, made, website, base_url, resume, settings)
        results, stopped = asyncio.run(_run_collection(collection, rows, selection, settings, console))
        _print_collection(collection, results, folder, console, as_json=as_json)
        failed = not all(each.succeeded for each in results)
        unverified = any(each.unverified for each in results)
    if stopped:
        console.print(
            f"[yellow]interrupted[/]; resume with: periplus collect --resume {escape(str(folder))}",
            soft_wrap=True,
        )
        raise typer.Exit(ExitCode.INTERRUPTED)
    if synthesize is not None:
        request = WorkflowRequest(
            name=synthesize,
            task=task or "" if agent is not None else "",
            judgement=judgement,
            validate=choose_validation_runs(validate, no_validate=no_validate),
            publish=publish,
            given=values,
            website=website,
            base_url=base_url,
            out=folder / "workflow",
            mongodb_url=mongodb_url,
            arangodb_url=arangodb_url,
        )
        failed = make_workflow(console, read_traces([folder / "runs"]), request).failed or failed
    if failed:
        raise typer.Exit(ExitCode.FAILED)
    if unverified and not allow_unverified:
        raise typer.Exit(ExitCode.UNVERIFIED)


@dataclass(frozen=True, slots=True)
class _MadeInputs:
    """How inputs are made, if no file has them."""

    runs: int | None
    make: tuple[str, ...]
    seed: str | None


def _check_options(
    inputs: Path | None,
    runs: int | None,
    make: list[str] | None,
    seed: str | None,
    resume: Path | None,
    synthesize: str | None,
    *,
    publish: bool,
    as_json: bool,
) -> None:
    """Raise `UserError` for options that contradict each other."""
    if (inputs is not None or resume is not None) and (runs is not None or make or seed is not None):
        raise UserError(
            "--runs, --make and --seed make inputs, and --inputs or --resume has them already",
            fix="leave out one or the other",
        )
    if publish and synthesize is None:
        raise UserError("--publish needs a workflow", fix='add --synthesize "NAME"')
    if synthesize is not None and as_json:
        raise UserError(
            "--json prints the collection only", fix="synthesize the traces with `periplus synthesize`"
        )


def _check_judgement(judgement: SynthesisJudgement, synthesize: str | None, *, validated: bool) -> None:
    """Raise `UserError` for options of a workflow that is not made, or that need a model which is missing."""
    if synthesize is None and (validated or judgement != BY_RULES):
        raise UserError(
            "the options for how a workflow is made and validated need a workflow",
            fix='add --synthesize "NAME"',
        )
    judgement.inferencer()


def _collect_from_agent(
    reference: str,
    task: str | None,
    inputs: Path | None,
    made: _MadeInputs,
    values: Mapping[str, str],
    folder: Path,
    console: Console,
) -> bool:
    """Run an agent once for each row; return whether a run failed. Raises `UserError` before the first run."""
    from periplus.fleet.agent_collection import collect_agent_traces, load_agent  # noqa: PLC0415
    from periplus.fleet.input_rows import read_input_rows  # noqa: PLC0415
    from periplus.fleet.made_inputs import USUAL_RUNS, make_input_rows, parse_kinds  # noqa: PLC0415
    from periplus.output_folder import prepare_output_folder  # noqa: PLC0415

    if not task:
        raise UserError("the task is missing", fix=f'periplus collect "what to do" --agent {reference}')
    agent = load_agent(reference)
    if inputs is not None:
        rows = read_foreign(inputs, choose_import_budget(None, None), read_input_rows, inputs)
    else:
        seed = made.seed or uuid.uuid4().hex
        rows = make_input_rows(parse_kinds(made.make), made.runs or USUAL_RUNS, seed)
    if (folder / "runs").exists():
        raise UserError(f"{folder} already contains a collection", fix="name another folder with --out")
    prepare_output_folder(folder)

    def tell(number: int, trace: ExecutionTrace) -> None:
        said = f"done, {len(trace.steps)} steps" if trace.success else f"failed: {trace.error}"
        console.print(f"row {number}: {said}", markup=False, highlight=False, soft_wrap=True)

    traces = asyncio.run(collect_agent_traces(agent, task, rows, values, folder / "runs", tell))
    done = sum(each.success for each in traces)
    console.print(f"{done} of {len(traces)} done  {escape(str(folder))}", soft_wrap=True, highlight=False)
    return done < len(traces)


def _read_collection(
    task: str | None,
    inputs: Path | None,
    made: _MadeInputs,
    website: str | None,
    base_url: str | None,
    resume: Path | None,
    settings: RunCollectionSettings,
) -> tuple[RunCollection, list[InputRow]]:
    """Return the collection and its rows. Raises `UserError` before any run starts."""
    from periplus.fleet.input_rows import read_input_rows  # noqa: PLC0415
    from periplus.fleet.made_inputs import write_input_rows  # noqa: PLC0415
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
    if task is None:
        raise UserError("the task is missing", fix="periplus collect TASK (or --resume DIR)")
    if inputs is not None:
        rows = read_foreign(inputs, budget, read_input_rows, inputs)
        website_id = asyncio.run(find_website(settings.store_addresses, website, task))
        prepare_output_folder(settings.folder)
    else:
        website_id, rows = asyncio.run(_make_rows(task, made, website, settings))
        inputs = write_input_rows(rows, prepare_output_folder(settings.folder))
    collection = RunCollection(
        task_id=task,
        website_id=website_id,
        inputs=str(inputs.absolute()),
        inputs_sha256=hash_file(inputs),
        base_url=base_url,
    )
    begin_collection(collection, settings.folder)
    return collection, rows


async def _make_rows(
    task: str, made: _MadeInputs, website: str | None, settings: RunCollectionSettings
) -> tuple[str, list[InputRow]]:
    """Return the website and the made inputs of each run. Raises `UserError`."""
    from kb_store import open_stores, read_knowledge  # noqa: PLC0415 - slow import
    from periplus.fleet.made_inputs import (  # noqa: PLC0415
        USUAL_RUNS,
        choose_kinds,
        make_input_rows,
        parse_kinds,
    )
    from periplus.website_selection import list_websites, select_website  # noqa: PLC0415

    wanted, addresses = parse_kinds(made.make), settings.store_addresses
    opening = open_stores(
        Path(addresses.data_dir), mongodb_url=addresses.mongodb_url, arangodb_url=addresses.arangodb_url
    )
    async with opening as stores:
        website_id = select_website(website, await list_websites(stores))
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    kinds = choose_kinds(knowledge, task, settings.values.keys(), wanted)
    return website_id, make_input_rows(kinds, made.runs or USUAL_RUNS, made.seed or uuid.uuid4().hex)


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
    from periplus.fleet.local_fleet import LocalFleet  # noqa: PLC0415
    from periplus.fleet.run_collection import collect_runs as collect_all  # noqa: PLC0415
    from periplus.signals import on_signals  # noqa: PLC0415

    stopping: list[asyncio.Task[None]] = []
    async with open_fleet(selection) as fleet:
        with CollectionView(console, len(rows)) as view:
            asker = find_terminal_prompts(view)
            if asker is not None and isinstance(fleet, LocalFleet):
                fleet.home.asker = QueuedPrompts(asker)
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
