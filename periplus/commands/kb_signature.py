"""`periplus kb signature`: show how a screen is recognised, change it, and try the change on stored pages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_schema.snapshot_folder import StoredSnapshot, list_snapshots
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit
from loaders.edits.signature_edit import (
    KINDS,
    RowKind,
    SignatureRow,
    SignatureRows,
    change_rows,
    edit_signature,
    list_rows,
    read_indicator,
    write_indicator,
)
from loaders.markup_escapes import one_line
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.signature_checks.signature_trial import SignatureTrial, TriedPage, try_signature
from periplus.commands.command_options import StoredWebsite, choose_import_budget
from periplus.commands.command_output import AsJson, format_count, print_json
from periplus.commands.kb_edit import DryRun, Folder, run_edit
from periplus.errors import UserError
from periplus.exploration.map_folder import MAPS, MapFolder
from periplus.foreign_input import read_foreign
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

LONGEST = 200
MOST_PAGES_LISTED = 20
EXAMPLE = "--add 'required=text: Your orders'"

out = CommandConsole()


def signature(
    screen: Annotated[str, typer.Argument(metavar="SCREEN", help="The screen.", show_default=False)],
    *,
    add: Annotated[
        list[str] | None,
        typer.Option(
            "--add",
            metavar="KIND=INDICATOR",
            help=f"Add an indicator: {', '.join(KINDS)} = text: WORDS, element: ID, css: SELECTOR, title: WORDS, url: PATTERN, or JSON.",
            show_default=False,
        ),
    ] = None,
    remove: Annotated[
        list[int] | None,
        typer.Option("--remove", metavar="N", help="Remove indicator N.", show_default=False),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="N=KIND", help="Make indicator N another kind.", show_default=False),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", min=0, max=1, help="Accept at this score.", show_default=False),
    ] = None,
    snapshots: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Try it on these stored pages; default: those of the website's map.",
            show_default=False,
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The site's base URL when the pages were stored.")
    ] = None,
    website: StoredWebsite = None,
    folder: Folder = None,
    dry_run: DryRun = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the indicators of a screen, change them, and try the change on stored pages.

    Example: [cyan]periplus kb signature orders --remove 2 --add 'required=text: Your orders' --dry-run[/]

    Without a change it lists the indicators with their numbers, and the stored pages that they match.
    The trial says which stored pages are identified otherwise; with --dry-run nothing else happens.
    """
    added = [_read_added(text) for text in add or ()]
    kinds = dict(_read_kind(text) for text in kind or ())
    changing = bool(added or kinds or remove or threshold is not None)
    before = _read(website, folder, mongodb_url, arangodb_url)
    pages = _stored_pages(snapshots, before.website.website_id)

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        rows = list_rows(knowledge, screen)
        return edit_signature(
            knowledge,
            screen,
            change_rows(rows, removed=remove or (), kinds=kinds, added=added, threshold=threshold),
        )

    try:
        edit = make(before) if changing else None
        rows = list_rows(before if edit is None else edit.knowledge, screen)
    except EditRefused as exc:
        raise UserError(exc.message, fix=exc.fix) from exc
    trial = _try(before, before if edit is None else edit.knowledge, screen, pages, base_url)
    if as_json and edit is None:
        print_json(out, _to_json(rows, trial))
        return
    if not as_json:
        _print(rows, trial, changing=changing)
    if edit is not None:
        run_edit(make, website, folder, mongodb_url, arangodb_url, dry_run=dry_run, as_json=as_json)


def _read_added(text: str) -> SignatureRow:
    kind, equals, rest = text.partition("=")
    known = _known_kind(kind.strip())
    if not equals or known is None:
        raise UserError(
            f"--add {text!r}: expected KIND=INDICATOR, with KIND one of {', '.join(KINDS)}", fix=EXAMPLE
        )
    try:
        return SignatureRow(known, read_indicator(rest, f"--add {kind}"))
    except EditRefused as exc:
        raise UserError(exc.message, fix=exc.fix) from exc


def _read_kind(text: str) -> tuple[int, RowKind]:
    number, _, kind = text.partition("=")
    known = _known_kind(kind.strip())
    if not number.strip().isdecimal() or known is None:
        raise UserError(
            f"--kind {text!r}: expected N=KIND, with KIND one of {', '.join(KINDS)}", fix="--kind 2=optional"
        )
    return int(number), known


