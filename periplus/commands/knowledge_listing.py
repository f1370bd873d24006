"""What `periplus tasks`, `screens`, `flows` and `workflows` share: read a website's knowledge, print a list of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_store import read_knowledge
from periplus.commands.command_output import print_json
from periplus.commands.id_completion import complete_websites
from periplus.store_selection import open_selected_stores
from periplus.website_selection import list_websites, select_website

ListedWebsite = Annotated[
    str | None,
    typer.Option(
        "--website",
        "-w",
        metavar="ID",
        help="The website's id; required if the store has several.",
        show_default=False,
        autocompletion=complete_websites,
    ),
]


def read_website(website: str | None, mongodb_url: str | None, arangodb_url: str | None) -> KnowledgeBase:
    """Return the knowledge of a website, or of the only one in the store.

    Raises `UserError` if the website must be named, and `StoreError` if the store has none of this id.
    """

    async def read() -> KnowledgeBase:
        async with open_selected_stores(mongodb_url, arangodb_url) as stores:
            website_id = select_website(website, await list_websites(stores))
            return (await read_knowledge(stores.documents, stores.graph, website_id))[0]

    return asyncio.run(read())


def print_listing(
    console: Console, rows: Sequence[Mapping[str, object]], *, as_json: bool, none: str
) -> None:
    """Print rows with the same keys as a table with these headings, or as JSON; `none`: what to say without rows.

    The first column has the ids, which are never broken over lines. Lists are joined with commas.
    """
    if as_json:
        print_json(console, list(rows))
        return
    if not rows:
        console.print(none, highlight=False, soft_wrap=True)
        return
    table = Table(box=SIMPLE_HEAD)
    for number, heading in enumerate(rows[0]):
        table.add_column(heading.replace("_", " "), no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(escape(_format_cell(value)) for value in row.values()))
    console.print(table, highlight=False)


def _format_cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
