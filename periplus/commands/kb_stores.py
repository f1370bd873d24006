"""`periplus kb init` and `kb copy`: stores as such, not what is in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from kb_store import Stores
from kb_store.copying import NOT_COPIED, CopyProgress, RunsCopied, WebsiteCopied, copy_runs, copy_website
from kb_store.initialising import Preparable, Prepared, initialise
from periplus.commands.wording import counted, print_json
from periplus.errors import UserError
from periplus.logbook import unprepared_logbook
from periplus.shelves import ArangoUrl, MongoUrl, Place, named, unprepared

AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")]
PLACE = "embedded:DIR or mongodb://HOST/DATABASE"

out = Console()
err = Console(stderr=True)


def init(*, mongodb_url: MongoUrl = None, arangodb_url: ArangoUrl = None, as_json: AsJson = False) -> None:
    """Make the collections, indexes and validators of the stores; safe to repeat.

    Example: [cyan]PERIPLUS_MONGODB_URL=mongodb://127.0.0.1/periplus periplus kb init[/]

    Says of each what was made, mended or found as it should be.
    Needs the role [bold]dbAdmin[/] where users have roles.
    """
    done = asyncio.run(_init(mongodb_url, arangodb_url))
    if as_json:
        print_json(out, [_json(*each) for each in done])
        return
    for name, address, prepared in done:
        out.print(f"[green]ready[/] {name:<9} {escape(address)}", soft_wrap=True, highlight=False)
        for each in prepared:
            style = "dim" if each.outcome == "found" else "green"
            out.print(
                f"  [{style}]{each.outcome:<6}[/] {escape(each.name)}  [dim]{escape(each.detail)}[/]",
                soft_wrap=True,
                highlight=False,
            )


def copy(
    *,
    source: Annotated[str, typer.Option("--from", metavar="STORE", help=PLACE, show_default=False)],
    target: Annotated[str, typer.Option("--to", metavar="STORE", help=PLACE, show_default=False)],
    from_arangodb_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the graph is, if not beside the documents.")
    ] = None,
    to_arangodb_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the graph goes, if not beside the documents.")
    ] = None,
    website: Annotated[
        list[str] | None, typer.Option("--website", "-w", metavar="ID", help="Only this; may be repeated.")
    ] = None,
    no_runs: Annotated[bool, typer.Option("--no-runs", help="Leave out what was run.")] = False,
    replace_learned: Annotated[
        bool,
        typer.Option(
            "--replace-learned",
            help="Give up accepted proposals and published workflows that only the target has.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy websites from one store to another: knowledge, what was learned, proposals, runs.

    Example: [cyan]periplus kb copy --from embedded:.periplus --to mongodb://127.0.0.1/periplus[/]

    Knowledge arrives all at once or not at all; the source is only read.
    What is there already stays as it is and counts once: the command may be
    repeated, and finishes a copy that was interrupted.

    Not copied: files that runs left (films, traces) stay where they are, and so
    does what lives for an hour and builds itself up again (found locators,
    heal and request counters).
    """
    places = named(source, from_arangodb_url), named(target, to_arangodb_url)
    wanted = _Wanted(tuple(website or ()), runs=not no_runs, replace_learned=replace_learned)
    with _progress(quiet=as_json) as on_progress:
        copied, runs = asyncio.run(_copy(*places, wanted, on_progress))
    if as_json:
        told = {
            "websites": [asdict(each) for each in copied],
            "runs": None if runs is None else asdict(runs),
            "not_copied": NOT_COPIED,
        }
        print_json(out, told)
        return
    _tell(copied, runs)


