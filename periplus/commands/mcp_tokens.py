"""`periplus mcp token`: who may use the MCP server over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from mcp_server.security import tokens
from mcp_server.security.access import READ, REVIEW, WRITE, AccessScope
from periplus.errors import UserError
from periplus.mcp_settings import load_mcp_settings

app = typer.Typer(
    help="Bearer tokens for the MCP server over http: make, list and revoke them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="PATH",
        help="The tokens file; else PERIPLUS_MCP_TOKENS, else mcp-tokens.json in the data directory.",
        show_default=False,
    ),
]


class Scope(StrEnum):
    """What a token may do."""

    READ = READ
    REVIEW = REVIEW
    WRITE = WRITE
    OPERATE = "operate"
    """The console's word for `write`."""

    @property
    def access(self) -> AccessScope:
        """What the token is given."""
        if self is Scope.REVIEW:
            return REVIEW
        return READ if self is Scope.READ else WRITE


@app.command()
def new(
    *,
    scope: Annotated[
        Scope,
        typer.Option(
            help="read: ask questions. review: also decide on proposals in the console. write: also report outcomes "
            "and propose changes, and operate the console (operate says the same)."
        ),
    ] = Scope.READ,
    name: Annotated[
        str | None, typer.Option(help="Whose it is, for `list` and `revoke`.", show_default="SCOPE-N")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=3_650, help="How long it is good.", show_default="for ever")
    ] = None,
    file: FileOption = None,
) -> None:
    """Make a token. It is shown once and kept only as a digest.

    Give it to a client as the header "Authorization: Bearer TOKEN". As soon as there is one token,
    [bold]periplus mcp --transport http[/] asks everybody for one, and may serve other machines:

        export TOKEN=$(periplus mcp token new --scope read --name ci --days 90)
    """
    kept = _file(file)
    with _told():
        chosen = name or _free_name(scope, {entry.name for entry in kept.entries()})
        lives = None if days is None else timedelta(days=days)
        try:
            token, entry = tokens.mint(chosen, [scope.access], lives=lives)
        except ValidationError as exc:
            fix = "use letters, digits, and . _ - after the first one"
            raise UserError(f"--name {chosen!r} is no name of a token", fix=fix) from exc
        kept.add(entry)
    typer.echo(token)
    until = "" if entry.expires_at is None else f", good until {entry.expires_at:%Y-%m-%d}"
    typer.echo(f"token {entry.name!r} ({', '.join(entry.scopes)}{until}) kept in {kept.path}", err=True)


@app.command("list")
def show(*, file: FileOption = None) -> None:
    """Whose tokens there are, and what they may do."""
    kept = _file(file)
    with _told():
        entries = kept.entries()
    if not entries:
        typer.echo(f"no tokens in {kept.path}; make one with `periplus mcp token new`")
        return
    table = Table("name", "may", "made", "good until")
    now = datetime.now(UTC)
    for entry in entries:
        until = "for ever" if entry.expires_at is None else f"{entry.expires_at:%Y-%m-%d %H:%M} UTC"
        over = entry.expires_at is not None and entry.expires_at <= now
        table.add_row(
            entry.name, ", ".join(entry.scopes), f"{entry.created_at:%Y-%m-%d}", f"{until}{' (over)' * over}"
        )
    Console().print(table)


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `list` shows it.")],
    *,
    file: FileOption = None,
) -> None:
    """Forget a token. A running server refuses it from the next request on."""
    with _told():
        _file(file).remove(name)
    typer.echo(f"token {name!r} is revoked")


def _file(path: Path | None) -> tokens.TokenFile:
    return load_mcp_settings().token_file() if path is None else tokens.TokenFile(path)


def _free_name(scope: Scope, taken: set[str]) -> str:
    numbers = (f"{scope.value}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in numbers if name not in taken)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except tokens.TokensUnusable as exc:
        raise UserError(exc.message, fix=exc.hint) from exc
