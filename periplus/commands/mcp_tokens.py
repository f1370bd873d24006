"""`periplus mcp token`: create, list and revoke bearer tokens for the MCP server over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.table import Table

from kb_store.audit.audit_recorder import record
from mcp_server.security import bearer_tokens
from mcp_server.security.access_scopes import READ, REVIEW, WRITE, AccessScope
from periplus.audit_setup import start_audit_log
from periplus.errors import UserError
from periplus.mcp_settings import load_mcp_settings
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(
    help="Create, list and revoke bearer tokens for the MCP server over HTTP.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="PATH",
        help="The tokens file; default: PERIPLUS_MCP_TOKENS, else mcp-tokens.json in the data directory.",
        show_default=False,
    ),
]


class TokenScope(StrEnum):
    """The permissions of a token."""

    READ = READ
    REVIEW = REVIEW
    WRITE = WRITE
    OPERATE = "operate"
    """The console's name for `write`."""

    @property
    def access(self) -> AccessScope:
        """Return the access scope stored with the token."""
        if self is TokenScope.REVIEW:
            return REVIEW
        return READ if self is TokenScope.READ else WRITE


@app.command()
def new(
    *,
    scope: Annotated[
        TokenScope,
        typer.Option(
            help="read: query the knowledge base. review: also decide on proposals in the console. write: also "
            "report outcomes, propose changes, and operate the console (operate: the same)."
        ),
    ] = TokenScope.READ,
    name: Annotated[
        str | None, typer.Option(help="A name for `list` and `revoke`.", show_default="SCOPE-N")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=3_650, help="Days until it expires.", show_default="never")
    ] = None,
    file: FileOption = None,
) -> None:
    """Create a token. It is shown once; only its digest is stored.

    Clients send it in the header "Authorization: Bearer TOKEN". As soon as one token exists,
    [bold]periplus mcp --transport http[/] requires a token from every client, and may serve other machines:

        export TOKEN=$(periplus mcp token new --scope read --name ci --days 90)
    """
    kept = _file(file)
    with _report_token_errors():
        chosen = name or _free_name(scope, {entry.name for entry in kept.entries()})
        lives = None if days is None else timedelta(days=days)
        try:
            token, entry = bearer_tokens.mint_token(chosen, [scope.access], lives=lives)
        except ValidationError as exc:
            fix = "use letters and digits; . _ - are allowed after the first character"
            raise UserError(f"--name {chosen!r} is not a valid token name", fix=fix) from exc
        kept.add(entry)
    start_audit_log()
    record("token_made", f"token {chosen} ({', '.join(entry.scopes)})")
    typer.echo(token)
    until = "" if entry.expires_at is None else f", expires {entry.expires_at:%Y-%m-%d}"
    typer.echo(f"token {entry.name!r} ({', '.join(entry.scopes)}{until}) stored in {kept.path}", err=True)


@app.command("list")
def show(*, file: FileOption = None) -> None:
    """List the tokens with their permissions and expiry dates."""
    kept = _file(file)
    with _report_token_errors():
        entries = kept.entries()
    if not entries:
        typer.echo(f"no tokens in {kept.path}; create one with `periplus mcp token new`")
        return
    table = Table("name", "permissions", "created", "expires")
    now = datetime.now(UTC)
    for entry in entries:
        until = "never" if entry.expires_at is None else f"{entry.expires_at:%Y-%m-%d %H:%M} UTC"
        over = entry.expires_at is not None and entry.expires_at <= now
        table.add_row(
            entry.name,
            ", ".join(entry.scopes),
            f"{entry.created_at:%Y-%m-%d}",
            f"{until}{' (expired)' * over}",
        )
    CommandConsole().print(table)


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that `list` shows.")],
    *,
    file: FileOption = None,
) -> None:
    """Revoke a token. A running server refuses it from the next request on."""
    with _report_token_errors():
        _file(file).remove(name)
    start_audit_log()
    record("token_revoked", f"token {name}")
    typer.echo(f"token {name!r} is revoked")


def _file(path: Path | None) -> bearer_tokens.TokenFile:
    return load_mcp_settings().token_file() if path is None else bearer_tokens.TokenFile(path)


def _free_name(scope: TokenScope, taken: set[str]) -> str:
    numbers = (f"{scope.value}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in numbers if name not in taken)


@contextmanager
def _report_token_errors() -> Iterator[None]:
    try:
        yield
    except bearer_tokens.TokenSetupError as exc:
        raise UserError(exc.message, fix=exc.hint) from exc
