"""`periplus kb rename`, `merge` and `split`: correct a map; every reference follows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.tree import Tree

from kb_schema import KnowledgeBase
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from loaders.edits.edit_changes import DocumentEdit, list_edit_changes
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit
from loaders.edits.merging import merge as merge_targets
from loaders.edits.name_references import ELEMENT
from loaders.edits.renaming import ID_FIELDS, find_target
from loaders.edits.renaming import rename as rename_target
from loaders.edits.splitting import SplitSign
from loaders.edits.splitting import split as split_screen
from loaders.files.folder_changes import write_new_knowledge
from loaders.markup_escapes import one_line
from periplus.commands.command_options import StoredWebsite, choose_import_budget
from periplus.commands.command_output import AsJson, format_change, format_count, print_json
from periplus.errors import UserError
from periplus.foreign_input import read_foreign
from periplus.knowledge_edits import MakeEdit, store_edit
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

MOST_VALUES = 4
"""Changed values shown of one document."""

Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder", metavar="DIR", help="Edit the files of this knowledge base instead of the store.",
        show_default=False,
    ),
]  # fmt: skip
DryRun = Annotated[bool, typer.Option("--dry-run", help="List what would change; change nothing.")]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"What OLD is, if several things have the name: {', '.join((*ID_FIELDS, ELEMENT))}.",
        show_default=False,
    ),
]

out = CommandConsole()


def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", help="An id, or SCREEN/ELEMENT.", show_default=False)],
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW",
            help='The new id. A name with spaces ("New issue") becomes the name, and the id is made of it.',
            show_default=False,
        ),
    ],
    *,
    kind: Kind = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The new name for people.", show_default=False)
    ] = None,
    website: StoredWebsite = None,
    folder: Folder = None,
    dry_run: DryRun = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Rename a screen, element, group, task, action, workflow or flow; references follow.

    Example: [cyan]periplus kb rename issues_issue20 "Issue"[/]

    OLD without a screen is an element on every screen that has it. Search finds the old name too.
    """
    if kind is not None and kind not in (*ID_FIELDS, ELEMENT):
        raise UserError(f"--kind: unknown kind {kind!r}", fix=f"one of {', '.join((*ID_FIELDS, ELEMENT))}")

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        return rename_target(knowledge, find_target(knowledge, old, kind), new, name)

    run_edit(make, website, folder, mongodb_url, arangodb_url, dry_run=dry_run, as_json=as_json)