def _known_kind(text: str) -> RowKind | None:
    return next((each for each in KINDS if each == text), None)


def _read(
    website: str | None, folder: Path | None, mongodb_url: str | None, arangodb_url: str | None
) -> KnowledgeBase:
    if folder is not None:
        return read_foreign(folder, choose_import_budget(None, None), read_knowledge_folder, folder)[0]

    async def read() -> KnowledgeBase:
        async with open_selected_stores(mongodb_url, arangodb_url) as stores:
            website_id = select_website(website, await list_websites(stores))
            return (await read_knowledge(stores.documents, stores.graph, website_id))[0]

    return asyncio.run(read())


def _stored_pages(snapshots: Path | None, website_id: str) -> list[StoredSnapshot]:
    if snapshots is not None:
        return read_foreign(snapshots, choose_import_budget(None, None), list_snapshots, snapshots)
    return MapFolder(load_settings().data_dir / MAPS / website_id).stored_pages()


def _try(
    before: KnowledgeBase,
    after: KnowledgeBase,
    screen: str,
    pages: Sequence[StoredSnapshot],
    base_url: str | None,
) -> SignatureTrial | None:
    if not pages:
        return None
    views = compile_view(before, "before"), compile_view(after, "after")
    return try_signature(*views, screen, ((each.name, each.read()) for each in pages), base_url=base_url)


def _print(rows: SignatureRows, trial: SignatureTrial | None, *, changing: bool) -> None:
    table = Table(box=SIMPLE_HEAD)
    for name in ("no.", "kind", "indicator", "weight", "matches"):
        table.add_column(name, overflow="fold")
    for number, row in enumerate(rows.rows, start=1):
        weight = "" if row.condition.weight is None else f"{row.condition.weight:g}"
        table.add_row(
            str(number),
            row.kind,
            escape(one_line(write_indicator(row.condition), LONGEST)),
            weight,
            "" if trial is None else _count_matches(rows, number - 1, trial),
        )
    out.print(table)
    out.print(f"accepted at a score of {rows.threshold:g} or more", highlight=False)
    if trial is None:
        out.print("not tried: there are no stored pages; name them with --snapshots DIR", highlight=False)
        return
    others = len(trial.pages) - len(trial.own)
    out.print(
        f"{format_count(len(trial.own), 'stored page')} of this screen, {others} of others", highlight=False
    )
    changed = [each for each in trial.pages if each.changed]
    if changing:
        out.print(
            f"the change: {format_count(len(trial.gained), 'page')} become this screen, {len(trial.lost)} are it no more, "
            f"{len(changed) - len(trial.gained) - len(trial.lost)} others change",
            highlight=False,
        )
    for page in changed[:MOST_PAGES_LISTED]:
        out.print(f"  {escape(_describe_change(page))}", highlight=False, soft_wrap=True)
    if len(changed) > MOST_PAGES_LISTED:
        out.print(f"  and {len(changed) - MOST_PAGES_LISTED} more", highlight=False)
    for page in trial.pages:
        if page.refused:
            out.print(f"  {escape(page.name)}: not looked at: {escape(page.refused)}", highlight=False)


def _count_matches(rows: SignatureRows, position: int, trial: SignatureTrial) -> str:
    """Return on how many pages of the screen, and of others, an indicator matches. Address patterns count as one."""
    row = rows.rows[position]
    place = sum(each.kind == row.kind for each in rows.rows[:position]) if row.kind != KINDS[0] else 0
    counts = [0, 0]
    for page in trial.pages:
        same = [each for each in page.indicators if each.kind == row.kind]
        if len(same) > place and same[place].status == "held":
            counts[page.after != trial.screen_id] += 1
    own = len(trial.own)
    return f"{counts[0]} of {own} here, {counts[1]} of {len(trial.pages) - own} elsewhere"


def _describe_change(page: TriedPage) -> str:
    return (
        f"{page.name} ({page.url}): {page.before or 'no known screen'} -> {page.after or 'no known screen'}"
    )


def _to_json(rows: SignatureRows, trial: SignatureTrial | None) -> dict[str, Any]:
    return {
        "threshold": rows.threshold,
        "indicators": [
            {
                "number": number,
                "kind": each.kind,
                "indicator": write_indicator(each.condition),
                "weight": each.condition.weight,
            }
            for number, each in enumerate(rows.rows, start=1)
        ],
        "pages": None if trial is None else [each.model_dump(mode="json") for each in trial.pages],
    }
