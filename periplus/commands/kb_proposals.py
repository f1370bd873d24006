"""`periplus kb proposals`: list, show, accept and reject the changes that runs propose."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_schema.documents import did_you_mean
from kb_schema.proposals import CONFIRMED_BY, PageReference, Proposal
from kb_store import NoSuchWebsite, Stores, read_knowledge
from kb_store.proposals import review_decisions
from kb_store.proposals.accepted_changes import ChangeTargetMissing, ScreenMissing
from kb_store.proposals.review_decisions import (
    ChangedSinceProposal,
    ProposalAlreadyAccepted,
    ScreenNotAccepted,
    check_base,
    sort_by_dependency,
)
from loaders import read_knowledge_folder
from loaders.diffs.knowledge_diff import changes_between
from loaders.files.folder_changes import FolderChangeReport, apply_changes
from loaders.files.proposal_files import read_proposals, write_proposals
from loaders.markup_escapes import one_line
from periplus.commands.command_options import choose_import_budget
from periplus.commands.command_output import AsJson, format_change, print_json
from periplus.errors import UserError
from periplus.foreign_input import read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(
    help="List, show, accept and reject changes that runs propose.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Website = Annotated[
    str | None,
    typer.Option("--website", "-w", metavar="ID", help="Only proposals of this website.", show_default=False),
]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Change the files of this knowledge base instead of the store.",
        show_default=False,
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option("--anyway", help="Apply even if the document has changed since the proposal."),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id that [bold]list[/] shows.", show_default=False)]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID...", help="The ids that [bold]list[/] shows.", show_default=False),
]

LONGEST_NOTE = 1_000
"""Maximum number of characters of a run's note."""

out = CommandConsole()