def merge(
    kept: Annotated[
        str, typer.Argument(metavar="A", help="A screen, or SCREEN/ELEMENT. It stays.", show_default=False)
    ],
    other: Annotated[str, typer.Argument(metavar="B", help="It becomes a part of A.", show_default=False)],
    *,
    website: StoredWebsite = None,
    folder: Folder = None,
    dry_run: DryRun = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make two screens, or two elements of one screen, one; references follow.

    Example: [cyan]periplus kb merge milestone milestone_2[/]

    The merged screen is known by what identified either. Transitions between the two are removed.
    """

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        what = None if "/" in kept else "screen"
        return merge_targets(
            knowledge, find_target(knowledge, kept, what), find_target(knowledge, other, what)
        )

    run_edit(make, website, folder, mongodb_url, arangodb_url, dry_run=dry_run, as_json=as_json)


def split(
    screen: Annotated[str, typer.Argument(metavar="SCREEN", help="The screen.", show_default=False)],
    new: Annotated[
        str,
        typer.Argument(metavar="NEW", help="The id, or the name, of the new screen.", show_default=False),
    ],
    *,
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="RE2", help="The addresses of the new screen.", show_default=False),
    ] = None,
    element: Annotated[
        str | None,
        typer.Option(
            "--element", metavar="ID", help="An element that only the new screen has.", show_default=False
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="A text that only the new screen shows.", show_default=False)
    ] = None,
    website: StoredWebsite = None,
    folder: Folder = None,
    dry_run: DryRun = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make a screen two, told apart by an address pattern, an element or a text.

    Example: [cyan]periplus kb split order "New order" --pattern '^/orders/new$'[/]

    Both keep the elements, groups and outgoing transitions. Tasks, workflows and flows keep SCREEN and are listed.
    """

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        target = find_target(knowledge, screen, "screen")
        return split_screen(knowledge, target, new, SplitSign(pattern, element, text))

    run_edit(make, website, folder, mongodb_url, arangodb_url, dry_run=dry_run, as_json=as_json)


# -- steps -----------------------------------------------------------------------------------------


def run_edit(
    make: MakeEdit,
    website: str | None,
    folder: Path | None,
    mongodb_url: str | None,
    arangodb_url: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make the edit, unless it is only tried, and print what changes."""
    if website is not None and folder is not None:
        raise UserError("--website and --folder cannot be combined", fix="give one of them")
    try:
        if folder is not None:
            before, edit, where = _edit_folder(folder, make, dry_run=dry_run)
        else:
            before, edit, where = asyncio.run(
                _edit_store(make, website, mongodb_url, arangodb_url, dry_run=dry_run)
            )
    except EditRefused as exc:
        raise UserError(exc.message, fix=exc.fix) from exc
    changes = list_edit_changes(before, edit)
    if as_json:
        print_json(out, _to_json(before.website.website_id, changes, edit, where))
        return
    title = "would change" if dry_run else "changed"
    out.print(
        _build_tree(f"{title} {format_count(len(changes), 'document')}: {where}", changes), highlight=False
    )
    for each in edit.left:
        out.print(f"[yellow]look at[/] {escape(one_line(each, 300))}", soft_wrap=True, highlight=False)


def _edit_folder(folder: Path, make: MakeEdit, *, dry_run: bool) -> tuple[KnowledgeBase, KnowledgeEdit, str]:
    before, _ = read_foreign(folder, choose_import_budget(None, None), read_knowledge_folder, folder)
    edit = make(before)
    if dry_run:
        return before, edit, str(folder)
    try:
        report = write_new_knowledge(folder, before, edit.knowledge, edit.renamed)
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="look at its permissions"
        ) from exc
    counts = f"{len(report.changed)} files changed, {len(report.added)} added, {len(report.removed)} removed"
    return before, edit, f"{folder} ({counts})"


async def _edit_store(
    make: MakeEdit,
    website: str | None,
    mongodb_url: str | None,
    arangodb_url: str | None,
    *,
    dry_run: bool,
) -> tuple[KnowledgeBase, KnowledgeEdit, str]:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        website_id = select_website(website, await list_websites(stores))
        before, generation = await read_knowledge(stores.documents, stores.graph, website_id)
        if dry_run:
            return before, make(before), f"{website_id}, generation {generation}"
        edit, generation = await store_edit(stores, website_id, make)
        return before, edit, f"{website_id}, generation {generation}"


# -- output ----------------------------------------------------------------------------------------


def _build_tree(title: str, changes: list[DocumentEdit]) -> Tree:
    tree = Tree(escape(title))
    for each in changes:
        leaf = tree.add(_title_of(each))
        for change in each.changes[:MOST_VALUES]:
            leaf.add(format_change(change))
        if len(each.changes) > MOST_VALUES:
            leaf.add(f"[dim]and {format_count(len(each.changes) - MOST_VALUES, 'value')} more[/]")
    return tree


def _title_of(change: DocumentEdit) -> str:
    kind = change.kind.replace("_", " ")
    if change.old_id is None:
        return f"[green]+ {kind} {escape(change.new_id or '')}[/]"
    if change.new_id is None:
        return f"[red]- {kind} {escape(change.old_id)}[/]"
    arrow = "" if change.new_id == change.old_id else f" [dim]->[/] {escape(change.new_id)}"
    return f"[yellow]~ {kind} {escape(change.old_id)}[/]{arrow}"


def _to_json(website_id: str, changes: list[DocumentEdit], edit: KnowledgeEdit, where: str) -> dict[str, Any]:
    return {
        "website_id": website_id,
        "where": where,
        "documents": [
            {
                "kind": each.kind,
                "before": each.old_id,
                "after": each.new_id,
                "changes": [
                    {"path": change.path, "before": change.before, "after": change.after}
                    for change in each.changes
                ],
            }
            for each in changes
        ],
        "look_at": list(edit.left),
    }
