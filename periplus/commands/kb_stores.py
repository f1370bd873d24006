"""`periplus kb init` and `periplus kb copy`: prepare stores, and copy websites between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from kb_store import Stores
from kb_store.store_copy import (
    NOT_COPIED,
    RunsCopyReport,
    StoreCopyProgress,
    WebsiteCopyReport,
    copy_runs,
    copy_website,
)
from kb_store.store_setup import CollectionSetup, PreparableStore, initialise
from periplus.commands.command_output import AsJson, format_count, print_json
from periplus.errors import UserError
from periplus.run_store_adapters import open_unprepared_run_store
from periplus.store_selection import (
    ArangoUrl,
    MongoUrl,
    StoreLocation,
    open_unprepared_stores,
    parse_store_location,
)
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites

PLACE = "embedded:DIR or mongodb://HOST/DATABASE"

out = CommandConsole()
err = CommandConsole(stderr=True)


def init(*, mongodb_url: MongoUrl = None, arangodb_url: ArangoUrl = None, as_json: AsJson = False) -> None:
    """Create the collections, indexes and validators of the stores; safe to repeat.

    Example: [cyan]PERIPLUS_MONGODB_URL=mongodb://127.0.0.1/periplus periplus kb init[/]

    Prints for each whether it was created, repaired or already correct.
    Requires the role [bold]dbAdmin[/] if access control is enabled.
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
        str | None, typer.Option(metavar="URL", help="The source's graph, if it is in ArangoDB.")
    ] = None,
    to_arangodb_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The target's graph, if it is in ArangoDB.")
    ] = None,
    website: Annotated[
        list[str] | None,
        typer.Option("--website", "-w", metavar="ID", help="Copy only this website; may be repeated."),
    ] = None,
    no_runs: Annotated[bool, typer.Option("--no-runs", help="Do not copy runs.")] = False,
    replace_learned: Annotated[
        bool,
        typer.Option(
            "--replace-learned",
            help="Discard accepted proposals and published workflows that only the target has.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy websites from one store to another: knowledge, learned data, proposals and runs.

    Example: [cyan]periplus kb copy --from embedded:.periplus --to mongodb://127.0.0.1/periplus[/]

    Knowledge is copied atomically; the source is only read.
    Data that the target already has is not copied twice: repeat the command
    to finish an interrupted copy.

    Not copied: the files of runs (films, traces), and short-lived data that
    is rebuilt automatically (cached locators, heal and request counters).
    """
    places = parse_store_location(source, from_arangodb_url), parse_store_location(target, to_arangodb_url)
    wanted = _CopySelection(tuple(website or ()), runs=not no_runs, replace_learned=replace_learned)
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
    _print_copied(copied, runs)


def _print_copied(copied: Sequence[WebsiteCopyReport], runs: RunsCopyReport | None) -> None:
    for each in copied:
        out.print(_format_copied(each), soft_wrap=True, highlight=False)
    if runs is not None and runs.copied:
        more = f" ({runs.known} more already existed)" if runs.known else ""
        out.print(f"[green]copied[/] {format_count(runs.copied, 'run')}{more}", highlight=False)
    elif runs is not None and runs.known:
        out.print(f"[dim]same[/] {format_count(runs.known, 'run')}", highlight=False)
    if any(each.changed for each in copied) or (runs is not None and runs.copied):
        why = "this data is short-lived and is rebuilt automatically"
        err.print(f"[dim]not copied: {', '.join(NOT_COPIED)}; {why}[/]", soft_wrap=True, highlight=False)


@dataclass(frozen=True, slots=True)
class _CopySelection:
    """What to copy."""

    websites: tuple[str, ...]
    """Empty: all websites."""
    runs: bool
    replace_learned: bool


def _format_copied(copied: WebsiteCopyReport) -> str:
    """Return one line: the target's generation and the number of new documents."""
    new = [format_count(copied.documents, "document")] if copied.loaded else []
    if copied.numbers:
        new.append(format_count(copied.numbers, "learned number"))
    if copied.proposals:
        new.append(format_count(copied.proposals, "proposal"))
    if copied.fingerprints:
        new.append(format_count(copied.fingerprints, "fingerprint"))
    name = f"[bold]{escape(copied.website_id)}[/]"
    if not new:
        return f"[dim]same[/] {name}: nothing is new, generation {copied.generation}"
    return f"[green]copied[/] {name}: {', '.join(new)}, generation {copied.generation}"


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[str, StoreCopyProgress], None]]:
    """Show one progress bar per website and part."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars: dict[tuple[str, str], TaskID] = {}
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as progress:

        def on_progress(website_id: str, now: StoreCopyProgress) -> None:
            key = (website_id, now.part)
            if key not in bars:
                what = f"{website_id} {now.part}".strip()
                bars[key] = progress.add_task(escape(what), total=None)
            progress.update(bars[key], completed=now.done, total=now.total or None)

        yield on_progress


async def _init(
    mongodb_url: str | None, arangodb_url: str | None
) -> list[tuple[str, str, Sequence[CollectionSetup]]]:
    async with (
        open_unprepared_stores(mongodb_url, arangodb_url) as stores,
        open_unprepared_run_store(mongodb_url) as runs,
    ):
        wanted: list[tuple[str, str, PreparableStore]] = [
            ("documents", stores.documents.address, stores.documents),
            ("graph", stores.graph.address, stores.graph),
            ("learned", stores.learned.address, stores.learned),
            ("proposals", stores.documents.address, stores.proposals),
            ("runs", runs.address, runs),
        ]
        return [(name, address, await initialise(store)) for name, address, store in wanted]


async def _copy(
    source: StoreLocation,
    target: StoreLocation,
    wanted: _CopySelection,
    on_progress: Callable[[str, StoreCopyProgress], None],
) -> tuple[list[WebsiteCopyReport], RunsCopyReport | None]:
    copied: list[WebsiteCopyReport] = []
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
    found = await list_websites(stores)
    if not found:
        fix = "name another one with --from"
        raise UserError(f"the store at {stores.documents.address} has no knowledge", fix=fix)
    return found


def _json(name: str, address: str, prepared: Sequence[CollectionSetup]) -> dict[str, Any]:
    collections = [{"name": p.name, "outcome": p.outcome, "detail": p.detail} for p in prepared]
    return {"store": name, "address": address, "collections": collections}
