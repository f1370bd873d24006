"""`periplus kb proposals`: what runs propose to change, looked at and decided by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_schema.documents import did_you_mean
from kb_schema.proposals import CONFIRMED_BY, Proposal, Seen
from kb_store import NoSuchWebsite, Stores, deciding, read_knowledge
from kb_store.changing import NothingToChange, ScreenMissing
from kb_store.deciding import AlreadyAccepted, ChangedSince, ScreenFirst, check_base, in_order_of_need
from loaders import read_knowledge_folder
from loaders.applying import Applied, apply_changes
from loaders.diff import changes_between
from loaders.escaping import one_line
from loaders.proposal_files import read_proposals, write_proposals
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
Into = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Write into the files of this knowledge base, and not into the store.",
        show_default=False,
    ),
]
Anyway = Annotated[
    bool,
    typer.Option("--anyway", help="Also where the knowledge has changed there since it was proposed."),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="As [bold]list[/] shows it.", show_default=False)]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID...", help="As [bold]list[/] shows them.", show_default=False),
]

LONGEST_NOTE = 1_000
"""Characters of what a run says, as it is kept."""

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
    proposal, since = asyncio.run(_shown(proposal_id, mongodb_url, arangodb_url))
    if as_json:
        told = {} if since is None else {"changed_since": True, "now": since.now}
        print_json(out, _json(proposal) | told)
        return
    about = f"[bold]{escape(proposal.change.about)}[/] of {escape(proposal.website_id)}"
    out.print(f"{proposal.proposal_id}  {about}  {_state(proposal)}", soft_wrap=True, highlight=False)
    out.print(f"proposed {proposal.proposed_at.astimezone():%Y-%m-%d %H:%M}", highlight=False)
    what = proposal.change.type
    for change in changes_between({what: proposal.before}, {what: proposal.change.said}):
        out.print(f"  {change_line(change)}", soft_wrap=True, highlight=False)
    if since is not None:
        out.print(f"[yellow]{escape(str(since))}[/]; accepted now, it would do this:", highlight=False)
        for change in changes_between({what: since.now}, {what: proposal.change.said}):
            out.print(f"  {change_line(change)}", soft_wrap=True, highlight=False)
    for support in proposal.supports:
        mark = "[green]for[/]    " if support.succeeded else "[red]against[/]"
        score = "" if support.score is None else f", score {support.score:.2f}"
        note = f", {escape(one_line(support.note, LONGEST_NOTE))}" if support.note else ""
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
    into: Into = None,
    anyway: Anyway = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make proposals part of the knowledge, each as a new generation; or write them into your files.

    Example: [cyan]periplus kb proposals accept 9ab69ec7052b --into kb/[/]

    Without --into, [bold]periplus kb export[/] shows them; take them over into your files.
    """
    if bool(proposal_ids) == confirmed:
        raise UserError("name proposals, or say --confirmed", fix="`periplus kb proposals list` shows them")
    if into is not None:
        chosen = asyncio.run(_chosen_only(proposal_ids or [], website, mongodb_url, arangodb_url))
        _tell_applied(into, chosen, _written_into(into, chosen, anyway=anyway), as_json=as_json)
        return
    done: list[_Done] = []
    try:
        asyncio.run(_accept(done, proposal_ids or [], website, mongodb_url, arangodb_url, anyway=anyway))
    finally:  # what is done before one is refused stays done, and is told
        _tell_done(done, as_json=as_json)
    if not done and not as_json:
        out.print("no confirmed proposals wait for a decision")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write.", show_default=False)],
    *,
    website: Website = None,
    everything: Annotated[bool, typer.Option("--all", help="Those already decided, too.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Write proposals as files, to be looked at in a branch: one each, with its evidence.

    Example: [cyan]periplus kb proposals export proposals/ --website spadeworks[/]

    Decisions written in files that are there stay. [bold]apply[/] does what was decided.
    """
    try:
        names = asyncio.run(_export(folder, website, everything, mongodb_url, arangodb_url))
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="name another folder"
        ) from exc
    number = f"{len(names)} proposal{'' if len(names) == 1 else 's'}"
    out.print(f"[green]wrote[/] {number} to {escape(str(folder))}", soft_wrap=True, highlight=False)


@app.command()
def apply(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="As [bold]export[/] wrote it.", show_default=False)
    ],
    *,
    into: Into = None,
    anyway: Anyway = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Do what was decided in files: accept and reject in the store, or write into your files.

    Example: [cyan]periplus kb proposals apply proposals/ --into kb/[/]

    Undecided ones are left as they are. Proposals that the store does not know are made known to it.
    """
    decided = read_proposals(folder)
    accepted = [each.said.proposal for each in decided if each.said.decision == "accept"]
    if into is not None:
        _tell_applied(into, accepted, _written_into(into, accepted, anyway=anyway), as_json=as_json)
        return
    rejected = [each.said.proposal for each in decided if each.said.decision == "reject"]
    done: list[_Done] = []
    try:
        asyncio.run(_apply(done, accepted, rejected, mongodb_url, arangodb_url, anyway=anyway))
    finally:
        _tell_done(done, as_json=as_json)
    left = len(decided) - len(accepted) - len(rejected)
    if not as_json and (left or not done):
        out.print(f"{left} undecided", highlight=False)


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
    _tell_done([_Done(each) for each in done], as_json=as_json)


# -- the stores ----------------------------------------------------------------------------------


async def _all(website: str | None, mongodb_url: str | None, arangodb_url: str | None) -> Sequence[Proposal]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        return await _of(stores, website)


async def _of(stores: Stores, website: str | None) -> Sequence[Proposal]:
    """The proposals of a website, or of all. Raises `UserError` for one that the store knows nothing of."""
    found = await stores.proposals.proposals(website)
    if website is not None and not found:
        known = [active.website_id for active in await stores.documents.websites()]
        if website not in known:
            fix = did_you_mean(website, known) or f"known: {', '.join(sorted(known)) or 'none'}"
            raise UserError(f"no website {website!r} in the store", fix=fix)
    return found


async def _shown(
    name: str, mongodb_url: str | None, arangodb_url: str | None
) -> tuple[Proposal, ChangedSince | None]:
    """A proposal, and what the knowledge says there now if that is not what it said then."""
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        (proposal,) = await _found(stores, [name])
        if proposal.status != "proposed":
            return proposal, None
        try:
            knowledge, _ = await read_knowledge(stores.documents, stores.graph, proposal.website_id)
            check_base(knowledge, proposal)
        except NoSuchWebsite:
            return proposal, None
        except ChangedSince as exc:
            return proposal, exc
        return proposal, None


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


@dataclass(frozen=True, slots=True)
class _Done:
    """A proposal that was decided."""

    proposal: Proposal
    generation: int | None = None
    """The first that has it; None where it was so already, and of those that are rejected."""


async def _accept(
    done: list[_Done], ids: Sequence[str], website: str | None, mongodb_url: str | None,
    arangodb_url: str | None, *, anyway: bool,
) -> None:  # fmt: skip
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        for each in in_order_of_need(await _chosen(stores, ids, website)):
            done.append(await _accepted(stores, each, anyway=anyway))  # noqa: PERF401 - kept where the next is refused


async def _chosen(stores: Stores, ids: Sequence[str], website: str | None) -> list[Proposal]:
    """Those that are named, or all that are confirmed."""
    if not ids:
        known = await _of(stores, website)
        return [each for each in known if each.status == "proposed" and each.confirmed]
    chosen = await _found(stores, ids)
    for each in chosen:
        if website not in (None, each.website_id):
            raise UserError(f"{each.proposal_id} is of {each.website_id!r}", fix="leave out --website")
    return chosen


async def _chosen_only(
    ids: Sequence[str], website: str | None, mongodb_url: str | None, arangodb_url: str | None
) -> list[Proposal]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        return await _chosen(stores, ids, website)


async def _export(
    folder: Path, website: str | None, everything: bool, mongodb_url: str | None, arangodb_url: str | None
) -> list[str]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        kept = await _of(stores, website)
        chosen = [each for each in kept if everything or each.status == "proposed"]
        names: list[str] = []
        for website_id in dict.fromkeys(each.website_id for each in chosen):
            own = [each for each in chosen if each.website_id == website_id]
            try:
                knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
            except NoSuchWebsite:
                names += write_proposals(own, folder)
            else:
                names += write_proposals(own, folder, knowledge)
        return names


async def _apply(
    done: list[_Done], accepted: Sequence[Proposal], rejected: Sequence[Proposal], mongodb_url: str | None,
    arangodb_url: str | None, *, anyway: bool,
) -> None:  # fmt: skip
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        for each in (*accepted, *rejected):
            await stores.proposals.support(each, None)
            for support in each.supports:
                await stores.proposals.support(each, support)
        done += [_Done(each) for each in await _rejected(stores, rejected)]  # all of them or none, so first
        for each in in_order_of_need(accepted):
            done.append(await _accepted(stores, each, anyway=anyway))


def _written_into(folder: Path, proposals: Sequence[Proposal], *, anyway: bool) -> Applied:
    """The changes made in the files of a knowledge base's folder."""
    knowledge, _ = read_knowledge_folder(folder)
    first: dict[str, Proposal] = {}
    for each in proposals:
        if each.website_id != knowledge.website.website_id:
            raise UserError(
                f"{each.proposal_id} is of {each.website_id!r}, {folder} of {knowledge.website.website_id!r}",
                fix="name the folder of that website",
            )
        other = first.setdefault(each.change.about, each)
        if other.proposal_id != each.proposal_id:
            raise UserError(
                f"{other.proposal_id} and {each.proposal_id} are both about the {each.change.about}",
                fix="accept one of them",
            )
        if not anyway:
            _check_base(knowledge, each)
    try:
        return apply_changes(folder, [each.change for each in in_order_of_need(proposals)])
    except ScreenMissing as exc:
        fix = f"accept the proposal of the screen {exc.screen_id!r} with it"
        raise UserError(str(exc), fix=fix) from exc
    except NothingToChange as exc:
        raise UserError(str(exc), fix="leave that proposal out, or reject it") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}",
            fix="make room or rights, and do it again: what is written already stays as it is",
        ) from exc


