"""`periplus optimize`: a suite of pytest-playwright is run, its drifted locators patched, and run again (OL)."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from agent.optimizing.sources import MAX_PATCHES
from kb_schema.optimizing import ExecutionMode
from periplus.errors import UserError
from periplus.optimizing.running import OptimizeSettings, run_optimization
from periplus.optimizing.view import OptimizeView, tell_report
from periplus.outputs import output_folder

EXIT_RED = 1

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def optimize(
    tests: Annotated[
        list[str],
        typer.Argument(
            metavar="TESTS...",
            show_default=False,
            help="Files, folders or node ids, as pytest takes them; files of requirements for --mode pipeline.",
        ),
    ],
    *,
    mode: Annotated[
        ExecutionMode,
        typer.Option(
            help="[bold]cli[/]: run pytest. [bold]pipeline[/]: verify requirements. [bold]simulate[/]: run nothing,"
            " read what an earlier execution left in --out, propose only.",
        ),
    ] = "cli",
    max_attempts: Annotated[int, typer.Option(min=1, max=10, metavar="N", help="Rounds of patching.")] = 3,
    max_patches: Annotated[
        int, typer.Option(min=1, metavar="N", help="Patches of one file at most.")
    ] = MAX_PATCHES,
    fallback: Annotated[
        bool, typer.Option("--fallback", help="Keep the old locator behind the new one: `new.or_(old)`.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print a unified diff; write nothing.")] = False,
    commit: Annotated[
        bool, typer.Option("--commit", help="Commit the patched files, and only those, with git.")
    ] = False,
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="The interpreter that has the suite's pytest; else ours.", show_default=False
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where pytest is started; else where its configuration is.",
            show_default=False,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Given to pytest-playwright as --base-url.", show_default=False),
    ] = None,
    requirements: Annotated[
        list[Path] | None,
        typer.Option(
            "--requirements",
            metavar="FILE",
            help="Requirements, as [bold]periplus verify[/] reads them. Generated tests that no patch mends are"
            " verified and written anew from them; may be repeated.",
            show_default=False,
        ),
    ] = None,
    learn: Annotated[
        bool,
        typer.Option(
            "--learn/--no-learn", help="Remember elements of green tests, and which replacements were right."
        ),
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for report, records and backups.", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON and nothing else.")
    ] = False,
    pytest_arg: Annotated[
        list[str] | None,
        typer.Option("--pytest-arg", metavar="ARG", help="One more argument for pytest; may be repeated."),
    ] = None,
) -> None:
    """Mend a pytest-playwright suite whose locators have drifted.

    [bold]periplus optimize tests/e2e --dry-run[/]
    [bold]periplus optimize tests/e2e --base-url https://staging.example --python .venv/bin/python[/]

    The tests are run by their own pytest. Where a call of Playwright's fails, the test waits while the live page is
    looked at: is the element there under another name, did it come late, or is the application at fault?
    What is surely the same element gets another locator in the source, by syntax tree; then everything is run
    again without help, and only patches with which a red test became green stay.

    [cyan]- page.get_by_role("button", name="Save").click()[/]
    [cyan]+ # periplus: was page.get_by_role("button", name="Save"), same field and place, 2026-03-01[/]
    [cyan]+ page.get_by_role("button", name="Save agent").click()[/]

    Only locators and waits change: never an assertion, an expected value, or a step. A defect of the
    application stays red, and the report says so. The first time, run it while the suite is green: what every
    locator leads to is remembered, and drift is then judged much more surely.

    [bold]periplus optimize tests/e2e --requirements shop.xlsx[/]

    also verifies the requirements of generated tests that no patch mends, and writes those tests anew.

    [bold]periplus optimize tests/e2e --mode simulate --out out/optimize-1[/]

    reads what an earlier run left there and prints what it would change now, without running anything.

    Exit code 0 green, 1 something is still red, 2 something to put right.
    """
    console = Console(stderr=as_json)
    moment = datetime.now().astimezone()
    if mode == "simulate" and out is None:
        raise UserError("--mode simulate reads an earlier execution", fix="name its folder with --out")
    if mode != "cli" and requirements:
        raise UserError(
            f"--requirements has no meaning for --mode {mode}",
            fix="leave it out; in mode pipeline the arguments are the files of requirements",
        )
    folder = out or Path("out") / f"optimize-{moment:%Y%m%d-%H%M%S}"
    settings = OptimizeSettings(
        tests=tuple(tests), out=folder if mode == "simulate" else output_folder(folder), mode=mode, root=root,
        python=(python or Path(sys.executable)).absolute(), base_url=base_url, max_attempts=max_attempts,
        max_patches=max_patches, fallback=fallback, dry_run=dry_run or mode == "simulate", commit=commit,
        learn=learn, pytest_args=tuple(pytest_arg or ()),
        requirements=tuple(requirements or ()), replay=folder if mode == "simulate" else None,
    )  # fmt: skip
    report = asyncio.run(run_optimization(settings, tell=OptimizeView(console)))
    if as_json:
        typer.echo(report.model_dump_json(indent=2, by_alias=True))
    else:
        tell_report(console, report, folder=str(folder))
    if any(each.after != "passed" for each in report.tests):
        raise typer.Exit(EXIT_RED)
