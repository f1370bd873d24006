"""`periplus kb load` and `kb validate`: read a knowledge folder, check it, and load it into the store.

Nothing of the other `kb` commands is imported: a load of one change takes little more than the start of the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Annotated, Any

import typer
from rich.markup import escape

from kb_schema import KnowledgeBase, KnowledgeError, Problem
from kb_store import LoadProgress, LoadReport, Stores, load_knowledge
from loaders import read_knowledge_folder
from loaders.files.folder_reader import read_with_digests
from periplus.commands.command_options import (
    ImportMemory,
    ImportSeconds,
    KnowledgeFolder,
    choose_import_budget,
)
from periplus.commands.command_output import AsJson, format_count, print_json
from periplus.errors import print_problems
from periplus.exit_codes import ExitCode
from periplus.folder_loads import ChangedFolder, FolderLoad
from periplus.foreign_input import read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl, get_store_places, open_selected_stores
from periplus.terminal.command_console import CommandConsole

out = CommandConsole()
err = CommandConsole(stderr=True)


def load(
    folder: KnowledgeFolder,
    *,
    replace_learned: Annotated[
        bool,
        typer.Option(
            "--replace-learned",
            help="Discard accepted proposals and published workflows that the folder does not contain.",
        ),
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Load every file, not only what changed since the last load.")
    ] = False,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Validate a knowledge base folder and load it into the store atomically.

    Example: [cyan]periplus kb load seeds/spadeworks/kb[/]

    Readers see the old generation until the new one is complete.
    An invalid folder is refused with a list of all problems; the store stays unchanged.
    A folder that lacks proposals accepted, or workflows published, since the last load is refused too.
    Of a large folder that was loaded before, only what changed is read and written if that can be checked alone.
    """
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    data_dir, addresses = get_store_places(mongodb_url, arangodb_url)
    loading = FolderLoad(folder, data_dir, addresses)
    changed = None if whole or replace_learned else loading.find_changes(budget)
    report: LoadReport | None = None
    warnings: tuple[Problem, ...] = ()
    if changed is not None:
        report = asyncio.run(_load_changes(loading, changed, open_selected_stores(mongodb_url, arangodb_url)))
        warnings = changed.record.warnings
    if report is None:
        knowledge, warnings, digests = read_foreign(folder, budget, read_with_digests, folder)
        opening = open_selected_stores(mongodb_url, arangodb_url)
        loaded = _load(
            loading, knowledge, warnings, digests, opening, quiet=as_json, replace_learned=replace_learned
        )
        report = asyncio.run(loaded)
    if as_json:
        print_json(out, {"loaded": _report_json(report), "warnings": [_problem_json(w) for w in warnings]})
        return
    _print_warnings(warnings)
    what = ", ".join(format_count(number, kind) for kind, number in report.counts.items())
    instead = "" if report.replaced is None else f" (in place of {report.replaced})"
    if report.changed is not None:
        what += f"; {format_count(report.changed, 'document')} changed"
    out.print(
        f"[green]loaded[/] [bold]{escape(report.website_id)}[/], generation {report.generation}{instead}: {what}",
        soft_wrap=True,
        highlight=False,
    )


def validate(
    folder: KnowledgeFolder,
    *,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    as_json: AsJson = False,
) -> None:
    """Validate a knowledge base folder without loading it.

    Example: [cyan]periplus kb validate seeds/spadeworks/kb[/]

    The command checks the files, every document, every reference, and the
    rules: task steps are linear, every variable is provided, and similar
    screens can be distinguished.
    """
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    try:
        knowledge, warnings = read_foreign(folder, budget, read_knowledge_folder, folder)
    except KnowledgeError as exc:
        if not as_json:
            raise
        print_json(out, {"valid": False, "problems": [_problem_json(problem) for problem in exc.problems]})
        raise typer.Exit(ExitCode.USER_ERROR) from exc
    if as_json:
        counts = {kind: len(documents) for kind, documents in knowledge.by_kind.items()}
        print_json(
            out, {"valid": True, "documents": counts, "warnings": [_problem_json(w) for w in warnings]}
        )
        return
    _print_warnings(warnings)
    total = sum(len(documents) for documents in knowledge.by_kind.values())
    out.print(f"[green]valid[/]: {total} documents of [bold]{escape(knowledge.website.website_id)}[/]")


async def _load_changes(
    loading: FolderLoad, changed: ChangedFolder, opening: AbstractAsyncContextManager[Stores]
) -> LoadReport | None:
    async with opening as stores:
        return await loading.load(stores, changed)


async def _load(
    loading: FolderLoad,
    knowledge: KnowledgeBase,
    warnings: tuple[Problem, ...],
    digests: Mapping[str, str],
    opening: AbstractAsyncContextManager[Stores],
    *,
    quiet: bool,
    replace_learned: bool,
) -> LoadReport:
    from kb_store.proposals.accepted_changes import AcceptedChangesCheck  # noqa: PLC0415 - decision 0140

    async with opening as stores:
        keeping = AcceptedChangesCheck(stores.proposals, knowledge, replace=replace_learned)
        with _progress(quiet=quiet) as on_progress:
            report = await load_knowledge(
                stores.documents, stores.graph, knowledge, on_progress=on_progress, check=keeping
            )
        await keeping.conclude()
        await loading.record_whole(stores, report, knowledge, warnings, digests)
        return report


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Any]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - decision 0140

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("loading", total=None)

        def on_progress(progress: LoadProgress) -> None:
            bar.update(
                task, description=progress.stage, completed=progress.written, total=progress.total or None
            )

        yield on_progress


def _print_warnings(warnings: tuple[Problem, ...]) -> None:
    if warnings:
        err.print(f"[yellow]{len(warnings)} warning{'' if len(warnings) == 1 else 's'}[/]")
        print_problems(err, warnings)


def _problem_json(problem: Problem) -> dict[str, Any]:
    return {
        "source": problem.source,
        "document": problem.document,
        "path": problem.path,
        "message": problem.message,
        "fix": problem.fix,
        "rule": problem.rule,
        "severity": problem.severity.value,
    }


def _report_json(report: LoadReport) -> dict[str, Any]:
    return {
        "website_id": report.website_id,
        "generation": report.generation,
        "replaced": report.replaced,
        "counts": dict(report.counts),
        "collected": list(report.collected),
        "changed": report.changed,
    }
