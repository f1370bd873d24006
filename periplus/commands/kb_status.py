"""`periplus kb status`: what is in the stores, how they are, and what to do about it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kb_schema.proposals import ProposalStatus
from kb_schema.runs import RunStatus
from kb_store import Stores, StoreStatus, WebsiteStatus, store_status
from kb_store.learned import Kind
from kb_store.runs import RunStore
from kb_store.status import Beside, Lasting
from periplus.commands.wording import counted, print_json
from periplus.errors import EXIT_USER
from periplus.logbook import unprepared_logbook
from periplus.shelves import ArangoUrl, MongoUrl, unprepared

AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]

UNFINISHED = "unfinished"
"""What runs are called that go on, or were killed."""

_LEARNED: dict[Kind, str] = {
    "transition": "transition",
    "recovery": "recovery edge",
    "element": "element strategy",
}
"""Kind of what was learned -> what it is called."""

_PROPOSALS: dict[ProposalStatus, str] = {
    "replaced": "replaced by another",
    "accepted": "accepted",
    "rejected": "rejected",
    "proposed": "open",
}
"""What became of a proposal -> what that is called; what waits for a person comes last."""

out = Console()


def status(*, mongodb_url: MongoUrl = None, arangodb_url: ArangoUrl = None, as_json: AsJson = False) -> None:
    """Show what is in the stores: health, and of each website its counts and generation.

    Example: [cyan]periplus kb status[/]

    Counted are the documents of the active generation, and what has none:
    what was learned, proposals, runs. Nothing is made that is missing.
    Ends with code 2 where a store does not answer or knowledge is damaged.
    """
    found = asyncio.run(_status(unprepared(mongodb_url, arangodb_url), unprepared_logbook(mongodb_url)))
    if as_json:
        print_json(out, _json(found))
    else:
        _print(found)
    if not found.healthy:
        raise typer.Exit(EXIT_USER)


async def _status(
    opening: AbstractAsyncContextManager[Stores], logbook: AbstractAsyncContextManager[RunStore]
) -> StoreStatus:
    async with opening as stores, logbook as runs:
        beside = Beside(stores.learned, stores.proposals, runs)
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


def _lasting_json(lasting: Lasting | None) -> dict[str, Any]:
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
        "[green]whole[/]"
        if website.whole
        else f"[red]damaged[/]: {escape(website.problem)}; loading it again mends it"
    ]
    if website.loading:
        told.append(f"[yellow]being loaded by {escape(str(website.loading.owner))}[/]")
    if website.pinned:
        told.append(f"older generations being read: {', '.join(map(str, website.pinned))}")
    if website.leftovers:
        told.append(f"left over, the next load collects: {', '.join(map(str, website.leftovers))}")
    return "; ".join(told)


def _lasting_lines(lasting: Lasting) -> dict[str, str]:
    """What there is, by what it is called; where something waits for a person, how to get at it."""
    learned = [
        counted(lasting.learned[kind], name) for kind, name in _LEARNED.items() if kind in lasting.learned
    ]
    proposals = [
        f"{lasting.proposals[each]:,} {name}"
        for each, name in _PROPOSALS.items()
        if each in lasting.proposals
    ]
    if "proposed" in lasting.proposals:
        proposals[-1] += " [dim](`periplus kb proposals list`)[/]"
    runs = [f"{number:,} {name.replace('_', ' ')}" for name, number in _runs(lasting).items() if number]
    total = counted(sum(lasting.runs.values()), "run")
    return {
        "learned": f"from outcomes of {', '.join(learned)}" if learned else "nothing yet",
        "proposals": ", ".join(proposals) or "none",
        "runs": f"{total}: {', '.join(runs)}" if runs else "none",
    }


def _runs(lasting: Lasting) -> dict[str, int]:
    ended = {status.value: lasting.runs.get(status, 0) for status in RunStatus}
    return {**ended, UNFINISHED: lasting.runs.get(None, 0)}
