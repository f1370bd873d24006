"""`periplus kb`: knowledge bases as files in version control <-> the stores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.tree import Tree

from kb_schema import MODELS, KnowledgeBase, KnowledgeError, Problem
from kb_schema.documents import did_you_mean
from kb_schema.export import json_schema
from kb_store import (
    LoadProgress,
    LoadReport,
    NoSuchWebsite,
    Stores,
    load_knowledge,
    read_knowledge,
)
from kb_store.changing import Keeping
from loaders import diff, read_knowledge_folder
from loaders.diff import Change
from loaders.diff_markdown import to_markdown
from loaders.diff_words import DiffWords, Told, in_words, plain
from loaders.escaping import one_line
from periplus.commands import kb_check, kb_export, kb_import, kb_migrate, kb_proposals, kb_status, kb_stores
from periplus.commands.changes import change_line, print_tree
from periplus.commands.wording import counted, print_json
from periplus.errors import EXIT_USER, UserError, print_problems
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen

app = typer.Typer(
    help="Knowledge bases: check, load, export and compare them.",
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
AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]

EXIT_DIFFERENT = 1
"""Of `diff --exit-code`, as git's."""
LONGEST_WORDS = 300
"""Characters of one difference in words."""


class DiffForm(StrEnum):
    """How a diff is shown."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


Opening = AbstractAsyncContextManager[Stores]

out = Console()
err = Console(stderr=True)

app.command()(kb_stores.init)
app.command()(kb_status.status)
app.command()(kb_stores.copy)
app.command()(kb_migrate.migrate)
app.command()(kb_check.check)
app.command()(kb_export.export)
app.command("import")(kb_import.import_)
app.add_typer(kb_proposals.app, name="proposals")


@app.command()
def load(
    folder: Folder,
    *,
    replace_learned: Annotated[
        bool,
        typer.Option(
            "--replace-learned", help="Give up accepted proposals and published workflows it lacks."
        ),
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check a folder of knowledge and load it into the store, all at once or not at all.

    Example: [cyan]periplus kb load seeds/spadeworks/kb[/]

    Whoever reads meanwhile sees the old knowledge until the new is complete.
    Wrong knowledge is refused with every problem in it, and changes nothing.
    So is knowledge without what was accepted or published since the last load.
    """
    knowledge, warnings = read_knowledge_folder(folder)
    opening = open_chosen(mongodb_url, arangodb_url)
    report = asyncio.run(_load(knowledge, opening, quiet=as_json, replace_learned=replace_learned))
    if as_json:
        print_json(out, {"loaded": _report_json(report), "warnings": [_problem_json(w) for w in warnings]})
        return
    _tell_warnings(warnings)
    what = ", ".join(counted(number, kind) for kind, number in report.counts.items())
    instead = "" if report.replaced is None else f" (in place of {report.replaced})"
    out.print(
        f"[green]loaded[/] [bold]{escape(report.website_id)}[/], generation {report.generation}{instead}: {what}",
        soft_wrap=True,
        highlight=False,
    )


@app.command()
def validate(folder: Folder, *, as_json: AsJson = False) -> None:
    """Check a folder of knowledge without loading it.

    Example: [cyan]periplus kb validate seeds/spadeworks/kb[/]

    Checked are the files, every document, every name that refers to another,
    and the rules: task steps are linear, every variable is provided,
    similar screens can be told apart.
    """
    try:
        knowledge, warnings = read_knowledge_folder(folder)
    except KnowledgeError as exc:
        if not as_json:
            raise
        print_json(out, {"valid": False, "problems": [_problem_json(problem) for problem in exc.problems]})
        raise typer.Exit(EXIT_USER) from exc
    if as_json:
        counts = {kind: len(documents) for kind, documents in knowledge.by_kind.items()}
        print_json(
            out, {"valid": True, "documents": counts, "warnings": [_problem_json(w) for w in warnings]}
        )
        return
    _tell_warnings(warnings)
    total = sum(len(documents) for documents in knowledge.by_kind.values())
    out.print(f"[green]valid[/]: {total} documents of [bold]{escape(knowledge.website.website_id)}[/]")


