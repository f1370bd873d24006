"""`periplus runs leads`: list or export what visitors of demos left in forms."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from kb_schema.service_records import VisitorLead
from kb_store.audit.audit_recorder import record
from periplus.commands.command_output import print_json
from periplus.demos.visitor_leads import VisitorLeads, format_csv
from periplus.errors import UserError
from periplus.run_store_adapters import open_run_store
from periplus.settings import load_settings
from periplus.store_selection import MongoUrl
from periplus.terminal.command_console import CommandConsole

out = CommandConsole()


def leads(
    *,
    website: Annotated[
        str | None, typer.Option("--website", "-w", metavar="ID", help="Only those of this website.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print them as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
    mongodb_url: MongoUrl = None,
) -> None:
    """List what visitors of demos left in the flow's form, the newest first.

    Example: [cyan]periplus runs leads --csv > leads.csv[/]

    Forms are shown and stored only if [bold]PERIPLUS_VISITOR_RETENTION_DAYS[/] is set, and deleted after these days.
    """
    if as_csv and as_json:
        raise UserError("--csv and --json exclude each other", fix="give one of them")
    found = asyncio.run(_read(website, mongodb_url))
    if as_csv:
        typer.echo(format_csv(found), nl=False)
    elif as_json:
        print_json(out, [each.model_dump(mode="json", exclude={"revision"}) for each in found])
    elif found:
        _print_table(found)
    else:
        _tell_none()


async def _read(website: str | None, mongodb_url: str | None) -> list[VisitorLead]:
    async with open_run_store(mongodb_url) as store:
        found = await VisitorLeads(store.service_records).list(website=website)
        if found:
            record("leads_read", "runs leads", website=website or "")
        return found


def _print_table(found: list[VisitorLead]) -> None:
    table = Table(box=None, header_style="dim")
    for heading in ("when", "entered", "demo", "link", "kept until"):
        table.add_column(heading, no_wrap=heading in ("when", "kept until"), overflow="fold")
    for each in found:
        table.add_row(
            f"{each.given_at.astimezone():%Y-%m-%d %H:%M}",
            "\n".join(f"{escape(entry.label)}: {escape(entry.value)}" for entry in each.entries),
            escape(f"{each.flow_id} of {each.website_id}"),
            escape(each.link or "-"),
            f"{each.expires_at.astimezone():%Y-%m-%d}",
        )
    out.print(table, highlight=False)


def _tell_none() -> None:
    out.print("no forms")
    if load_settings().visitor_retention_days == 0:
        out.print("[dim]Forms are not shown to visitors: PERIPLUS_VISITOR_RETENTION_DAYS is 0.[/]")
