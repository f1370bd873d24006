"""`periplus prune`: delete records and files that are older than their settings say."""

from __future__ import annotations

import asyncio
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from periplus.commands.command_output import print_json
from periplus.output_folder import list_old_outputs
from periplus.privacy.retention import MOST_DAYS, load_retention_settings, prune
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
    out_folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Only delete folders of results in this folder, such as out, that are older than --days.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        float, typer.Option("--days", min=0, max=MOST_DAYS, help="With --out: the age in days.")
    ] = 30,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Delete records and files that are older than PERIPLUS_KEEP_RUNS, _RUN_FILES, _PICTURES, _FILMS, _MAPS, _LOGS and
    _AUDIT say, in days. `periplus serve` does it at its start and once a day.

    [bold]PERIPLUS_KEEP_PICTURES=7 periplus prune --dry-run[/]
    [bold]periplus prune --out out --days 7[/]

    With --out, folders are deleted that commands made there, such as `run-create_agent-20260104-101500`. Nothing else
    in it is touched, and no folder without a date in its name.
    """
    if out_folder is not None:
        old = list_old_outputs(out_folder, timedelta(days=days))
        for folder in () if dry_run else old:
            shutil.rmtree(folder)
        _print({"folders of results": len(old)}, dry_run=dry_run, as_json=as_json)
        return
    settings, data_dir = load_retention_settings(), load_settings().data_dir

    async def work() -> dict[str, int]:
        async with (
            open_selected_stores(mongodb_url, arangodb_url) as stores,
            open_run_store(mongodb_url) as runs,
        ):
            return await prune(data_dir, stores, runs, settings, dry_run=dry_run)

    _print(asyncio.run(work()), dry_run=dry_run, as_json=as_json)


def _print(counts: dict[str, int], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(out, counts)
        return
    said = ", ".join(f"{many} {kind.replace('_', ' ')}" for kind, many in counts.items() if many) or "nothing"
    out.print(f"{'would delete' if dry_run else 'deleted'}: {said}", highlight=False)
