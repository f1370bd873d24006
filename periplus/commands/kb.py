"""`periplus kb`: load, validate and compare knowledge bases; the other `kb` commands are added here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.tree import Tree

from kb_schema import MODELS, KnowledgeBase, KnowledgeError, Problem
from kb_schema.documents import did_you_mean
from kb_schema.json_schemas import json_schema
from kb_store import (
    LoadProgress,
    LoadReport,
    NoSuchWebsite,
    Stores,
    load_knowledge,
    read_knowledge,
)
from kb_store.proposals.accepted_changes import AcceptedChangesCheck
from loaders import read_knowledge_folder
from loaders.diffs.diff_markdown import to_markdown
from loaders.diffs.diff_summary import DiffEntry, DiffSummary, summarise_diff, to_plain_text
from loaders.diffs.knowledge_diff import ValueChange, diff_knowledge
from loaders.markup_escapes import one_line
from periplus.commands import (
    kb_check,
    kb_edit,
    kb_export,
    kb_import,
    kb_migrate,
    kb_proposals,
    kb_signature,
    kb_status,
    kb_stores,
)
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.commands.command_output import format_change, format_count, print_json
from periplus.errors import UserError, print_problems
from periplus.exit_codes import ExitCode
from periplus.folder_loads import ChangedFolder, FolderLoad
from periplus.foreign_input import ImportBudget, read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl, get_store_places, open_selected_stores
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(
    help="Validate, load, export and compare knowledge bases.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="A folder with [bold]website.yaml[/] and [bold]screens/[/], [bold]tasks/[/], ...",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

"""The exit code of `diff --exit-code` if there are differences, as in git."""
LONGEST_WORDS = 300
"""Maximum number of characters of one difference."""


class DiffForm(StrEnum):
    """The output formats of `kb diff`."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


StoresContext = AbstractAsyncContextManager[Stores]

out = CommandConsole()
err = CommandConsole(stderr=True)

app.command()(kb_stores.init)
app.command()(kb_status.status)
app.command()(kb_stores.copy)
app.command()(kb_migrate.migrate)
app.command()(kb_check.check)
app.command()(kb_export.export)
app.command("import")(kb_import.import_)
app.command()(kb_edit.rename)
app.command()(kb_edit.merge)
app.command()(kb_edit.split)
app.command()(kb_signature.signature)
app.add_typer(kb_proposals.app, name="proposals")


@app.command()
def load(
    folder: Folder,
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
        knowledge, warnings = read_foreign(folder, budget, read_knowledge_folder, folder)
        opening = open_selected_stores(mongodb_url, arangodb_url)
        report = asyncio.run(
            _load(loading, knowledge, warnings, opening, quiet=as_json, replace_learned=replace_learned)
        )
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


@app.command()
def validate(
    folder: Folder,
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


@app.command()
def schema(
    kind: Annotated[str | None, typer.Argument(help="The kind of document; default: all.")] = None,
    *,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write one file per kind.")
    ] = None,
) -> None:
    """Print the JSON Schema of documents, for editors and other tools.

    Example: [cyan]periplus kb schema screen[/]
    """
    if kind is not None and kind not in MODELS:
        fix = did_you_mean(kind, MODELS) or f"one of {', '.join(MODELS)}"
        raise UserError(f"unknown kind of document {kind!r}", fix=fix)
    schemas = {name: json_schema(name) for name in ([kind] if kind else MODELS)}
    if folder is None:
        print_json(out, schemas[kind] if kind else schemas)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in schemas.items():
            text = json.dumps(content, indent=2, ensure_ascii=False)
            (folder / f"{name}.schema.json").write_text(f"{text}\n", encoding="utf-8")
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="name another folder"
        ) from exc
    out.print(f"[green]wrote[/] {len(schemas)} schemas to {escape(str(folder))}", highlight=False)


