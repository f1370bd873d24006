"""`periplus kb init` and `kb copy`: stores as such, not what is in them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from kb_store import LoadReport, Stores, load_knowledge, read_knowledge
from kb_store.initialising import Prepared, initialise
from periplus.errors import UserError
from periplus.shelves import ArangoUrl, MongoUrl, open_named, unprepared

AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]
Place = "embedded:DIR or mongodb://HOST/DATABASE"

out = Console()


def init(*, mongodb_url: MongoUrl = None, arangodb_url: ArangoUrl = None, as_json: AsJson = False) -> None:
    """Make the collections, indexes and validators of the stores; safe to repeat.

    Example: [cyan]PERIPLUS_MONGODB_URL=mongodb://127.0.0.1/periplus periplus kb init[/]

    Says of each what was made, mended or found as it should be.
    Needs the role [bold]dbAdmin[/] where users have roles.
    """
    done = asyncio.run(_init(mongodb_url, arangodb_url))
    if as_json:
        typer.echo(json.dumps([_json(*each) for each in done], ensure_ascii=False, indent=2))
        return
    for name, address, prepared in done:
        out.print(f"[green]ready[/] {name:<9} {escape(address)}", soft_wrap=True, highlight=False)
        for each in prepared:
            style = "dim" if each.outcome == "found" else "green"
            out.print(
                f"  [{style}]{each.outcome:<6}[/] {escape(each.name)}  [dim]{escape(each.detail)}[/]",
                soft_wrap=True,
                highlight=False,
            )


def copy(
    *,
    source: Annotated[str, typer.Option("--from", metavar="STORE", help=Place, show_default=False)],
    target: Annotated[str, typer.Option("--to", metavar="STORE", help=Place, show_default=False)],
    from_arangodb_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the graph is, if not beside the documents.")
    ] = None,
    to_arangodb_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the graph goes, if not beside the documents.")
    ] = None,
    website: Annotated[
        list[str] | None, typer.Option("--website", "-w", metavar="ID", help="Only this; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy the knowledge of every website from one store to another.

    Example: [cyan]periplus kb copy --from embedded:.periplus --to mongodb://127.0.0.1/periplus[/]

    Each website arrives all at once or not at all; the source is only read.
    What was learned and run stays where it is.
    """
    reports = asyncio.run(_copy(source, target, from_arangodb_url, to_arangodb_url, website or []))
    if as_json:
        told = [
            {"website_id": r.website_id, "generation": r.generation, "counts": dict(r.counts)}
            for r in reports
        ]
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    for report in reports:
        total = sum(report.counts.values())
        out.print(
            f"[green]copied[/] [bold]{escape(report.website_id)}[/], {total} documents, "
            f"generation {report.generation}",
            soft_wrap=True,
            highlight=False,
        )


async def _init(
    mongodb_url: str | None, arangodb_url: str | None
) -> list[tuple[str, str, Sequence[Prepared]]]:
    async with unprepared(mongodb_url, arangodb_url) as stores:
        return [
            (name, store.address, await initialise(store))
            for name, store in (("documents", stores.documents), ("graph", stores.graph))
        ]


async def _copy(
    source: str,
    target: str,
    from_arangodb_url: str | None,
    to_arangodb_url: str | None,
    wanted: Sequence[str],
) -> list[LoadReport]:
    async with open_named(source, from_arangodb_url) as old, open_named(target, to_arangodb_url) as new:
        if (old.documents.address, old.graph.address) == (new.documents.address, new.graph.address):
            raise UserError("source and target are the same store", fix="name another one with --to")
        return [await _copy_one(old, new, website_id) for website_id in wanted or await _websites(old)]


async def _websites(stores: Stores) -> list[str]:
    found = sorted(active.website_id for active in await stores.documents.websites())
    if not found:
        fix = "name another one with --from"
        raise UserError(f"the store at {stores.documents.address} has no knowledge", fix=fix)
    return found


async def _copy_one(old: Stores, new: Stores, website_id: str) -> LoadReport:
    knowledge, _ = await read_knowledge(old.documents, old.graph, website_id)
    return await load_knowledge(new.documents, new.graph, knowledge)


def _json(name: str, address: str, prepared: Sequence[Prepared]) -> dict[str, Any]:
    collections = [{"name": p.name, "outcome": p.outcome, "detail": p.detail} for p in prepared]
    return {"store": name, "address": address, "collections": collections}
