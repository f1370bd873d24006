"""`periplus erase-person`: find a person in everything that Periplus wrote, and erase what was found."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from loaders.markup_escapes import one_line
from periplus.commands.command_output import format_count, print_json
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.privacy.person_erasure import ErasurePlaces, ErasureReport, erase_person
from periplus.run_store_adapters import open_run_store
from periplus.settings import load_settings
from periplus.store_selection import MongoUrl
from periplus.terminal.command_console import CommandConsole

LONGEST = 100
SHOWN = 20
"""Places of one kind that are listed; `--json` lists all."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command()
def erase(
    person: Annotated[
        str, typer.Argument(metavar="TEXT", help="The person's e-mail address or name.", show_default=False)
    ],
    *,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Another name or address of the same person.", show_default=False),
    ] = None,
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Also search this folder, such as recordings or reports outside of the data directory.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be erased.", show_default=False)
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.", show_default=False)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """Find a person in stores, files and the audit log, list the places, and erase the person there.

    Texts are replaced by ERASED. Pictures, films and sound cannot be searched: those of runs, maps and recordings whose
    texts mention the person are deleted.

    [bold]periplus erase-person ann@example.com --also "Ann Lee" --dry-run[/]

    Stop servers first: they have knowledge and settings in memory.

    Exit codes: 0 done, 1 some files could not be searched (they are listed), 2 an error to correct.
    """
    settings = load_settings(mongodb_url=mongodb_url)
    url = settings.mongodb_url
    places = ErasurePlaces(settings.data_dir, url.get_secret_value() if url else None, tuple(folder or ()))
    texts = [person, *(also or [])]
    found = asyncio.run(_erase(texts, places, mongodb_url, dry_run=True))
    if as_json:
        print_json(out, _to_json(found))
    else:
        _print(found)
    if settings.arangodb_url is not None:
        typer.echo(
            "not searched: the graph in ArangoDB; load the knowledge again after the erasure", err=True
        )
    if found.count and not dry_run:
        _confirm(found, yes=yes)
        done = asyncio.run(_erase(texts, places, mongodb_url, dry_run=False))
        typer.echo(f"erased in {format_count(done.count, 'place')}", err=as_json)
    if found.unsearched:
        raise typer.Exit(ExitCode.FAILED)


def _confirm(found: ErasureReport, *, yes: bool) -> None:
    """Ask whether to erase. Raises `UserError` if there is nobody to ask."""
    if not yes:
        if not sys.stdin.isatty():
            raise UserError("nothing was erased: there is nobody to ask", fix="add --yes")
        typer.confirm(f"Erase the person in {format_count(found.count, 'place')}?", abort=True, err=True)


async def _erase(
    texts: list[str], places: ErasurePlaces, mongodb_url: str | None, *, dry_run: bool
) -> ErasureReport:
    async with open_run_store(mongodb_url) as runs:
        return await erase_person(texts, places, runs, dry_run=dry_run)


def _print(found: ErasureReport) -> None:
    _print_kind("could not be searched", len(found.unsearched), [str(each) for each in found.unsearched])
    if not found.count:
        out.print("the person was not found" + " elsewhere" * bool(found.unsearched))
        return
    kinds = Counter(each.table for each in found.rows)
    for table, many in sorted(kinds.items()):
        rows = [each for each in found.rows if each.table == table]
        _print_kind(
            f"store: {table}",
            many,
            [f"{each.key or each.run_id}{' (deleted)' * each.deleted}" for each in rows],
        )
    for kind in ("text", "archive", "picture", "film", "sound"):
        files = [each for each in found.files if each.kind == kind]
        done = "deleted" if files and files[0].deleted else "replaced"
        _print_kind(f"files: {kind}, {done}", len(files), [str(each.path) for each in files])
    _print_kind("audit log", len(found.audit), [f"entry {number}" for number in found.audit])


def _print_kind(kind: str, many: int, places: list[str]) -> None:
    if not many:
        return
    out.print(f"[bold]{escape(kind)}[/] ({many})", highlight=False)
    for place in places[:SHOWN]:
        out.print(f"  {escape(one_line(place, LONGEST))}", soft_wrap=True, highlight=False)
    if many > SHOWN:
        out.print(f"  and {many - SHOWN} more", highlight=False)


def _to_json(found: ErasureReport) -> dict[str, object]:
    return {
        "rows": [
            {"table": each.table, "key": each.key, "run_id": each.run_id, "deleted": each.deleted}
            for each in found.rows
        ],
        "files": [
            {"path": str(each.path), "kind": each.kind, "deleted": each.deleted} for each in found.files
        ],
        "audit_entries": list(found.audit),
        "unsearched": [str(each) for each in found.unsearched],
    }