def _check_base(knowledge: KnowledgeBase, proposal: Proposal) -> None:
    try:
        check_base(knowledge, proposal)
    except ChangedSince as exc:
        raise _changed_since(exc) from exc


def _changed_since(exc: ChangedSince) -> UserError:
    name = exc.proposal.proposal_id
    return UserError(
        f"{name}: {exc}",
        fix=f"compare with `periplus kb proposals show {name}`, then reject it, or accept it with --anyway",
    )


async def _accepted(stores: Stores, proposal: Proposal, *, anyway: bool) -> _Done:
    try:
        return _Done(*await deciding.accept(stores, proposal, anyway=anyway))
    except ScreenFirst as exc:
        fix = f"accept the screen too: `periplus kb proposals accept {exc.screen.proposal_id}`"
        raise UserError(str(exc), fix=fix) from exc
    except ScreenMissing as exc:
        fix = (
            f"add the screen {exc.screen_id!r} to your files and load them, or reject it: "
            f"`periplus kb proposals reject {proposal.proposal_id}`"
        )
        raise UserError(str(exc), fix=fix) from exc
    except ChangedSince as exc:
        raise _changed_since(exc) from exc
    except NothingToChange as exc:
        fix = f"reject it: `periplus kb proposals reject {proposal.proposal_id}`"
        raise UserError(str(exc), fix=fix) from exc