@app.command()
def schema(
    kind: Annotated[str | None, typer.Argument(help="Of which kind; all where none is named.")] = None,
    *,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write one file per kind.")
    ] = None,
) -> None:
    """Show the JSON Schema of documents, for editors and other tools.

    Example: [cyan]periplus kb schema screen[/]
    """
    if kind is not None and kind not in MODELS:
        fix = did_you_mean(kind, MODELS) or f"one of {', '.join(MODELS)}"
        raise UserError(f"no kind of document {kind!r}", fix=fix)
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
        bool, typer.Option("--exit-code", help="End with 1 where there is a difference.")
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show what loading a folder would change in the store, or in another folder.

    Example: [cyan]periplus kb diff seeds/spadeworks/kb[/]

    In words first, then value by value. Exit code 0, or with --exit-code 1 where something differs.
    """
    new, _ = read_knowledge_folder(folder)
    website_id = new.website.website_id
    old = _known(website_id, against, mongodb_url, arangodb_url)
    found = diff(old, new)
    words = in_words(found, old, new)
    if as_json or form is DiffForm.JSON:
        print_json(out, _diff_json(website_id, words))
    elif form is DiffForm.MARKDOWN:
        typer.echo(to_markdown(words, website_id), nl=False)
    elif not found:
        whose = "the store" if against is None else str(against)
        out.print(
            f"[green]no difference[/]: {escape(whose)} has this knowledge of [bold]{escape(website_id)}[/]",
            soft_wrap=True,
        )
    else:
        print_tree(out, _diff_tree(website_id, words, new_website=old is None))
    if exit_code and found:
        raise typer.Exit(EXIT_DIFFERENT)


def _known(
    website_id: str, against: Path | None, mongodb_url: str | None, arangodb_url: str | None
) -> KnowledgeBase | None:
    """What a folder is compared with; None where there is nothing yet."""
    if against is not None:
        return read_knowledge_folder(against)[0]
    try:
        return asyncio.run(_read(website_id, open_chosen(mongodb_url, arangodb_url)))[0]
    except NoSuchWebsite:
        return None


# -- the stores ----------------------------------------------------------------------------------


async def _load(
    knowledge: KnowledgeBase, opening: Opening, *, quiet: bool, replace_learned: bool
) -> LoadReport:
    async with opening as stores:
        keeping = Keeping(stores.proposals, knowledge, replace=replace_learned)
        with _progress(quiet=quiet) as on_progress:
            report = await load_knowledge(
                stores.documents, stores.graph, knowledge, on_progress=on_progress, check=keeping
            )
        await keeping.conclude()
        return report


async def _read(website_id: str, opening: Opening) -> tuple[KnowledgeBase, int]:
    async with opening as stores:
        return await read_knowledge(stores.documents, stores.graph, website_id)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"),
               TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("loading", total=None)

        def on_progress(progress: LoadProgress) -> None:
            bar.update(
                task, description=progress.stage, completed=progress.written, total=progress.total or None
            )

        yield on_progress


# -- showing -------------------------------------------------------------------------------------


def _tell_warnings(warnings: tuple[Problem, ...]) -> None:
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
    }


def _diff_json(website_id: str, words: DiffWords) -> dict[str, Any]:
    return {
        "website_id": website_id,
        "headline": plain(words.headline),
        "entries": [
            {
                "change": told.what,
                "kind": told.kind,
                "id": told.local_id,
                "words": plain(told.words),
                **({"changes": [_change_json(each) for each in told.changes]} if told.changes else {}),
            }
            for told in words.told
        ],
    }


def _change_json(change: Change) -> dict[str, Any]:
    return {"path": change.path, "before": change.before, "after": change.after}


_MARKS = {"added": ("green", "+"), "removed": ("red", "-"), "changed": ("yellow", "~")}


def _diff_tree(website_id: str, words: DiffWords, *, new_website: bool) -> Tree:
    state = " (not in the store yet)" if new_website else ""
    tree = Tree(f"[bold]{escape(website_id)}[/]{state}: {escape(plain(words.headline, one_line))}")
    kinds: dict[str, list[Told]] = {}
    for told in words.told:
        kinds.setdefault(told.kind, []).append(told)
    for kind, entries in kinds.items():
        branch = tree.add(f"{kind} ({len(entries)})")
        for told in entries:
            colour, mark = _MARKS[told.what]
            said = one_line(plain(told.words, one_line), LONGEST_WORDS)
            same = said == told.local_id
            leaf = branch.add(
                f"[{colour}]{mark} {escape(told.local_id)}[/]{'' if same else f'  {escape(said)}'}"
            )
            for change in told.changes:
                leaf.add(change_line(change))
    return tree
