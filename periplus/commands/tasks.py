"""`periplus tasks`: list the tasks of a website."""

from __future__ import annotations

import typer

from mcp_server.descriptions.document_summaries import summarize_task
from periplus.commands.command_output import AsJson
from periplus.commands.knowledge_listing import ListedWebsite, print_listing, read_website
from periplus.store_selection import ArangoUrl, MongoUrl
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command("tasks")
def tasks_(
    *,
    website: ListedWebsite = None,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """List the tasks of a website with their inputs. `periplus run TASK` runs one.

    [bold]periplus tasks --website spadeworks[/]
    """
    knowledge = read_website(website, mongodb_url, arangodb_url)
    rows = []
    for task in sorted(knowledge.tasks.values(), key=lambda each: each.task_id):
        summary = summarize_task(task)
        rows.append(
            {
                "task_id": summary.task_id,
                "name": summary.name,
                "required_inputs": list(summary.required_inputs),
                "optional_inputs": list(summary.optional_inputs),
            }
        )
    print_listing(out, rows, as_json=as_json, none="no tasks; `periplus record URL` begins one")