@app.command("diff")
def diff_(
    folder: Folder,
    *,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Compare with this folder instead of the store.", show_default=False
        ),
    ] = None,
    form: Annotated[
        DiffForm, typer.Option("--format", help="[bold]markdown[/]: for a pull request.", show_default=True)
    ] = DiffForm.TEXT,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with code 1 if there are differences.")
    ] = False,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the differences between a folder and the store, or another folder.

    Example: [cyan]periplus kb diff seeds/spadeworks/kb[/]

    Each difference is described in a sentence, followed by the changed values. The exit code is 0;
    with --exit-code it is 1 if there are differences.
    """
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    new, _ = read_foreign(folder, budget, read_knowledge_folder, folder)
    website_id = new.website.website_id
    old = _load_compared_knowledge(website_id, against, budget, mongodb_url, arangodb_url)
    found = diff_knowledge(old, new)
    words = summarise_diff(found, old, new)
    if as_json or form is DiffForm.JSON:
        print_json(out, _diff_json(website_id, words))
    elif form is DiffForm.MARKDOWN:
        typer.echo(to_markdown(words, website_id), nl=False)
    elif not found:
        whose = "the store" if against is None else str(against)
        out.print(
            f"[green]no difference[/]: {escape(whose)} has the same knowledge of [bold]{escape(website_id)}[/]",
            soft_wrap=True,
        )
    else:
        out.print(_diff_tree(website_id, words, new_website=old is None), highlight=False)
    if exit_code and found:
        raise typer.Exit(ExitCode.FAILED)


def _load_compared_knowledge(
    website_id: str,
    against: Path | None,
    budget: ImportBudget,
    mongodb_url: str | None,
    arangodb_url: str | None,
) -> KnowledgeBase | None:
    """Return the knowledge to compare with; None if there is none yet."""
    if against is not None:
        return read_foreign(against, budget, read_knowledge_folder, against)[0]
    try:
        return asyncio.run(_read(website_id, open_selected_stores(mongodb_url, arangodb_url)))[0]
    except NoSuchWebsite:
        return None


# -- the stores ----------------------------------------------------------------------------------


async def _load_changes(
    loading: FolderLoad, changed: ChangedFolder, opening: StoresContext
) -> LoadReport | None:
    async with opening as stores:
        return await loading.load(stores, changed)


async def _load(
    loading: FolderLoad,
    knowledge: KnowledgeBase,
    warnings: tuple[Problem, ...],
    opening: StoresContext,
    *,
    quiet: bool,
    replace_learned: bool,
) -> LoadReport:
    async with opening as stores:
        keeping = AcceptedChangesCheck(stores.proposals, knowledge, replace=replace_learned)
        with _progress(quiet=quiet) as on_progress:
            report = await load_knowledge(
                stores.documents, stores.graph, knowledge, on_progress=on_progress, check=keeping
            )
        await keeping.conclude()
        await loading.record_whole(stores, report, knowledge, warnings)
        return report


async def _read(website_id: str, opening: StoresContext) -> tuple[KnowledgeBase, int]:
    async with opening as stores:
        return await read_knowledge(stores.documents, stores.graph, website_id)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Any]:
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


# -- output --------------------------------------------------------------------------------------


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


def _diff_json(website_id: str, words: DiffSummary) -> dict[str, Any]:
    return {
        "website_id": website_id,
        "headline": to_plain_text(words.headline),
        "entries": [
            {
                "change": told.what,
                "kind": told.kind,
                "id": told.local_id,
                "words": to_plain_text(told.words),
                **({"changes": [_change_json(each) for each in told.changes]} if told.changes else {}),
            }
            for told in words.entries
        ],
    }


def _change_json(change: ValueChange) -> dict[str, Any]:
    return {"path": change.path, "before": change.before, "after": change.after}


_MARKS = {"added": ("green", "+"), "removed": ("red", "-"), "changed": ("yellow", "~")}


def _diff_tree(website_id: str, words: DiffSummary, *, new_website: bool) -> Tree:
    state = " (not in the store yet)" if new_website else ""
    tree = Tree(f"[bold]{escape(website_id)}[/]{state}: {escape(to_plain_text(words.headline, one_line))}")
    kinds: dict[str, list[DiffEntry]] = {}
    for told in words.entries:
        kinds.setdefault(told.kind, []).append(told)
    for kind, entries in kinds.items():
        branch = tree.add(f"{kind} ({len(entries)})")
        for told in entries:
            colour, mark = _MARKS[told.what]
            said = one_line(to_plain_text(told.words, one_line), LONGEST_WORDS)
            same = said == told.local_id
            leaf = branch.add(
                f"[{colour}]{mark} {escape(told.local_id)}[/]{'' if same else f'  {escape(said)}'}"
            )
            for change in told.changes:
                leaf.add(format_change(change))
    return tree
