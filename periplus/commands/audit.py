"""`periplus audit`: list, export and check the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from kb_schema.documents import did_you_mean
from kb_store.audit.audit_entry import ACTIONS
from kb_store.audit.audit_log import AuditFilter
from kb_store.audit.audit_recorder import record
from loaders.markup_escapes import one_line
from periplus.audit_setup import open_audit_log, start_audit_log
from periplus.commands.command_output import print_json
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.terminal.command_console import CommandConsole

ERASED = "(erased)"
LONGEST = 80

app = typer.Typer(
    help="List, export and check the audit log: who did, approved, changed and opened what.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Only entries from then on: 2026-11-22, 2026-11-22T15:50:00 (UTC), or the last 7d, 12h, 30m.",
        show_default=False,
    ),
]
ActorOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Only entries whose actor has this text.", show_default=False),
]
ActionOption = Annotated[
    str | None, typer.Option(metavar="ACTION", help=f"Only these: {', '.join(ACTIONS)}.", show_default=False)
]

out = CommandConsole()


@app.command("list")
def list_(
    *,
    since: Since = None,
    actor: ActorOption = None,
    action: ActionOption = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100_000, help="Maximum number of entries.")
    ] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """List the entries, the newest first.

    Example: [cyan]periplus audit list --since 7d --action proposal_accepted[/]
    """
    wanted = AuditFilter(None if since is None else parse_since(since), actor, parse_action(action))
    found = open_audit_log().newest(limit, wanted)
    if as_json:
        print_json(out, [each.to_view() for each in found])
        return
    if not found:
        out.print("no entries")
        return
    table = Table(
        "time (UTC)", "who", "what", "about", "website", "outcome", box=SIMPLE_HEAD, header_style="dim"
    )
    for each in found:
        texts = (each.actor.text, each.about.text, each.website.text)
        who, about, website = (ERASED if text is None else escape(one_line(text, LONGEST)) for text in texts)
        table.add_row(
            f"{each.time.astimezone(UTC):%Y-%m-%d %H:%M:%S}", who, each.action, about, website, each.outcome
        )
    out.print(table)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")],
) -> None:
    """Write all entries to a file, one JSON object a line, with hashes.

    Example: [cyan]periplus audit export audit-2026.jsonl[/]
    """
    log = start_audit_log()
    many = 0
    try:
        with file.open("x", encoding="utf-8") as target:
            file.chmod(0o600)
            for entry in log.entries():
                target.write(f"{entry.to_line()}\n")
                many += 1
    except FileExistsError as exc:
        raise UserError(f"{file} exists already", fix="give another name") from exc
    except FileNotFoundError as exc:
        raise UserError(f"{file.parent} is no folder", fix="create it first") from exc
    record("audit_exported", f"{many} entries")
    typer.echo(f"{many} entries written to {file}")


@app.command()
def verify(
    *,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="HASH",
            help="The last hash that an earlier check printed: the log must still have it.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check that no entry was changed or removed. Exit code 1 if one was.

    Somebody who can write the folder can also write a whole new log. Keep the printed hash elsewhere, and give it
    with [bold]--head[/] next time.
    """
    check = open_audit_log().verify(head)
    if as_json:
        print_json(
            out,
            {
                "entries": check.entries,
                "erased": check.erased,
                "head": check.head,
                "problems": check.problems,
                "more": check.more,
            },
        )
    else:
        for problem in check.problems:
            out.print(f"[red]x[/] {escape(problem)}", soft_wrap=True, highlight=False)
        if check.more:
            out.print(f"and {check.more} more")
        erased = f", {check.erased} with erased texts" if check.erased else ""
        state = "[red]the log was changed[/]" if check.problems else "[green]unchanged[/]"
        out.print(f"{check.entries} entries{erased}: {state}", highlight=False)
        out.print(f"last hash: {check.head}", soft_wrap=True, highlight=False)
    if check.problems:
        raise typer.Exit(ExitCode.FAILED)


def parse_since(text: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> datetime:
    """Return the time that `--since` names. Raises `UserError`."""
    number, unit = text[:-1], text[-1:]
    if number.isdecimal() and unit in ("d", "h", "m") and len(number) < 6:
        hours = int(number) * {"d": 24.0, "h": 1.0, "m": 1 / 60}[unit]
        return now() - timedelta(hours=hours)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as exc:
        fix = "write a date such as 2026-11-22, or 7d, 12h, 30m"
        raise UserError(f"--since: expected a time, found {text!r}", fix=fix) from exc
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def parse_action(text: str | None) -> str | None:
    """Return the action that `--action` names. Raises `UserError` for an unknown one."""
    if text is None or text in ACTIONS:
        return text
    raise UserError(
        f"--action: no action {text!r}", fix=did_you_mean(text, ACTIONS) or f"one of: {', '.join(ACTIONS)}"
    )
