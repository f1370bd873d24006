"""`periplus prune`: delete records and files that are older than their settings say."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from periplus.commands.command_output import print_json
from periplus.privacy.retention import load_retention_settings, prune
from periplus.run_store_adapters import open_run_store
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command("prune")
def prune_(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count what would be deleted.", show_default=False)
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Delete records and files that are older than PERIPLUS_KEEP_RUNS, _RUN_FILES, _PICTURES, _FILMS, _MAPS, _LOGS and
    _AUDIT say, in days. `periplus serve` does it at its start and once a day.

    [bold]PERIPLUS_KEEP_PICTURES=7 periplus prune --dry-run[/]
    """
    settings, data_dir = load_retention_settings(), load_settings().data_dir

    async def work() -> dict[str, int]:
        async with (
            open_selected_stores(mongodb_url, arangodb_url) as stores,
            open_run_store(mongodb_url) as runs,
        ):
            return await prune(data_dir, stores, runs, settings, dry_run=dry_run)

    counts = asyncio.run(work())
    if as_json:
        print_json(out, counts)
        return
    said = ", ".join(f"{many} {kind.replace('_', ' ')}" for kind, many in counts.items() if many) or "nothing"
    out.print(f"{'would delete' if dry_run else 'deleted'}: {said}", highlight=False)
