"""`periplus kb proposals`: what runs propose to change, looked at and decided by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kb_schema.documents import did_you_mean
from kb_schema.proposals import CONFIRMED_BY, Proposal, Seen
from kb_store import Stores, deciding
from kb_store.changing import NothingToChange, ScreenMissing
from kb_store.deciding import AlreadyAccepted, ScreenFirst, in_order_of_need
from loaders.diff import changes_between
from periplus.commands.changes import change_line
from periplus.commands.wording import print_json
from periplus.errors import UserError
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen

app = typer.Typer(
    help="Changes that runs propose: list them, look at one, accept or reject.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]
Website = Annotated[
    str | None,
    typer.Option("--website", "-w", metavar="ID", help="Of this website only.", show_default=False),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="As [bold]list[/] shows it.", show_default=False)]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID...", help="As [bold]list[/] shows them.", show_default=False),
]

out = Console()


@app.command("list")
def list_(
    *,
    website: Website = None,
    everything: Annotated[bool, typer.Option("--all", help="Those already decided, too.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the proposals that wait for a decision, the oldest first.

    Example: [cyan]periplus kb proposals list[/]
    """
    found = [
        each
        for each in asyncio.run(_all(website, mongodb_url, arangodb_url))
        if everything or each.status == "proposed"
    ]
    if as_json:
        print_json(out, [_json(each) for each in found])
        return
    if not found:
        out.print("no proposals" if everything else "no proposals wait for a decision")
        return
    table = Table("id", "website", "what", "runs", "score", "state", box=SIMPLE_HEAD, header_style="dim")
    for column in table.columns[:4]:
        column.overflow = "fold"  # an id that is cut cannot be looked up
    for each in found:
        table.add_row(
            each.proposal_id,
            escape(each.website_id),
            escape(each.change.about),
            f"{each.succeeded} for, {each.failed} against",
            "" if each.score is None else f"{each.score:.2f}",
            _state(each),
        )
    out.print(table)


@app.command()
def show(
    proposal_id: Id, *, mongodb_url: MongoUrl = None, arangodb_url: ArangoUrl = None, as_json: AsJson = False
) -> None:
    """Show one proposal: what was, what would be, and every run that spoke.

    Example: [cyan]periplus kb proposals show 9ab69ec7052b[/]
    """
    (proposal,) = asyncio.run(_named([proposal_id], mongodb_url, arangodb_url))
    if as_json:
        print_json(out, _json(proposal))
        return
    about = f"[bold]{escape(proposal.change.about)}[/] of {escape(proposal.website_id)}"
    out.print(f"{proposal.proposal_id}  {about}  {_state(proposal)}", soft_wrap=True, highlight=False)
    out.print(f"proposed {proposal.proposed_at.astimezone():%Y-%m-%d %H:%M}", highlight=False)
    what = proposal.change.type
    for change in changes_between({what: proposal.before}, {what: proposal.change.said}):
        out.print(f"  {change_line(change)}", soft_wrap=True, highlight=False)
    for support in proposal.supports:
        mark = "[green]for[/]    " if support.succeeded else "[red]against[/]"
        score = "" if support.score is None else f", score {support.score:.2f}"
        note = f", {escape(support.note)}" if support.note else ""
        when = f"{support.at.astimezone():%Y-%m-%d %H:%M}"
        out.print(
            f"  {mark} run {escape(support.run_id)}, {when}{score}{note}", soft_wrap=True, highlight=False
        )
        for seen in support.seen:
            out.print(f"            {_seen_line(seen)}", soft_wrap=True, highlight=False)


