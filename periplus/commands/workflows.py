"""`periplus workflows`: list the versions of published workflows, and return to an earlier one."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from kb_store import Stores, read_knowledge
from periplus.commands.command_output import AsJson, print_json
from periplus.commands.id_completion import complete_workflows
from periplus.commands.knowledge_listing import ListedWebsite, print_listing
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.synthesis.published_versions import PublishedVersion, list_versions, roll_back
from periplus.synthesis.workflow_synthesis import SynthesisSite
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

app = typer.Typer(
    help="List the versions of published workflows, and return to an earlier version.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[
    str,
    typer.Argument(
        metavar="WORKFLOW", help="The workflow's id.", show_default=False, autocompletion=complete_workflows
    ),
]

out = CommandConsole()


@app.callback()
def workflows_(
    ctx: typer.Context,
    *,
    website: ListedWebsite = None,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """List the workflows of a website; show the versions of one, and return to an earlier version."""
    if ctx.invoked_subcommand is None:
        list_(website=website, as_json=as_json, mongodb_url=mongodb_url, arangodb_url=arangodb_url)


@app.command("list")
def list_(
    *,
    website: ListedWebsite = None,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """List the workflows of a website with their current versions.

    [bold]periplus workflows list[/]
    """

    async def read() -> list[tuple[str, str, str, bool]]:
        async with open_selected_stores(mongodb_url, arangodb_url) as stores:
            website_id = await _select(stores, website)
            knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
            found = []
            for workflow in knowledge.workflows.values():
                versions = await list_versions(stores, website_id, workflow.workflow_id)
                current = next(each.version for each in versions if each.current)
                found.append((workflow.workflow_id, workflow.name, current, workflow.unverified))
            return found

    rows = [
        {
            "workflow_id": workflow_id,
            "name": name,
            "version": version,
            "unverified": unverified,
        }
        for workflow_id, name, version, unverified in asyncio.run(read())
    ]
    print_listing(out, rows, as_json=as_json, none="no workflows: `periplus synthesize --publish` makes them")


@app.command("versions")
def versions_(
    workflow: Name,
    *,
    website: ListedWebsite = None,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """List the versions of a workflow, the newest first. A run's result names the version that ran.

    [bold]periplus workflows versions Add_an_agent[/]
    """

    async def read() -> list[PublishedVersion]:
        async with open_selected_stores(mongodb_url, arangodb_url) as stores:
            return await list_versions(stores, await _select(stores, website), workflow)

    versions = asyncio.run(read())
    if as_json:
        print_json(
            out,
            [
                {
                    "version": each.version,
                    "published_at": None if each.published_at is None else each.published_at.isoformat(),
                    "current": each.current,
                }
                for each in versions
            ],
        )
        return
    table = Table("version", "published", "", box=SIMPLE_HEAD)
    for each in versions:
        at = (
            "edited or loaded from files"
            if each.published_at is None
            else f"{each.published_at.astimezone():%Y-%m-%d %H:%M:%S}"
        )
        table.add_row(each.version, at, "[green]current[/]" if each.current else "")
    out.print(table)


@app.command("rollback")
def rollback(
    workflow: Name,
    *,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="VERSION",
            help="A version, or its beginning; default: the one before the current one.",
            show_default=False,
        ),
    ] = None,
    website: ListedWebsite = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Return to an earlier version of a workflow. Runs that are under way are not changed.

    [bold]periplus workflows rollback Add_an_agent[/]
    [bold]periplus workflows rollback Add_an_agent --to 3f2a[/]
    """

    async def publish() -> PublishedVersion:
        async with open_selected_stores(mongodb_url, arangodb_url) as stores:
            site = SynthesisSite(stores, await _select(stores, website), None)
            return await roll_back(site, workflow, to)

    version = asyncio.run(publish())
    out.print(f"[green]{escape(workflow)} is version {version.version} again[/]", highlight=False)


async def _select(stores: Stores, website: str | None) -> str:
    known = await list_websites(stores)
    return select_website(website, known)