def _tell(copied: Sequence[WebsiteCopied], runs: RunsCopied | None) -> None:
    for each in copied:
        out.print(_told(each), soft_wrap=True, highlight=False)
    if runs is not None and runs.copied:
        more = f" ({runs.known} more were there already)" if runs.known else ""
        out.print(f"[green]copied[/] {counted(runs.copied, 'run')}{more}", highlight=False)
    elif runs is not None and runs.known:
        out.print(f"[dim]same[/] {counted(runs.known, 'run')}", highlight=False)
    if any(each.changed for each in copied) or (runs is not None and runs.copied):
        why = "they live for a while and build themselves up again"
        err.print(f"[dim]not copied: {', '.join(NOT_COPIED)}; {why}[/]", soft_wrap=True, highlight=False)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a copy is to take along."""

    websites: tuple[str, ...]
    """Empty: all."""
    runs: bool
    replace_learned: bool


def _told(copied: WebsiteCopied) -> str:
    """One line: what the target has now, and what of it is new."""
    new = [counted(copied.documents, "document")] if copied.loaded else []
    if copied.numbers:
        new.append(counted(copied.numbers, "learned number"))
    if copied.proposals:
        new.append(counted(copied.proposals, "proposal"))
    if copied.fingerprints:
        new.append(counted(copied.fingerprints, "fingerprint"))
    name = f"[bold]{escape(copied.website_id)}[/]"
    if not new:
        return f"[dim]same[/] {name}: nothing is new, generation {copied.generation}"
    return f"[green]copied[/] {name}: {', '.join(new)}, generation {copied.generation}"


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[str, CopyProgress], None]]:
    """A bar per website and part; a part whose size is not known tells how far it is."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars: dict[tuple[str, str], TaskID] = {}
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as progress:

        def on_progress(website_id: str, now: CopyProgress) -> None:
            key = (website_id, now.part)
            if key not in bars:
                what = f"{website_id} {now.part}".strip()
                bars[key] = progress.add_task(escape(what), total=None)
            progress.update(bars[key], completed=now.done, total=now.total or None)

        yield on_progress


async def _init(
    mongodb_url: str | None, arangodb_url: str | None
) -> list[tuple[str, str, Sequence[Prepared]]]:
    async with unprepared(mongodb_url, arangodb_url) as stores, unprepared_logbook(mongodb_url) as runs:
        wanted: list[tuple[str, str, Preparable]] = [
            ("documents", stores.documents.address, stores.documents),
            ("graph", stores.graph.address, stores.graph),
            ("learned", stores.learned.address, stores.learned),
            ("proposals", stores.documents.address, stores.proposals),
            ("runs", runs.address, runs),
        ]
        return [(name, address, await initialise(store)) for name, address, store in wanted]


async def _copy(
    source: Place, target: Place, wanted: _Wanted, on_progress: Callable[[str, CopyProgress], None]
) -> tuple[list[WebsiteCopied], RunsCopied | None]:
    copied: list[WebsiteCopied] = []
    async with source.open() as old, target.open() as new:
        if (old.documents.address, old.graph.address) == (new.documents.address, new.graph.address):
            raise UserError("source and target are the same store", fix="name another one with --to")
        for website_id in wanted.websites or await _websites(old):
            tell = partial(on_progress, website_id)
            done = await copy_website(
                old, new, website_id, replace_learned=wanted.replace_learned, on_progress=tell
            )
            copied.append(done)
    if not wanted.runs:
        return copied, None
    async with source.open_runs() as old_runs, target.open_runs() as new_runs:
        if old_runs.address == new_runs.address:  # only the edges move
            return copied, None
        runs = await copy_runs(
            old_runs, new_runs, wanted.websites or None, on_progress=partial(on_progress, "")
        )
    return copied, runs


async def _websites(stores: Stores) -> list[str]:
    found = sorted(active.website_id for active in await stores.documents.websites())
    if not found:
        fix = "name another one with --from"
        raise UserError(f"the store at {stores.documents.address} has no knowledge", fix=fix)
    return found


def _json(name: str, address: str, prepared: Sequence[Prepared]) -> dict[str, Any]:
    collections = [{"name": p.name, "outcome": p.outcome, "detail": p.detail} for p in prepared]
    return {"store": name, "address": address, "collections": collections}