async def _reject(ids: Sequence[str], mongodb_url: str | None, arangodb_url: str | None) -> list[Proposal]:
    async with open_chosen(mongodb_url, arangodb_url) as stores:
        return await _rejected(stores, await _found(stores, ids))


async def _rejected(stores: Stores, proposals: Sequence[Proposal]) -> list[Proposal]:
    try:
        return await deciding.reject(stores, proposals)
    except AlreadyAccepted as exc:
        fix = "load files without it: `periplus kb load DIR --replace-learned`"
        raise UserError(str(exc), fix=fix) from exc


# -- showing -------------------------------------------------------------------------------------


def _tell_done(done: Sequence[_Done], *, as_json: bool) -> None:
    if as_json:
        print_json(out, [{"generation": each.generation, **_json(each.proposal)} for each in done])
        return
    for each in done:
        status, colour = each.proposal.status, "green" if each.proposal.status == "accepted" else "yellow"
        how = "was so already" if each.generation is None else f"generation {each.generation}"
        out.print(
            f"[{colour}]{status}[/] {each.proposal.proposal_id} {escape(one_line(each.proposal.change.about))}"
            f"{f': {how}' if status == 'accepted' else ''}",
            soft_wrap=True,
            highlight=False,
        )


def _tell_applied(folder: Path, chosen: Sequence[Proposal], done: Applied, *, as_json: bool) -> None:
    if as_json:
        print_json(
            out,
            {
                "proposals": [each.proposal_id for each in chosen],
                "changed": list(done.changed),
                "added": list(done.added),
                "held": [each.about for each in done.held],
            },
        )
        return
    for word, names in (("changed", done.changed), ("added", done.added)):
        for name in names:
            out.print(f"[green]{word}[/] {escape(str(folder / name))}", soft_wrap=True, highlight=False)
    for each in done.held:
        out.print(f"was so already: {escape(one_line(each.about))}", soft_wrap=True, highlight=False)
    if done.changed or done.added:
        out.print(
            f"[dim]periplus kb load {escape(str(folder))}[/] makes it knowledge, and the proposals accepted",
            soft_wrap=True,
            highlight=False,
        )
    elif not done.held:
        out.print("nothing to write")


def _seen_line(seen: Seen) -> str:
    """Where the pages are that show what a run says."""
    parts = [seen.when, seen.url, seen.snapshot and f"snapshot {seen.snapshot}", seen.picture]
    return escape(one_line(", ".join(part for part in parts if part), LONGEST_NOTE))


def _state(proposal: Proposal) -> str:
    if proposal.status != "proposed":
        style = {"accepted": "green", "rejected": "yellow"}.get(proposal.status, "dim")
        return f"[{style}]{proposal.status}[/]"
    if proposal.confirmed:
        return "[green]confirmed[/]"
    left = max(0, CONFIRMED_BY - proposal.succeeded + proposal.failed)
    return f"proposed ({left} more run{'' if left == 1 else 's'} to confirm)"


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
