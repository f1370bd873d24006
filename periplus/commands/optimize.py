"""`periplus optimize`: run a pytest-playwright suite, patch its drifted locators, and run it again (OL)."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from kb_schema.suite_optimization import MAX_PATCHES, ExecutionMode
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.output_folder import check_output_folder
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def optimize(
    tests: Annotated[
        list[str],
        typer.Argument(
            metavar="TESTS...",
            show_default=False,
            help="Files, folders or node ids for pytest; for --mode pipeline: requirement files.",
        ),
    ],
    *,
    mode: Annotated[
        ExecutionMode,
        typer.Option(
            help="[bold]cli[/]: run pytest. [bold]pipeline[/]: verify requirements. [bold]simulate[/]: run nothing,"
            " read the records of an earlier execution in --out and print the patches.",
        ),
    ] = "cli",
    max_attempts: Annotated[
        int, typer.Option(min=1, max=10, metavar="N", help="Maximum number of patch rounds.")
    ] = 3,
    max_patches: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of patches per file.")
    ] = MAX_PATCHES,
    fallback: Annotated[
        bool, typer.Option("--fallback", help="Keep the old locator as a fallback: `new.or_(old)`.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print a unified diff and write nothing.")
    ] = False,
    commit: Annotated[bool, typer.Option("--commit", help="Commit only the patched files with git.")] = False,
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The Python with the suite's pytest; default: the current one.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder to start pytest in; default: the folder of its configuration.",
            show_default=False,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Passed to pytest-playwright as --base-url.", show_default=False),
    ] = None,
    requirements: Annotated[
        list[Path] | None,
        typer.Option(
            "--requirements",
            metavar="FILE",
            help="A requirements file for [bold]periplus verify[/]. Generated tests that no patch fixes are"
            " verified and generated again from it; may be repeated.",
            show_default=False,
        ),
    ] = None,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    learn: Annotated[
        bool,
        typer.Option(
            "--learn/--no-learn",
            help="Store the elements of passing tests, and which replacements were correct.",
        ),
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for report, records and backups.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the report, as JSON.")] = False,
    pytest_arg: Annotated[
        list[str] | None,
        typer.Option("--pytest-arg", metavar="ARG", help="An argument for pytest; may be repeated."),
    ] = None,
) -> None:
    """Repair a pytest-playwright suite whose locators no longer match the site.

    [bold]periplus optimize tests/e2e --dry-run[/]
    [bold]periplus optimize tests/e2e --base-url https://staging.example --python .venv/bin/python[/]

    The tests run with their own pytest. When a Playwright call fails, the test pauses and the live page is
    checked: was the element renamed, was it late, or is it a defect of the application? If the same element
    is found, its locator is replaced in the source file. Then all tests run again without the check, and
    only patches that made a failing test pass are kept.

    [cyan]- page.get_by_role("button", name="Save").click()[/]
    [cyan]+ # periplus: was page.get_by_role("button", name="Save"), same field and place, 2026-03-01[/]
    [cyan]+ page.get_by_role("button", name="Save agent").click()[/]

    Only locators and waits change: never an assertion, an expected value or a step. Tests that fail because
    of a defect keep failing, and the report says so. Run the command first while all tests pass: it stores
    the element of every locator, which makes later repairs more reliable.

    [bold]periplus optimize tests/e2e --requirements shop.xlsx[/]

    also verifies the requirements of generated tests that no patch fixes, and generates those tests again.

    [bold]periplus optimize tests/e2e --mode simulate --out out/optimize-1[/]

    reads the records of an earlier execution and prints the patches it would make, without running tests.

    Exit codes: 0 all tests pass, 1 a test still fails, 2 an error to correct.
    """
    from periplus.optimization.optimization_run import OptimizeSettings, run_optimization  # noqa: PLC0415 - an optional extra
    from periplus.optimization.optimization_view import OptimizeView, print_optimization_report  # noqa: PLC0415

    console = CommandConsole(stderr=as_json)
    moment = datetime.now().astimezone()
    if mode == "simulate" and out is None:
        raise UserError("--mode simulate needs an earlier execution", fix="name its folder with --out")
    if mode != "cli" and requirements:
        raise UserError(
            f"--requirements cannot be used with --mode {mode}",
            fix="leave it out; with --mode pipeline, give the requirement files as arguments",
        )
    folder = out or Path("out") / f"optimize-{moment:%Y%m%d-%H%M%S}"
    settings = OptimizeSettings(
        tests=tuple(tests),
        out=folder if mode == "simulate" else check_output_folder(folder),
        mode=mode,
        root=root,
        python=(python or Path(sys.executable)).absolute(),
        base_url=base_url,
        max_attempts=max_attempts,
        max_patches=max_patches,
        fallback=fallback,
        dry_run=dry_run or mode == "simulate",
        commit=commit,
        learn=learn,
        pytest_args=tuple(pytest_arg or ()),
        requirements=tuple(requirements or ()),
        budget=choose_import_budget(max_import_memory, max_import_seconds),
        replay=folder if mode == "simulate" else None,
    )
    report = asyncio.run(run_optimization(settings, tell=OptimizeView(console)))
    if as_json:
        typer.echo(report.model_dump_json(indent=2, by_alias=True))
    else:
        print_optimization_report(console, report, folder=str(folder))
    if any(each.after != "passed" for each in report.tests):
        raise typer.Exit(ExitCode.FAILED)
