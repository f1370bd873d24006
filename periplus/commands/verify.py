"""`periplus verify`: requirements become verified tests and verdicts (PACTS)."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from periplus.commands.on_a_site import BaseUrl, Headed, read_inputs
from periplus.errors import EXIT_INTERRUPTED, UserError
from periplus.fleet.workers import WorkersOption, read_workers
from periplus.outputs import output_folder
from periplus.settings import load_settings

EXIT_FAILED = 1

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def verify(
    requirements: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files or folders: .xlsx .csv .tsv .json .feature .txt .md",
            show_default=False,
            metavar="FILES",
        ),
    ] = None,
    *,
    base_url: BaseUrl = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where requirements begin that do not say it themselves."),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Start the site of a seed, as `periplus demo NAME` does."),
    ] = None,
    website: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Under which name the site is remembered; else its host.", show_default=False
        ),
    ] = None,
    login: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="Sign in once per worker, by a task of the knowledge base or by the requirement of that id.",
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", "-i", metavar="NAME=VALUE", help="An input of the task that signs in; may be repeated."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="REQ", help="Only this requirement, or this tag; may be repeated."),
    ] = None,
    workers: WorkersOption = "2",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for reports, tests and pictures.", show_default=False),
    ] = None,
    headed: Headed = False,
    max_heal_rounds: Annotated[
        int | None,
        typer.Option(min=0, max=10, help="Rounds of healing for a step; 0: none.", show_default="3"),
    ] = None,
    tests: Annotated[bool, typer.Option("--tests/--no-tests", help="Write pytest-playwright tests.")] = True,
    run_tests: Annotated[
        bool,
        typer.Option("--run-tests", help="Run the written tests with pytest at the end, as a last proof."),
    ] = False,
    rediscover: Annotated[
        bool,
        typer.Option("--rediscover", help="Find every element anew, also where an earlier pass is known."),
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Carry on what was cut off: its id, or `last`.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="Who reads free prose, and explains root causes; else PERIPLUS_MODEL.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Verify requirements on a live site, and write the tests that prove them.

    [bold]periplus verify login.xlsx --base-url https://shop.example[/]
    [bold]periplus verify seeds/spadeworks/requirements/spadeworks.csv --seed spadeworks[/]

    Every element is found on the page before a test is written; what is not found is reported with what is
    there instead. Then each requirement is executed in a browser context of its own, healed where the
    page has moved, and judged: pass, fail or partial, with the root cause. A requirement that passed
    is executed by its known plan the next time, so that drift is told from defects.

    A step of a requirement, one a line, reads:

        [cyan]Username@LoginForm | fill | {secret:SHOP_USER} | field_populated[/]
        [cyan]Login@LoginForm | click | | navigates_to:Products[/]

    {secret:NAME} is read from the environment and written nowhere; {unique} is another word in every run.

    [bold]periplus verify --resume last[/]

    What was cut off (a crash, Ctrl-C) is carried on: what is finished is not done again.

    Leaves a folder: report.html (open it), junit.xml (for CI), verdict_REQ.json, and generated_tests/, which plain
    pytest runs: [cyan]pytest generated_tests[/].

    Exit code 0 all passed, 1 something did not, 2 something to put right, 130 interrupted.
    """
    console = Console(stderr=as_json)
    read_workers(workers)  # what is wrong with it is told first
    data_dir = load_settings().data_dir
    if resume is None and not requirements:
        raise UserError(
            "name files with requirements",
            fix="periplus verify FILES --base-url URL; `periplus verify --help` shows what they look like",
        )
    if resume is not None and requirements:
        raise UserError("--resume knows its files", fix="leave the files out: periplus verify --resume RUN")
    from periplus.verifying.batch import Batch, find_batch, keep_batch  # noqa: PLC0415 - takes its time to import

    if resume is not None:
        batch = find_batch(resume, data_dir)
    else:
        moment = datetime.now().astimezone()
        folder = out or Path("out") / f"verify-{moment:%Y%m%d-%H%M%S}"
        batch = Batch(
            files=tuple(str(each.absolute()) for each in requirements or ()), only=tuple(only or ()),
            out=str(folder.absolute()), base_url=base_url, url=url, website=website, seed=seed, login=login,
            workers=workers, headed=headed, max_heal_rounds=max_heal_rounds, tests=tests, run_tests=run_tests,
            rediscover=rediscover, model=model,
        )  # fmt: skip
    from periplus.verifying.work import Work, can_prove, fits_workers, read_wanted, tell, unplaced  # noqa: PLC0415 - as above

    if batch.run_tests:
        can_prove(tests=batch.tests)
    fits_workers(batch)
    wanted = read_wanted(batch, console)
    unplaced(batch, wanted)
    output_folder(Path(batch.out))
    keep_batch(batch, data_dir)
    result = asyncio.run(Work(batch, wanted, console, read_inputs(inputs or [])).done())
    tell(batch, result, console, as_json=as_json)
    if result.stopped is not None:
        raise typer.Exit(EXIT_INTERRUPTED)
    if not result.passed:
        raise typer.Exit(EXIT_FAILED)
