"""`periplus kb export`: write a knowledge base as files, page objects, a map or a digest."""

from __future__ import annotations

import asyncio
import keyword
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent.verification.generation.ruff_format import format_source
from kb_schema import KnowledgeBase
from kb_store import read_knowledge
from loaders import TargetFolderOccupied, read_knowledge_folder, write_folder
from loaders.bridges.graph_diagrams import to_dot, to_graphml, to_mermaid
from loaders.bridges.knowledge_digest import Level, render_digest
from loaders.bridges.page_objects import WRITTEN_BY, build_page_objects
from loaders.bridges.webmcp_drafts import draft_webmcp
from loaders.markup_escapes import one_line
from periplus.commands.command_options import ImportMemory, ImportSeconds, StoredWebsite, choose_import_budget
from periplus.errors import UserError
from periplus.foreign_input import read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

MOST_LEFT_OUT = 10
"""Maximum number of omitted items that are listed."""

out = CommandConsole()


class ExportForm(StrEnum):
    """The output formats of `kb export`."""

    YAML = "yaml"
    PAGE_OBJECTS = "page-objects"
    MERMAID = "mermaid"
    GRAPHML = "graphml"
    DOT = "dot"
    LLMS = "llms"
    WEBMCP = "webmcp"


class DigestLevel(StrEnum):
    """How detailed a digest is."""

    BRIEF = "brief"
    WORKING = "working"
    FULL = "full"


def export(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The output folder; for maps and digests the output file.",
            show_default=False,
        ),
    ],
    *,
    website: StoredWebsite = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Read this knowledge base folder instead of the store.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[ExportForm, typer.Option("--format", help="The output format.")] = ExportForm.YAML,
    level: Annotated[
        DigestLevel, typer.Option("--level", help="For [bold]llms[/]: how much detail.")
    ] = DigestLevel.WORKING,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Write into a folder with other files (they are kept), or replace a file."
        ),
    ] = False,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Write a knowledge base as files for version control, or in a format for other tools.

    Example: [cyan]periplus kb export --website spadeworks kb/[/]

    [bold]yaml[/]: knowledge base files; they replace an earlier export. Loading them again changes nothing.
    [bold]page-objects[/]: a Python package for plain Playwright, with one module per screen.
    [bold]mermaid[/], [bold]dot[/], [bold]graphml[/]: a map of the screens. [bold]llms[/]: a digest for language models.
    [bold]webmcp[/]: HTML with a draft of WebMCP declarations for the forms of tasks, for the website's owner.
    """
    if website is not None and source is not None:
        raise UserError("--website and --folder cannot be combined", fix="give one of them")
    if source is not None:
        budget = choose_import_budget(max_import_memory, max_import_seconds)
        knowledge, _ = read_foreign(source, budget, read_knowledge_folder, source)
        of = f"from {source}"
    else:
        knowledge, generation = asyncio.run(_read(website, mongodb_url, arangodb_url))
        of = f"generation {generation}"
    try:
        written = _write_export(knowledge, target, form, level.value, force=force)
    except TargetFolderOccupied as exc:
        fix = "name an empty folder, or use --force; other files in the folder are kept"
        raise UserError(str(exc), fix=fix) from exc
    except OSError as exc:
        raise UserError(
            f"{target} cannot be written: {exc.strerror or exc}", fix="name another place"
        ) from exc
    out.print(
        f"[green]wrote[/] {written} of [bold]{escape(knowledge.website.website_id)}[/], {escape(of)}, "
        f"to {escape(str(target))}",
        soft_wrap=True,
        highlight=False,
    )


def _write_export(
    knowledge: KnowledgeBase, target: Path, form: ExportForm, level: Level, *, force: bool
) -> str:
    """Write the export; return a description such as `12 files`."""
    match form:
        case ExportForm.YAML:
            return f"{write_folder(knowledge, target, force=force)} files"
        case ExportForm.PAGE_OBJECTS:
            return _write_package(knowledge, target, force=force)
        case ExportForm.LLMS:
            return _write_file(target, render_digest(knowledge, level), "a digest", force=force)
        case ExportForm.WEBMCP:
            return _write_webmcp(knowledge, target, force=force)
    written = {ExportForm.MERMAID: to_mermaid, ExportForm.DOT: to_dot, ExportForm.GRAPHML: to_graphml}[form]
    return _write_file(target, written(knowledge), "a map", force=force)


def _write_file(target: Path, text: str, what: str, *, force: bool) -> str:
    if target.exists() and not force:
        raise UserError(f"{target} already exists", fix="name another file, or use --force to replace it")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return what


def _write_webmcp(knowledge: KnowledgeBase, target: Path, *, force: bool) -> str:
    draft = draft_webmcp(knowledge)
    if not draft.forms:
        raise UserError(
            "no task fills a form that a tool could be drafted from",
            fix="a task needs fields that are filled from its inputs, and a control that is pressed, on one screen",
        )
    told = _write_file(target, draft.html, f"drafts of {len(draft.forms)} tools", force=force)
    _print_left_out(draft.left_out)
    return told


def _write_package(knowledge: KnowledgeBase, target: Path, *, force: bool) -> str:
    package = target.resolve().name
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", package) or keyword.iskeyword(package):
        raise UserError(
            f"the folder name {package!r} is not a valid Python package name",
            fix="name a folder like `out/pages`",
        )
    if target.exists() and not target.is_dir():
        raise UserError(f"{target} is a file", fix="name a folder")
    made = build_page_objects(knowledge, package)
    before = _list_exported_modules(target)
    if not force and target.exists() and any(target.iterdir()) and not before:
        raise TargetFolderOccupied(target, "files that are not exported page objects")
    _write_all(made.files, target.resolve().parent)
    for name in before - {Path(each).name for each in made.files}:
        (target / name).unlink(missing_ok=True)  # its screen no longer exists
    _print_left_out(made.left_out)
    return f"{len(made.files)} modules of page objects"


def _list_exported_modules(folder: Path) -> set[str]:
    """Return the screen modules listed in the `__init__.py` of an earlier export; empty if it is no export."""
    try:
        source = (folder / "__init__.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return set()
    head = " ".join(source.partition("from .")[0].split())
    return (
        {f"{name}.py" for name in re.findall(r"^from \.(\w+) import", source, re.MULTILINE)}
        if WRITTEN_BY in head
        else set()
    )


def _write_all(files: Mapping[str, str], folder: Path) -> None:
    for name, source in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(format_source(source, file.name), encoding="utf-8")


def _print_left_out(left_out: Sequence[str]) -> None:
    for each in left_out[:MOST_LEFT_OUT]:
        out.print(f"  [dim]left out[/] {escape(one_line(each, 300))}", soft_wrap=True, highlight=False)
    if len(left_out) > MOST_LEFT_OUT:
        out.print(f"  [dim]and {len(left_out) - MOST_LEFT_OUT} more[/]", highlight=False)


async def _read(
    website: str | None, mongodb_url: str | None, arangodb_url: str | None
) -> tuple[KnowledgeBase, int]:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        known = await list_websites(stores)
        return await read_knowledge(stores.documents, stores.graph, select_website(website, known))
