"""`periplus kb import`: drafts of knowledge from what a project has already."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.markup import escape

from kb_schema import KnowledgeError
from kb_schema.base import LocalId
from loaders import FolderInTheWay, read_knowledge_folder, write_folder
from loaders.applying import apply_changes
from loaders.bridges.imported import Draft, Unreadable, read_bytes
from loaders.bridges.openapi import as_draft, hinted, looks_like_openapi, read_openapi
from loaders.bridges.playwright_import import SUFFIXES, looks_like_playwright, read_playwright
from loaders.bridges.sitemaps import looks_like_a_sitemap, read_sitemap
from loaders.escaping import one_line
from loaders.layout import WEBSITE_STEM
from loaders.text import read_file
from periplus.commands.wording import counted
from periplus.errors import UserError

MOST_NOTES = 20
"""Notes that are told one by one."""

out = Console()


class ImportForm(StrEnum):
    """What is read."""

    PLAYWRIGHT = "playwright"
    OPENAPI = "openapi"
    SITEMAP = "sitemap"


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|DIR",
            help="Page objects and tests, a description of an API, a sitemap.",
            show_default=False,
        ),
    ],
    *,
    website: Annotated[str, typer.Option("--website", "-w", metavar="ID", help="What to call the website.")],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the draft is written.")],
    form: Annotated[
        ImportForm | None,
        typer.Option("--from", help="What it is; else its content tells.", show_default=False),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="Of the website, where the source does not say it.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the knowledge base that --out holds already.")
    ] = False,
) -> None:
    """Make a draft of a knowledge base of what a project has already. Nothing of it is run or fetched.

    Example: [cyan]periplus kb import tests/pages --website shop --out kb/[/]

    [bold]playwright[/]: page objects and tests in Python or TypeScript become screens, ways and tasks.
    [bold]sitemap[/]: XML or text, packed or not; addresses become screens.
    [bold]openapi[/]: fields, what they accept, what is destructive. Where --out holds knowledge of the
    website, its elements get what they do not say themselves, in place.
    """
    try:
        website_id = TypeAdapter(LocalId).validate_python(website)
    except ValidationError as exc:
        raise UserError(
            f"{website!r} is no id of a website", fix="use letters, digits, `_`, `.` and `-`"
        ) from exc
    try:
        chosen = form or _told(source)
        if chosen is ImportForm.OPENAPI and (folder / f"{WEBSITE_STEM}.yaml").exists():
            _hint(source, website_id, folder)
            return
        if not force and folder.is_dir() and any(folder.iterdir()):
            fix = "name an empty folder; --force replaces a knowledge base that is there, with all that was added to it"
            raise UserError(f"{folder} is not empty", fix=fix)
        draft = _draft(chosen, source, website_id, base_url)
    except Unreadable as exc:
        raise UserError(str(exc), fix="name another file, or say what it is with --from") from exc
    try:
        number = write_folder(draft.knowledge, folder)
    except FolderInTheWay as exc:
        raise UserError(str(exc), fix="name an empty folder") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="name another folder"
        ) from exc
    what = ", ".join(counted(len(each), kind) for kind, each in draft.knowledge.by_kind.items() if each)
    out.print(
        f"[green]wrote[/] {number} files to {escape(str(folder))}: {what}", soft_wrap=True, highlight=False
    )
    unused = ("a sitemap says itself where the website is: --base-url is not used",)
    _tell((*draft.notes, *(unused if base_url and chosen is ImportForm.SITEMAP else ())))
    out.print(
        f"[dim]look at it, then: periplus kb load {escape(str(folder))}[/]", soft_wrap=True, highlight=False
    )


def _draft(form: ImportForm, source: Path, website_id: str, base_url: str | None) -> Draft:
    match form:
        case ImportForm.PLAYWRIGHT:
            return read_playwright(source, website_id, base_url)
        case ImportForm.SITEMAP:
            return read_sitemap(source, website_id)
        case ImportForm.OPENAPI:
            return as_draft(read_openapi(source), website_id, base_url)


def _told(source: Path) -> ImportForm:
    """What a file or folder is, by its content. Raises `UserError`, `Unreadable`."""
    if source.is_dir() or source.suffix in SUFFIXES:
        if source.is_dir() or looks_like_playwright(read_bytes(source)):
            return ImportForm.PLAYWRIGHT
    elif looks_like_a_sitemap(read_bytes(source)):
        return ImportForm.SITEMAP
    elif source.suffix in (".yaml", ".yml", ".json"):
        data: Any = None
        try:
            data = read_file(source, source.name)
        except KnowledgeError as exc:
            raise Unreadable(source, exc.problems[0].message) from exc
        if looks_like_openapi(data):
            return ImportForm.OPENAPI
    known = ", ".join(ImportForm)
    raise UserError(f"{source} is nothing that is known here", fix=f"say what it is with --from: {known}")


def _hint(source: Path, website_id: str, folder: Path) -> None:
    """What a description of an API says of the elements of a knowledge base that is there."""
    knowledge, _ = read_knowledge_folder(folder)
    if knowledge.website.website_id != website_id:
        raise UserError(f"{folder} is of {knowledge.website.website_id!r}, not of {website_id!r}")
    done = apply_changes(folder, hinted(knowledge, read_openapi(source)))
    for name in done.changed:
        out.print(f"[green]changed[/] {escape(str(folder / name))}", soft_wrap=True, highlight=False)
    if not done.changed:
        out.print("it says nothing of these screens that they do not say themselves")


def _tell(notes: tuple[str, ...]) -> None:
    for each in notes[:MOST_NOTES]:
        out.print(f"  [yellow]{escape(one_line(each, 300))}[/]", soft_wrap=True, highlight=False)
    if len(notes) > MOST_NOTES:
        out.print(f"  [yellow]and {len(notes) - MOST_NOTES} more[/]", highlight=False)
