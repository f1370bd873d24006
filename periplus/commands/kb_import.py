"""`periplus kb import`: draft a knowledge base from page objects, an OpenAPI document or a sitemap."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError
from rich.markup import escape

from kb_schema import KnowledgeError
from kb_schema.base import LocalId
from loaders import TargetFolderOccupied, read_knowledge_folder, write_folder
from loaders.bridges.knowledge_drafts import KnowledgeDraft, UnreadableSource, read_bytes
from loaders.bridges.openapi import apply_hints, draft_from_hints, looks_like_openapi, read_openapi
from loaders.bridges.playwright_suites.suite_import import SUFFIXES, looks_like_playwright, read_playwright
from loaders.bridges.playwright_suites.suite_source import foreign_tool
from loaders.bridges.sitemaps import looks_like_a_sitemap, read_sitemap
from loaders.files.folder_changes import apply_changes
from loaders.files.folder_layout import WEBSITE_STEM
from loaders.files.yaml_files import read_file
from loaders.markup_escapes import one_line
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.commands.command_output import format_count
from periplus.errors import UserError
from periplus.foreign_input import ImportBudget, child_seconds, read_foreign
from periplus.terminal.command_console import CommandConsole

MOST_NOTES = 20
"""The most notes that are printed, besides those of what is left out."""
LEFT_OUT = "left out"

out = CommandConsole()


class ImportForm(StrEnum):
    """The input formats of `kb import`."""

    PLAYWRIGHT = "playwright"
    OPENAPI = "openapi"
    SITEMAP = "sitemap"


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|DIR",
            help="Playwright page objects and tests, an OpenAPI document, or a sitemap.",
            show_default=False,
        ),
    ],
    *,
    website: Annotated[str, typer.Option("--website", "-w", metavar="ID", help="The website's id.")],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the draft.")],
    form: Annotated[
        ImportForm | None,
        typer.Option(
            "--from", help="The input format; default: detected from the content.", show_default=False
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="The website's base URL, if the source does not contain it.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the knowledge base in --out.")] = False,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
) -> None:
    """Draft a knowledge base from files that a project already has. Nothing is executed or fetched.

    Example: [cyan]periplus kb import tests/pages --website shop --out kb/[/]

    [bold]playwright[/]: page objects and tests in Python or TypeScript become screens, transitions and tasks.
    [bold]sitemap[/]: XML or text, plain or compressed; URLs become screens.
    [bold]openapi[/]: fields, accepted values and destructive actions. If --out already contains the
    website's knowledge base, missing values are added to its elements.

    Exit codes: 0 done, 2 something was left out (the rest is in the draft) or an error to correct.
    """
    try:
        website_id = TypeAdapter(LocalId).validate_python(website)
    except ValidationError as exc:
        raise UserError(
            f"--website {website!r} is not a valid id", fix="use letters, digits, `_`, `.` and `-`"
        ) from exc
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    before = child_seconds()
    try:
        chosen = form or read_foreign(source, budget, _detect_form, source)
        budget = budget.left_since(before)
        if chosen is ImportForm.OPENAPI and (folder / f"{WEBSITE_STEM}.yaml").exists():
            _print_api_hints(source, website_id, folder, budget)
            return
        if not force and folder.is_dir() and any(folder.iterdir()):
            fix = "name an empty folder; --force replaces the knowledge base in it, including manual changes"
            raise UserError(f"{folder} is not empty", fix=fix)
        draft = read_foreign(source, budget, _draft, chosen, source, website_id, base_url)
    except UnreadableSource as exc:
        raise UserError(str(exc), fix="name another file, or give its format with --from") from exc
    try:
        number = write_folder(draft.knowledge, folder)
    except TargetFolderOccupied as exc:
        raise UserError(str(exc), fix="name an empty folder") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="name another folder"
        ) from exc
    what = ", ".join(format_count(len(each), kind) for kind, each in draft.knowledge.by_kind.items() if each)
    out.print(
        f"[green]wrote[/] {number} files to {escape(str(folder))}: {what}", soft_wrap=True, highlight=False
    )
    unused = ("--base-url is ignored: a sitemap contains the website's address",)
    _print_notes((*draft.notes, *(unused if base_url and chosen is ImportForm.SITEMAP else ())))
    out.print(
        f"[dim]review it, then: periplus kb load {escape(str(folder))}[/]", soft_wrap=True, highlight=False
    )
    left_out = [each for each in draft.notes if LEFT_OUT in each]
    if left_out:
        raise UserError(
            f"{format_count(len(left_out), 'part')} of the source left out, as named above",
            fix="the rest is in the draft: add what is missing there",
        )


def _draft(form: ImportForm, source: Path, website_id: str, base_url: str | None) -> KnowledgeDraft:
    match form:
        case ImportForm.PLAYWRIGHT:
            return read_playwright(source, website_id, base_url)
        case ImportForm.SITEMAP:
            return read_sitemap(source, website_id)
        case ImportForm.OPENAPI:
            return draft_from_hints(read_openapi(source), website_id, base_url)


def _detect_form(source: Path) -> ImportForm:
    """Return the format of a file or folder, detected from its content.

    Raises `UserError` for an unknown format, `UnreadableSource` for a file that cannot be read.
    """
    if source.is_dir() or source.suffix in SUFFIXES:
        raw = b"" if source.is_dir() else read_bytes(source)
        if source.is_dir() or looks_like_playwright(raw) or foreign_tool(raw):
            return ImportForm.PLAYWRIGHT
    elif looks_like_a_sitemap(read_bytes(source)):
        return ImportForm.SITEMAP
    elif source.suffix in (".yaml", ".yml", ".json"):
        data: Any = None
        try:
            data = read_file(source, source.name)
        except KnowledgeError as exc:
            raise UnreadableSource(source, exc.problems[0].message) from exc
        if looks_like_openapi(data):
            return ImportForm.OPENAPI
    known = ", ".join(ImportForm)
    raise UserError(f"the format of {source} is unknown", fix=f"give it with --from: {known}")


def _print_api_hints(source: Path, website_id: str, folder: Path, budget: ImportBudget) -> None:
    """Add what an OpenAPI document says about elements to the knowledge base in `folder`."""
    knowledge, _ = read_foreign(folder, budget, read_knowledge_folder, folder)
    if knowledge.website.website_id != website_id:
        raise UserError(
            f"{folder} contains website {knowledge.website.website_id!r}, not {website_id!r}",
            fix="name the folder of that website, or another --website",
        )
    done = apply_changes(folder, apply_hints(knowledge, read_foreign(source, budget, read_openapi, source)))
    for name in done.changed:
        out.print(f"[green]changed[/] {escape(str(folder / name))}", soft_wrap=True, highlight=False)
    if not done.changed:
        out.print("nothing to add: the knowledge base already has everything the document says")


def _print_notes(notes: tuple[str, ...]) -> None:
    shown = [each for at, each in enumerate(notes) if at < MOST_NOTES or LEFT_OUT in each]
    for each in shown:
        out.print(f"  [yellow]{escape(one_line(each, 300))}[/]", soft_wrap=True, highlight=False)
    if len(notes) > len(shown):
        out.print(f"  [yellow]and {len(notes) - len(shown)} more[/]", highlight=False)
