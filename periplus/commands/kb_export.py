"""`periplus kb export`: what is in the store as files, as page objects, as a map, or as a digest."""

from __future__ import annotations

import asyncio
import keyword
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agent.verifying.generating.formatting import formatted
from kb_schema import KnowledgeBase
from kb_store import read_knowledge
from loaders import FolderInTheWay, read_knowledge_folder, write_folder
from loaders.bridges.digest import Level, digest
from loaders.bridges.maps import to_dot, to_graphml, to_mermaid
from loaders.bridges.page_objects import WRITTEN_BY, PageObjects, page_objects
from loaders.escaping import one_line
from periplus.errors import UserError
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen

MOST_LEFT_OUT = 10
"""Things left out of an export that are told one by one."""

out = Console()


class ExportForm(StrEnum):
    """What the knowledge is written as."""

    YAML = "yaml"
    PAGE_OBJECTS = "page-objects"
    MERMAID = "mermaid"
    GRAPHML = "graphml"
    DOT = "dot"
    LLMS = "llms"


class DigestLevel(StrEnum):
    """How much a digest tells."""

    BRIEF = "brief"
    WORKING = "working"
    FULL = "full"


def export(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="Where to write: a folder, or a file for maps and digests.",
            show_default=False,
        ),
    ],
    *,
    website: Annotated[
        str | None,
        typer.Option("--website", "-w", metavar="ID", help="Which website to write.", show_default=False),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="A folder of knowledge instead of the store.", show_default=False
        ),
    ] = None,
    form: Annotated[ExportForm, typer.Option("--format", help="What to write.")] = ExportForm.YAML,
    level: Annotated[
        DigestLevel, typer.Option("--level", help="Of [bold]llms[/]: how much to tell.")
    ] = DigestLevel.WORKING,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write even where there are other things; those in a folder are kept."),
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Write what is in the store as files, ready for version control; or in a form that other tools read.

    Example: [cyan]periplus kb export --website spadeworks kb/[/]

    [bold]yaml[/]: an earlier export is replaced whole. Loading the files again changes nothing.
    [bold]page-objects[/]: a package for plain Playwright in Python, a module a screen.
    [bold]mermaid[/], [bold]dot[/], [bold]graphml[/]: the map of screens. [bold]llms[/]: a digest for language models.
    """
    if (website is None) == (source is None):
        raise UserError("say which knowledge: --website ID or --folder DIR, one of them")
    if source is not None:
        knowledge, of = read_knowledge_folder(source)[0], f"from {source}"
    else:
        knowledge, generation = asyncio.run(_read(str(website), mongodb_url, arangodb_url))
        of = f"generation {generation}"
    try:
        written = _written(knowledge, target, form, level.value, force=force)
    except FolderInTheWay as exc:
        fix = "name an empty folder, or use --force: what does not belong to the knowledge is kept"
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


def _written(knowledge: KnowledgeBase, target: Path, form: ExportForm, level: Level, *, force: bool) -> str:
    """Write it; returns what was written, in words."""
    match form:
        case ExportForm.YAML:
            return f"{write_folder(knowledge, target, force=force)} files"
        case ExportForm.PAGE_OBJECTS:
            return _write_package(knowledge, target, force=force)
        case ExportForm.LLMS:
            return _write_file(target, digest(knowledge, level), "a digest", force=force)
    written = {ExportForm.MERMAID: to_mermaid, ExportForm.DOT: to_dot, ExportForm.GRAPHML: to_graphml}[form]
    return _write_file(target, written(knowledge), "a map", force=force)


def _write_file(target: Path, text: str, what: str, *, force: bool) -> str:
    if target.exists() and not force:
        raise UserError(f"{target} is there already", fix="name another file, or use --force to replace it")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return what


def _write_package(knowledge: KnowledgeBase, target: Path, *, force: bool) -> str:
    package = target.resolve().name
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", package) or keyword.iskeyword(package):
        raise UserError(
            f"{package!r} is no name of a package in Python", fix="name a folder like `out/pages`"
        )
    if target.exists() and not target.is_dir():
        raise UserError(f"{target} is a file", fix="name a folder")
    made = page_objects(knowledge, package)
    before = _modules_of_ours(target)
    if not force and target.exists() and any(target.iterdir()) and not before:
        raise FolderInTheWay(target, "files that are no page objects of ours")
    _write_all(made.files, target.resolve().parent)
    for name in before - {Path(each).name for each in made.files}:
        (target / name).unlink(missing_ok=True)  # of a screen that there is no more
    _tell_left_out(made)
    return f"{len(made.files)} modules of page objects"


def _modules_of_ours(folder: Path) -> set[str]:
    """The screens' modules of an earlier export, by what its `__init__.py` says of itself; none where it is no export."""
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
        file.write_text(formatted(source, file.name), encoding="utf-8")


def _tell_left_out(made: PageObjects) -> None:
    for each in made.left_out[:MOST_LEFT_OUT]:
        out.print(f"  [dim]left out[/] {escape(one_line(each, 300))}", soft_wrap=True, highlight=False)
    if len(made.left_out) > MOST_LEFT_OUT:
        out.print(f"  [dim]and {len(made.left_out) - MOST_LEFT_OUT} more[/]", highlight=False)


async def _read(
    website_id: str, mongodb_url: str | None, arangodb_url: str | None
) -> tuple[KnowledgeBase, int]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        return await read_knowledge(stores.documents, stores.graph, website_id)
