"""`periplus screens`: list the screens of a website."""

from __future__ import annotations

import typer

from periplus.commands.command_output import AsJson
from periplus.commands.knowledge_listing import ListedWebsite, print_listing, read_website
from periplus.store_selection import ArangoUrl, MongoUrl
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command("screens")
def screens_(
    *,
    website: ListedWebsite = None,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """List the screens of a website. `periplus run --goal SCREEN` goes to one.

    [bold]periplus screens --website spadeworks[/]
    """
    knowledge = read_website(website, mongodb_url, arangodb_url)
    rows = [
        {
            "screen_id": screen.screen_id,
            "name": screen.name,
            "address": screen.url or next(iter(screen.url_patterns), None),
            "elements": len(screen.ui_elements),
        }
        for screen in sorted(knowledge.screens.values(), key=lambda each: each.screen_id)
    ]
    print_listing(out, rows, as_json=as_json, none="no screens; `periplus map URL` finds them")
