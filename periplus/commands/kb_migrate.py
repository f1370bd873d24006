"""`periplus kb migrate`: update knowledge bases, in files or in the store, to the newest schema version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.tree import Tree

from kb_schema.base import SCHEMA_VERSION
from kb_store import Stores
from loaders.knowledge_migration import (
    FolderMigrationPlan,
    MigratedDocument,
    StoreMigrationPlan,
    migrate_folder,
    migrate_store,
    plan_folder,
    plan_store,
)
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.commands.command_output import format_change
from periplus.errors import UserError
from periplus.foreign_input import read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole

out = CommandConsole()


def migrate(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A knowledge base folder; default: the store."),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Update knowledge to the newest schema version, all documents or none.

    Example: [cyan]periplus kb migrate --dry-run kb/[/]

    This is optional: documents of an older version are migrated whenever they are read.
    In a folder, only files that change are rewritten.
    In the store, each website that changes gets a new generation.
    """
    if folder is not None:
        plan = read_foreign(
            folder, choose_import_budget(max_import_memory, max_import_seconds), plan_folder, folder
        )
        _show([plan], dry_run=dry_run, as_json=as_json)
        if plan and not dry_run:
            _rewrite(plan)
    else:
        asyncio.run(
            _migrate_stores(open_selected_stores(mongodb_url, arangodb_url), dry_run=dry_run, as_json=as_json)
        )


def _rewrite(plan: FolderMigrationPlan) -> None:
    try:
        migrate_folder(plan)
    except OSError as exc:
        raise UserError(
            f"{plan.path} cannot be written: {exc.strerror or exc}",
            fix="make it writable, or copy the folder",
        ) from exc


async def _migrate_stores(opening: Any, *, dry_run: bool, as_json: bool) -> None:
    async with opening as stores:
        plans = await _plans(stores)
        _show(plans, dry_run=dry_run, as_json=as_json)
        for plan in plans if not dry_run else ():
            if plan:
                await migrate_store(stores.documents, stores.graph, plan)


async def _plans(stores: Stores) -> list[StoreMigrationPlan]:
    return [
        await plan_store(stores.documents, stores.graph, active.website_id)
        for active in await stores.documents.websites()
    ]


def _show(plans: Sequence[FolderMigrationPlan | StoreMigrationPlan], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        told = {
            "schema_version": SCHEMA_VERSION,
            "dry_run": dry_run,
            "migrated": [_json(_name(plan), each) for plan in plans for each in plan.documents],
        }
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    for plan in plans:
        if plan:
            out.print(_tree(_name(plan), plan.documents), highlight=False)
    changed = sum(len(plan.documents) for plan in plans)
    if not changed:
        out.print(
            f"[green]up to date[/]: all documents have schema version {SCHEMA_VERSION}", highlight=False
        )
        return
    what = f"{changed} document{'' if changed == 1 else 's'} to schema version {SCHEMA_VERSION}"
    done = "[yellow]would migrate[/]" if dry_run else "[green]migrating[/]"
    out.print(f"{done} {what}", highlight=False)


def _name(plan: FolderMigrationPlan | StoreMigrationPlan) -> str:
    return str(plan.path) if isinstance(plan, FolderMigrationPlan) else plan.website_id


def _tree(name: str, documents: Sequence[MigratedDocument]) -> Tree:
    tree = Tree(f"[bold]{escape(name)}[/]")
    for document in documents:
        leaf = tree.add(f"[yellow]~ {escape(document.source)}[/] [dim]version {document.from_version}[/]")
        for change in document.changes:
            leaf.add(format_change(change))
    return tree


def _json(name: str, document: MigratedDocument) -> dict[str, Any]:
    return {
        "in": name,
        "document": document.source,
        "from_version": document.from_version,
        "changes": [{"path": c.path, "before": c.before, "after": c.after} for c in document.changes],
    }
