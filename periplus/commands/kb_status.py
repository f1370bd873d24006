"""`periplus kb status`: show the health and the contents of the stores."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from kb_schema.run_records import RunStatus
from kb_store import Stores, StoreStatus, WebsiteStatus, store_status
from kb_store.status import UnversionedCounts, UnversionedStores
from periplus.commands.command_output import AsJson, format_count, print_json
from periplus.exit_codes import ExitCode
from periplus.run_store_adapters import open_unprepared_run_store
from periplus.store_selection import ArangoUrl, MongoUrl, open_unprepared_stores
from periplus.terminal.command_console import CommandConsole

if TYPE_CHECKING:
    from kb_schema.proposals import ProposalStatus
    from kb_store.learned.learned_numbers import SubjectKind
    from kb_store.runs.run_store import RunStore


UNFINISHED = "unfinished"
"""The status shown for runs that are running or were killed."""

_LEARNED: dict[SubjectKind, str] = {
    "transition": "transition",
    "recovery": "recovery edge",
    "element": "element strategy",
}
"""Kind of learned data -> its name in the output."""

_PROPOSALS: dict[ProposalStatus, str] = {
    "replaced": "replaced by another",
    "accepted": "accepted",
    "rejected": "rejected",
    "proposed": "open",
}
"""Status of a proposal -> its name in the output; open proposals come last."""

out = CommandConsole()


def status(*, mongodb_url: MongoUrl = None, arangodb_url: ArangoUrl = None, as_json: AsJson = False) -> None:
    """Show the health of the stores, and the generation and counts of each website.

    Example: [cyan]periplus kb status[/]

    The counts cover the documents of the active generation, and the data that
    has no generations: learned data, proposals and runs. The command only
    reads; it creates no missing collections.
    Exit code 2 if a store does not answer or knowledge is damaged.
    """
    found = asyncio.run(
        _status(open_unprepared_stores(mongodb_url, arangodb_url), open_unprepared_run_store(mongodb_url))
    )
    if as_json:
        print_json(out, _json(found))
    else:
        _print(found)
    if not found.healthy:
        raise typer.Exit(ExitCode.USER_ERROR)


async def _status(
    opening: AbstractAsyncContextManager[Stores], run_store: AbstractAsyncContextManager[RunStore]
) -> StoreStatus:
    async with opening as stores, run_store as runs:
        beside = UnversionedStores(stores.learned, stores.proposals, runs)
        return await store_status(stores.documents, stores.graph, beside)


# -- for scripts ---------------------------------------------------------------------------------


def _json(status: StoreStatus) -> dict[str, Any]:
    return {
        "healthy": status.healthy,
        "schema_version": status.schema_version,
        "stores": {
            name: {"address": health.address, "ok": health.ok, "detail": health.detail}
            for name, health in status.stores.items()
        },
        "websites": [
            {
                "website_id": website.active.website_id,
                "generation": website.active.generation,
                "loaded_at": website.active.loaded_at.isoformat(),
                "schema_version": website.active.schema_version,
                "counts": _counts(website),
                "whole": website.whole,
                "problem": website.problem or None,
                "leftovers": list(website.leftovers),
                "pinned": list(website.pinned),
                "loading": None if website.loading is None else str(website.loading.owner),
                **_lasting_json(website.lasting),
            }
            for website in status.websites
        ],
    }


def _counts(status: WebsiteStatus) -> dict[str, int]:
    active = status.active
    groups = active.vertices.get("screen_group", 0)
    return {**active.documents, **({"screen_group": groups} if groups else {}), **active.edges}


def _lasting_json(lasting: UnversionedCounts | None) -> dict[str, Any]:
    if lasting is None:
        return {"learned": None, "proposals": None, "runs": None}
    return {
        "learned": {kind: lasting.learned.get(kind, 0) for kind in _LEARNED},
        "proposals": {status: lasting.proposals.get(status, 0) for status in _PROPOSALS},
        "runs": _runs(lasting),
    }


# -- for people ----------------------------------------------------------------------------------


def _print(status: StoreStatus) -> None:
    for name, health in status.stores.items():
        state = "[green]ok[/]  " if health.ok else "[red]down[/]"
        out.print(
            f"{state} {name:<9} {escape(health.address)}  [dim]{escape(health.detail)}[/]",
            soft_wrap=True,
            highlight=False,
        )
    if not status.documents.ok or not status.graph.ok:
        return
    if not status.websites:
        out.print("nothing is loaded yet: [cyan]periplus kb load DIR[/]")
        return
    for website in status.websites:
        _print_website(website)


def _print_website(website: WebsiteStatus) -> None:
    active = website.active
    out.print(
        f"\n[bold]{escape(active.website_id)}[/] generation {active.generation}, loaded "
        f"{active.loaded_at.astimezone():%Y-%m-%d %H:%M:%S}, schema {active.schema_version}: {_state(website)}",
        soft_wrap=True,
        highlight=False,
    )
    table = Table("kind", "documents", box=SIMPLE_HEAD, header_style="dim")
    table.columns[1].justify = "right"
    for kind, number in _counts(website).items():
        table.add_row(kind, f"{number:,}")
    out.print(table)
    if website.lasting is not None:
        for what, told in _lasting_lines(website.lasting).items():
            out.print(f"  [dim]{what:<9}[/] {told}", soft_wrap=True, highlight=False)


def _state(website: WebsiteStatus) -> str:
    told = [
        "[green]complete[/]"
        if website.whole
        else f"[red]damaged[/]: {escape(website.problem)}; load it again to repair it"
    ]
    if website.loading:
        told.append(f"[yellow]being loaded by {escape(str(website.loading.owner))}[/]")
    if website.pinned:
        told.append(f"older generations still being read: {', '.join(map(str, website.pinned))}")
    if website.leftovers:
        told.append(f"left over until the next load: {', '.join(map(str, website.leftovers))}")
    return "; ".join(told)


def _lasting_lines(lasting: UnversionedCounts) -> dict[str, str]:
    """Return one line each for learned data, proposals and runs."""
    learned = [
        format_count(lasting.learned[kind], name)
        for kind, name in _LEARNED.items()
        if kind in lasting.learned
    ]
    proposals = [
        f"{lasting.proposals[each]:,} {name}"
        for each, name in _PROPOSALS.items()
        if each in lasting.proposals
    ]
    if "proposed" in lasting.proposals:
        proposals[-1] += " [dim](`periplus kb proposals list`)[/]"
    runs = [f"{number:,} {name.replace('_', ' ')}" for name, number in _runs(lasting).items() if number]
    total = format_count(sum(lasting.runs.values()), "run")
    return {
        "learned": f"from outcomes of {', '.join(learned)}" if learned else "nothing yet",
        "proposals": ", ".join(proposals) or "none",
        "runs": f"{total}: {', '.join(runs)}" if runs else "none",
    }


def _runs(lasting: UnversionedCounts) -> dict[str, int]:
    ended = {status.value: lasting.runs.get(status, 0) for status in RunStatus}
    return {**ended, UNFINISHED: lasting.runs.get(None, 0)}
