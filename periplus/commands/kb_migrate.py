"""`periplus kb migrate`: knowledge of an older schema version, in files or in the store, to the newest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from kb_schema.base import SCHEMA_VERSION
from kb_store import Stores
from loaders.migrate import (
    FolderPlan,
    Migrated,
    StorePlan,
    migrate_folder,
    migrate_store,
    plan_folder,
    plan_store,
)
from periplus.commands.changes import change_line, print_tree
from periplus.errors import UserError
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen

out = Console()


def migrate(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A folder of knowledge; the store where none is named."),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")] = False,
) -> None:
    """Bring knowledge to the newest schema version, all of it or nothing.

    Example: [cyan]periplus kb migrate --dry-run kb/[/]

    Knowledge of an older version works without it: it is brought up to date
    whenever it is read.
    In a folder, files that do not change stay as they are.
    In the store, each website that changes gets a new generation.
    """
    if folder is not None:
        plan = plan_folder(folder)
        _show([plan], dry_run=dry_run, as_json=as_json)
        if plan and not dry_run:
            _rewrite(plan)
    else:
        asyncio.run(_migrate_stores(open_chosen(mongodb_url, arangodb_url), dry_run=dry_run, as_json=as_json))


def _rewrite(plan: FolderPlan) -> None:
    try:
        migrate_folder(plan)
    except OSError as exc:
        raise UserError(
            f"{plan.path} cannot be written: {exc.strerror or exc}", fix="make it writable, or copy it"
        ) from exc


async def _migrate_stores(opening: Any, *, dry_run: bool, as_json: bool) -> None:
    async with opening as stores:
        plans = await _plans(stores)
        _show(plans, dry_run=dry_run, as_json=as_json)
        for plan in plans if not dry_run else ():
            if plan:
                await migrate_store(stores.documents, stores.graph, plan)


async def _plans(stores: Stores) -> list[StorePlan]:
    return [
        await plan_store(stores.documents, stores.graph, active.website_id)
        for active in await stores.documents.websites()
    ]


def _show(plans: Sequence[FolderPlan | StorePlan], *, dry_run: bool, as_json: bool) -> None:
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
            print_tree(out, _tree(_name(plan), plan.documents))
    changed = sum(len(plan.documents) for plan in plans)
    if not changed:
        out.print(f"[green]up to date[/]: everything is of schema version {SCHEMA_VERSION}", highlight=False)
        return
    what = f"{changed} document{'' if changed == 1 else 's'} to schema version {SCHEMA_VERSION}"
    done = "[yellow]would migrate[/]" if dry_run else "[green]migrating[/]"
    out.print(f"{done} {what}", highlight=False)


def _name(plan: FolderPlan | StorePlan) -> str:
    return str(plan.path) if isinstance(plan, FolderPlan) else plan.website_id


def _tree(name: str, documents: Sequence[Migrated]) -> Tree:
    tree = Tree(f"[bold]{escape(name)}[/]")
    for document in documents:
        leaf = tree.add(f"[yellow]~ {escape(document.source)}[/] [dim]version {document.from_version}[/]")
        for change in document.changes:
            leaf.add(change_line(change))
    return tree


def _json(name: str, document: Migrated) -> dict[str, Any]:
    return {
        "in": name,
        "document": document.source,
        "from_version": document.from_version,
        "changes": [{"path": c.path, "before": c.before, "after": c.after} for c in document.changes],
    }