@app.command("list")
def list_(
    *,
    website: Website = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include proposals that are already decided.")
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """List the proposals that wait for a decision, the oldest first.

    Example: [cyan]periplus kb proposals list[/]
    """
    found = [
        each
        for each in asyncio.run(_read_proposals(website, mongodb_url, arangodb_url))
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
        column.overflow = "fold"  # `show` needs the whole id
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
    """Show one proposal: the old and new values, and every run for or against it.

    Example: [cyan]periplus kb proposals show 9ab69ec7052b[/]
    """
    proposal, since = asyncio.run(_read_proposal(proposal_id, mongodb_url, arangodb_url))
    if as_json:
        told = {} if since is None else {"changed_since": True, "now": since.now}
        print_json(out, _json(proposal) | told)
        return
    about = f"[bold]{escape(proposal.change.about)}[/] of {escape(proposal.website_id)}"
    out.print(f"{proposal.proposal_id}  {about}  {_state(proposal)}", soft_wrap=True, highlight=False)
    out.print(f"proposed {proposal.proposed_at.astimezone():%Y-%m-%d %H:%M}", highlight=False)
    what = proposal.change.type
    for change in changes_between({what: proposal.before}, {what: proposal.change.proposed_value}):
        out.print(f"  {format_change(change)}", soft_wrap=True, highlight=False)
    if since is not None:
        out.print(f"[yellow]{escape(str(since))}[/]; accepting it now would change:", highlight=False)
        for change in changes_between({what: since.now}, {what: proposal.change.proposed_value}):
            out.print(f"  {format_change(change)}", soft_wrap=True, highlight=False)
    for support in proposal.supports:
        mark = "[green]for[/]    " if support.succeeded else "[red]against[/]"
        score = "" if support.score is None else f", score {support.score:.2f}"
        note = f", {escape(one_line(support.note, LONGEST_NOTE))}" if support.note else ""
        when = f"{support.at.astimezone():%Y-%m-%d %H:%M}"
        out.print(
            f"  {mark} run {escape(support.run_id)}, {when}{score}{note}", soft_wrap=True, highlight=False
        )
        for seen in support.seen:
            out.print(f"            {_format_evidence(seen)}", soft_wrap=True, highlight=False)


@app.command()
def accept(
    proposal_ids: Ids = None,
    *,
    confirmed: Annotated[
        bool,
        typer.Option(
            "--confirmed",
            help=f"Accept all proposals with at least {CONFIRMED_BY} more runs for than against.",
        ),
    ] = False,
    website: Website = None,
    into: FolderOption = None,
    anyway: ForceOption = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Accept proposals: each becomes a new generation in the store, or a change in your files.

    Example: [cyan]periplus kb proposals accept 9ab69ec7052b --into kb/[/]

    Without --into, copy the changes to your files with [bold]periplus kb export[/].
    """
    if bool(proposal_ids) == confirmed:
        raise UserError("no proposal given", fix="give ids from `periplus kb proposals list`, or --confirmed")
    if into is not None:
        chosen = asyncio.run(_read_selected_proposals(proposal_ids or [], website, mongodb_url, arangodb_url))
        _print_applied(into, chosen, _write_into_folder(into, chosen, anyway=anyway), as_json=as_json)
        return
    done: list[_DecidedProposal] = []
    try:
        asyncio.run(_accept(done, proposal_ids or [], website, mongodb_url, arangodb_url, anyway=anyway))
    finally:  # proposals accepted before an error stay accepted, and are printed
        _print_decided(done, as_json=as_json)
    if not done and not as_json:
        out.print("no confirmed proposals wait for a decision")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The output folder.", show_default=False)],
    *,
    website: Website = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include proposals that are already decided.")
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Write proposals as files for review in a branch: one file each, with its evidence.

    Example: [cyan]periplus kb proposals export proposals/ --website spadeworks[/]

    Decisions in existing files are kept. [bold]apply[/] carries them out.
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
        Path, typer.Argument(metavar="DIR", help="The folder that [bold]export[/] wrote.", show_default=False)
    ],
    *,
    into: FolderOption = None,
    anyway: ForceOption = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Carry out the decisions in exported files, in the store or in your knowledge base files.

    Example: [cyan]periplus kb proposals apply proposals/ --into kb/[/]

    Undecided proposals do not change. Proposals that are not in the store yet are added to it.
    """
    decided = read_foreign(folder, choose_import_budget(None, None), read_proposals, folder)
    accepted = [each.said.proposal for each in decided if each.said.decision == "accept"]
    if into is not None:
        _print_applied(into, accepted, _write_into_folder(into, accepted, anyway=anyway), as_json=as_json)
        return
    rejected = [each.said.proposal for each in decided if each.said.decision == "reject"]
    done: list[_DecidedProposal] = []
    try:
        asyncio.run(_apply(done, accepted, rejected, mongodb_url, arangodb_url, anyway=anyway))
    finally:
        _print_decided(done, as_json=as_json)
    left = len(decided) - len(accepted) - len(rejected)
    if not as_json and (left or not done):
        out.print(f"{left} undecided", highlight=False)


@app.command()
def reject(
    proposal_ids: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="The ids that [bold]list[/] shows.", show_default=False),
    ],
    *,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Reject proposals. They are kept so that the same change is not proposed again.

    Example: [cyan]periplus kb proposals reject 9ab69ec7052b[/]
    """
    done = asyncio.run(_reject(proposal_ids, mongodb_url, arangodb_url))
    _print_decided([_DecidedProposal(each) for each in done], as_json=as_json)


# -- the stores ----------------------------------------------------------------------------------


async def _read_proposals(
    website: str | None, mongodb_url: str | None, arangodb_url: str | None
) -> Sequence[Proposal]:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        return await _list_proposals(stores, website)


async def _list_proposals(stores: Stores, website: str | None) -> Sequence[Proposal]:
    """Return the proposals of a website, or of all. Raises `UserError` for an unknown website."""
    found = await stores.proposals.proposals(website)
    if website is not None and not found:
        known = [active.website_id for active in await stores.documents.websites()]
        if website not in known:
            fix = did_you_mean(website, known) or f"known: {', '.join(sorted(known)) or 'none'}"
            raise UserError(f"no website {website!r} in the store", fix=fix)
    return found


async def _read_proposal(
    name: str, mongodb_url: str | None, arangodb_url: str | None
) -> tuple[Proposal, ChangedSinceProposal | None]:
    """Return a proposal, and the current values if the document has changed since it was proposed."""
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        (proposal,) = await _find_proposals(stores, [name])
        if proposal.status != "proposed":
            return proposal, None
        try:
            knowledge, _ = await read_knowledge(stores.documents, stores.graph, proposal.website_id)
            check_base(knowledge, proposal)
        except NoSuchWebsite:
            return proposal, None
        except ChangedSinceProposal as exc:
            return proposal, exc
        return proposal, None


async def _find_proposals(stores: Stores, ids: Sequence[str]) -> list[Proposal]:
    """Return the proposals with these ids or unique id prefixes. Raises `UserError`."""
    known = await stores.proposals.proposals()
    found = []
    for name in dict.fromkeys(ids):
        fitting = [each for each in known if each.proposal_id.startswith(name)]
        if len(fitting) != 1:
            names = [each.proposal_id for each in known]
            fix = did_you_mean(name, names) or "`periplus kb proposals list --all` shows them"
            message = (
                f"{len(fitting)} proposals have an id that begins with {name!r}"
                if fitting
                else f"no proposal {name!r}"
            )
            raise UserError(message, fix=fix)
        found.append(fitting[0])
    return found


@dataclass(frozen=True, slots=True)
class _DecidedProposal:
    """A proposal that was decided."""

    proposal: Proposal
    generation: int | None = None
    """The first generation with the change; None if it was there already, or was rejected."""


async def _accept(
    done: list[_DecidedProposal],
    ids: Sequence[str],
    website: str | None,
    mongodb_url: str | None,
    arangodb_url: str | None,
    *,
    anyway: bool,
) -> None:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        for each in sort_by_dependency(await _select_proposals(stores, ids, website)):
            done.append(await _accept_proposal(stores, each, anyway=anyway))  # noqa: PERF401 - `done` must keep earlier ones if the next raises


async def _select_proposals(stores: Stores, ids: Sequence[str], website: str | None) -> list[Proposal]:
    """Return the proposals with these ids, or all confirmed ones."""
    if not ids:
        known = await _list_proposals(stores, website)
        return [each for each in known if each.status == "proposed" and each.confirmed]
    chosen = await _find_proposals(stores, ids)
    for each in chosen:
        if website not in (None, each.website_id):
            raise UserError(
                f"proposal {each.proposal_id} belongs to website {each.website_id!r}",
                fix="leave out --website",
            )
    return chosen


async def _read_selected_proposals(
    ids: Sequence[str], website: str | None, mongodb_url: str | None, arangodb_url: str | None
) -> list[Proposal]:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        return await _select_proposals(stores, ids, website)


async def _export(
    folder: Path, website: str | None, everything: bool, mongodb_url: str | None, arangodb_url: str | None
) -> list[str]:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        kept = await _list_proposals(stores, website)
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
    done: list[_DecidedProposal],
    accepted: Sequence[Proposal],
    rejected: Sequence[Proposal],
    mongodb_url: str | None,
    arangodb_url: str | None,
    *,
    anyway: bool,
) -> None:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        for each in (*accepted, *rejected):
            await stores.proposals.support(each, None)
            for support in each.supports:
                await stores.proposals.support(each, support)
        done += [
            _DecidedProposal(each) for each in await _reject_proposals(stores, rejected)
        ]  # before any write: all or none
        for each in sort_by_dependency(accepted):
            done.append(await _accept_proposal(stores, each, anyway=anyway))


def _write_into_folder(folder: Path, proposals: Sequence[Proposal], *, anyway: bool) -> FolderChangeReport:
    """Apply the proposals to the files of a knowledge base folder; return the changed files."""
    knowledge, _ = read_foreign(folder, choose_import_budget(None, None), read_knowledge_folder, folder)
    first: dict[str, Proposal] = {}
    for each in proposals:
        if each.website_id != knowledge.website.website_id:
            raise UserError(
                f"proposal {each.proposal_id} belongs to website {each.website_id!r}, "
                f"{folder} contains {knowledge.website.website_id!r}",
                fix="name the folder of that website",
            )
        other = first.setdefault(each.change.about, each)
        if other.proposal_id != each.proposal_id:
            raise UserError(
                f"proposals {other.proposal_id} and {each.proposal_id} both change the {each.change.about}",
                fix="accept one of them",
            )
        if not anyway:
            _check_base(knowledge, each)
    try:
        return apply_changes(folder, [each.change for each in sort_by_dependency(proposals)])
    except ScreenMissing as exc:
        fix = f"also accept the proposal that adds screen {exc.screen_id!r}"
        raise UserError(str(exc), fix=fix) from exc
    except ChangeTargetMissing as exc:
        raise UserError(str(exc), fix="leave that proposal out, or reject it") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}",
            fix="check free space and permissions, then repeat the command; files already written stay",
        ) from exc


def _check_base(knowledge: KnowledgeBase, proposal: Proposal) -> None:
    try:
        check_base(knowledge, proposal)
    except ChangedSinceProposal as exc:
        raise _changed_since(exc) from exc


def _changed_since(exc: ChangedSinceProposal) -> UserError:
    name = exc.proposal.proposal_id
    return UserError(
        f"{name}: {exc}",
        fix=f"compare with `periplus kb proposals show {name}`, then reject it, or accept it with --anyway",
    )


async def _accept_proposal(stores: Stores, proposal: Proposal, *, anyway: bool) -> _DecidedProposal:
    try:
        return _DecidedProposal(*await review_decisions.accept(stores, proposal, anyway=anyway))
    except ScreenNotAccepted as exc:
        fix = f"also accept the screen: `periplus kb proposals accept {exc.screen.proposal_id}`"
        raise UserError(str(exc), fix=fix) from exc
    except ScreenMissing as exc:
        fix = (
            f"add the screen {exc.screen_id!r} to your files and load them, or reject it: "
            f"`periplus kb proposals reject {proposal.proposal_id}`"
        )
        raise UserError(str(exc), fix=fix) from exc
    except ChangedSinceProposal as exc:
        raise _changed_since(exc) from exc
    except ChangeTargetMissing as exc:
        fix = f"reject it: `periplus kb proposals reject {proposal.proposal_id}`"
        raise UserError(str(exc), fix=fix) from exc


async def _reject(ids: Sequence[str], mongodb_url: str | None, arangodb_url: str | None) -> list[Proposal]:
    async with open_selected_stores(mongodb_url, arangodb_url) as stores:
        return await _reject_proposals(stores, await _find_proposals(stores, ids))


async def _reject_proposals(stores: Stores, proposals: Sequence[Proposal]) -> list[Proposal]:
    try:
        return await review_decisions.reject(stores, proposals)
    except ProposalAlreadyAccepted as exc:
        fix = "load files without it: `periplus kb load DIR --replace-learned`"
        raise UserError(str(exc), fix=fix) from exc


# -- output --------------------------------------------------------------------------------------


def _print_decided(done: Sequence[_DecidedProposal], *, as_json: bool) -> None:
    if as_json:
        print_json(out, [{"generation": each.generation, **_json(each.proposal)} for each in done])
        return
    for each in done:
        status, colour = each.proposal.status, "green" if each.proposal.status == "accepted" else "yellow"
        how = "already in the knowledge base" if each.generation is None else f"generation {each.generation}"
        out.print(
            f"[{colour}]{status}[/] {each.proposal.proposal_id} {escape(one_line(each.proposal.change.about))}"
            f"{f': {how}' if status == 'accepted' else ''}",
            soft_wrap=True,
            highlight=False,
        )


def _print_applied(
    folder: Path, chosen: Sequence[Proposal], done: FolderChangeReport, *, as_json: bool
) -> None:
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
        out.print(f"already in the files: {escape(one_line(each.about))}", soft_wrap=True, highlight=False)
    if done.changed or done.added:
        out.print(
            f"[dim]periplus kb load {escape(str(folder))}[/] loads the change and marks the proposals as accepted",
            soft_wrap=True,
            highlight=False,
        )
    elif not done.held:
        out.print("nothing to write")


def _format_evidence(seen: PageReference) -> str:
    """Return where the pages that support a run's report are stored."""
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
