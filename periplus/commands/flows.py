"""`periplus flows`: list the flows of a website."""

from __future__ import annotations

import typer

from periplus.commands.command_output import AsJson
from periplus.commands.knowledge_listing import ListedWebsite, print_listing, read_website
from periplus.store_selection import ArangoUrl, MongoUrl
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command("flows")
def flows_(
    *,
    website: ListedWebsite = None,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """List the presentation flows of a website. `periplus demo --website ID --flow FLOW` presents one.

    [bold]periplus flows --website spadeworks[/]
    """
    knowledge = read_website(website, mongodb_url, arangodb_url)
    rows = [
        {
            "flow_id": flow.flow_id,
            "name": flow.name,
            "audience": flow.audience,
            "segments": len(flow.segments),
            "languages": [flow.language, *sorted(flow.translations)],
        }
        for flow in sorted(knowledge.flows.values(), key=lambda each: each.flow_id)
    ]
    none = f"no flows; `periplus draft-flow --website {knowledge.website.website_id}` drafts one"
    print_listing(out, rows, as_json=as_json, none=none)