@app.command()
def accept(
    proposal_ids: Ids = None,
    *,
    confirmed: Annotated[
        bool, typer.Option("--confirmed", help=f"All that {CONFIRMED_BY} more runs speak for than against.")
    ] = False,
    website: Website = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make proposals part of the knowledge, each as a new generation.

    Example: [cyan]periplus kb proposals accept 9ab69ec7052b[/]

    [bold]periplus kb export[/] then shows them; take them over into your files.
    """
    if bool(proposal_ids) == confirmed:
        raise UserError("name proposals, or say --confirmed", fix="`periplus kb proposals list` shows them")
    done = asyncio.run(_accept(proposal_ids or [], website, mongodb_url, arangodb_url))
    if as_json:
        print_json(out, [{"generation": generation, **_json(each)} for each, generation in done])
        return
    for each, generation in done:
        how = "was so already" if generation is None else f"generation {generation}"
        out.print(
            f"[green]accepted[/] {each.proposal_id} {escape(each.change.about)}: {how}",
            soft_wrap=True,
            highlight=False,
        )
    if not done:
        out.print("no confirmed proposals wait for a decision")


@app.command()
def reject(
    proposal_ids: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="As [bold]list[/] shows them.", show_default=False),
    ],
    *,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Say no to proposals; they are kept, so that the same is not proposed anew.

    Example: [cyan]periplus kb proposals reject 9ab69ec7052b[/]
    """
    done = asyncio.run(_reject(proposal_ids, mongodb_url, arangodb_url))
    if as_json:
        print_json(out, [_json(each) for each in done])
        return
    for each in done:
        out.print(
            f"[yellow]rejected[/] {each.proposal_id} {escape(each.change.about)}",
            soft_wrap=True,
            highlight=False,
        )


# -- the stores ----------------------------------------------------------------------------------


async def _all(website: str | None, mongodb_url: str | None, arangodb_url: str | None) -> Sequence[Proposal]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        return await stores.proposals.proposals(website)


async def _named(ids: Sequence[str], mongodb_url: str | None, arangodb_url: str | None) -> list[Proposal]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        return await _found(stores, ids)


async def _found(stores: Stores, ids: Sequence[str]) -> list[Proposal]:
    """The proposals of these ids, or beginnings of ids that only one has. Raises `UserError`."""
    known = await stores.proposals.proposals()
    found = []
    for name in dict.fromkeys(ids):
        fitting = [each for each in known if each.proposal_id.startswith(name)]
        if len(fitting) != 1:
            names = [each.proposal_id for each in known]
            fix = did_you_mean(name, names) or "`periplus kb proposals list --all` shows them"
            message = f"{len(fitting)} proposals begin with {name!r}" if fitting else f"no proposal {name!r}"
            raise UserError(message, fix=fix)
        found.append(fitting[0])
    return found


async def _accept(
    ids: Sequence[str], website: str | None, mongodb_url: str | None, arangodb_url: str | None
) -> list[tuple[Proposal, int | None]]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        if ids:
            chosen = await _found(stores, ids)
        else:
            known = await stores.proposals.proposals(website)
            chosen = [each for each in known if each.status == "proposed" and each.confirmed]
        for each in chosen:
            if website not in (None, each.website_id):
                raise UserError(f"{each.proposal_id} is of {each.website_id!r}", fix="leave out --website")
        return [await _accepted(stores, each) for each in in_order_of_need(chosen)]


async def _accepted(stores: Stores, proposal: Proposal) -> tuple[Proposal, int | None]:
    try:
        return await deciding.accept(stores, proposal)
    except ScreenFirst as exc:
        fix = f"accept the screen too: `periplus kb proposals accept {exc.screen.proposal_id}`"
        raise UserError(str(exc), fix=fix) from exc
    except ScreenMissing as exc:
        fix = (
            f"add the screen {exc.screen_id!r} to your files and load them, or reject it: "
            f"`periplus kb proposals reject {proposal.proposal_id}`"
        )
        raise UserError(str(exc), fix=fix) from exc
    except NothingToChange as exc:
        fix = f"reject it: `periplus kb proposals reject {proposal.proposal_id}`"
        raise UserError(str(exc), fix=fix) from exc


async def _reject(ids: Sequence[str], mongodb_url: str | None, arangodb_url: str | None) -> list[Proposal]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        try:
            return await deciding.reject(stores, await _found(stores, ids))
        except AlreadyAccepted as exc:
            fix = "load files without it: `periplus kb load DIR --replace-learned`"
            raise UserError(str(exc), fix=fix) from exc


# -- showing -------------------------------------------------------------------------------------


def _seen_line(seen: Seen) -> str:
    """Where the pages are that show what a run says."""
    parts = [seen.when, seen.url, seen.snapshot and f"snapshot {seen.snapshot}", seen.picture]
    return escape(", ".join(part for part in parts if part))


def _state(proposal: Proposal) -> str:
    if proposal.status != "proposed":
        style = {"accepted": "green", "rejected": "yellow"}.get(proposal.status, "dim")
        return f"[{style}]{proposal.status}[/]"
    if proposal.confirmed:
        return "[green]confirmed[/]"
    return f"proposed ({max(0, CONFIRMED_BY - proposal.succeeded + proposal.failed)} more runs to confirm)"


def _json(proposal: Proposal) -> dict[str, Any]:
    return {
        "proposal_id": proposal.proposal_id,
        "website_id": proposal.website_id,
        "about": proposal.change.about,
        "status": proposal.status,
        "confirmed": proposal.confirmed,
        "runs_for": proposal.succeeded,
        "runs_against": proposal.failed,
        "score": proposal.score,
        "proposed_at": proposal.proposed_at.isoformat(),
        "decided_at": None if proposal.decided_at is None else proposal.decided_at.isoformat(),
        "change": proposal.change.to_json() | {"type": proposal.change.type},
        "before": proposal.before,
        "runs": [each.model_dump(mode="json") for each in proposal.supports],
    }
