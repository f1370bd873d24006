"""`periplus learn`: pages that somebody sorted, or sessions, become screens that are known again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_schema.urls import is_web_address
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from loaders.escaping import one_line
from loaders.export import FolderInTheWay, write_folder
from loaders.layout import WEBSITE_STEM
from loaders.signatures.atlas import Learned, LearnedScreens, learn_all
from periplus.commands.wording import counted, print_json
from periplus.desk import desk_client
from periplus.errors import UserError
from periplus.learning.drawing import Mistaken, drawn, mistaken, not_learned, website_id_of
from periplus.learning.from_sessions import FoundInSessions, found_in_sessions
from periplus.learning.proposing import Answered, changes, propose
from periplus.learning.sorted_pages import SortedPage, fingerprint, read_sorted, site_of
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen
from periplus.synthesizing import read_traces
from periplus.websites import which_website

EXIT_NOTHING = 1
"""Nothing was learned."""
WRONG_SHOWN = 20
LONGEST_SHOWN = 500
"""Characters of a name or a reason."""

out = Console()
err = Console(stderr=True)
app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def learn(
    sessions: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SESSIONS]...", help="Recordings and runs: their folders, or folders of such."
        ),
    ] = None,
    *,
    snapshots: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Stored pages: NAME.html with NAME.json, also in folders."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='What the pages are: {"NAME": "screen_id"}; null for a page of no screen.'
        ),
    ] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write a knowledge base with what was learned."),
    ] = None,
    proposing: Annotated[
        bool, typer.Option("--propose", help="Propose it for the website whose knowledge is loaded.")
    ] = False,
    website: Annotated[
        str | None, typer.Option("--website", "-w", metavar="ID", help="Which website it is, or is to be.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the site was when the pages were seen.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="What was learned, as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Learn how screens are told apart, from a few pages of each or from what was done on a site.

    Example: [cyan]periplus learn --snapshots pages/ --labels pages/labels.json --out kb/[/]

    Of sorted pages every screen gets a signature, tried on pages that were held
    back while it was chosen. Of sessions, new screens and ways between them are
    proposed, and better signatures for known screens that were missed.
    Exit code 0 something was learned, 1 nothing was, 2 something to put right first.
    """
    if base_url is not None and not is_web_address(base_url):
        raise UserError(f"{base_url} is no address of a site", fix="write it with http:// or https://")
    opening = open_chosen(mongodb_url, arangodb_url)
    if sessions:
        if snapshots or labels or out_folder:
            raise UserError(
                "sessions and sorted pages are learned from one at a time",
                fix="name either SESSIONS, or --snapshots with --labels",
            )
        _from_sessions(sessions, opening, website, base_url, as_json=as_json)
        return
    if snapshots is None or labels is None:
        raise UserError(
            "there is nothing to learn from", fix="name SESSIONS, or --snapshots DIR and --labels FILE"
        )
    if out_folder is not None and proposing:
        raise UserError("--out and --propose are two ways of keeping it", fix="choose one of them")
    with _progress() as on_page:
        pages = read_sorted(snapshots, labels, base_url, on_page)
    found = learn_all([page.observed for page in pages])
    site = site_of(pages, base_url)
    knowledge, refused = drawn(found.learned, website or website_id_of(site), site)
    wrong = mistaken(knowledge, pages, {*refused, *found.refused})
    answered: list[Answered] = []
    if out_folder is not None:
        _write(knowledge, out_folder)
    elif proposing:
        answered = asyncio.run(_propose(opening, website, found, pages))
    told = _Told(found, refused, pages, wrong, answered, out_folder)
    if as_json:
        print_json(out, told.as_json())
    else:
        told.show()
    if not knowledge.screens:
        raise typer.Exit(EXIT_NOTHING)


def _write(knowledge: KnowledgeBase, folder: Path) -> None:
    if (folder / f"{WEBSITE_STEM}.yaml").exists():
        more = not_learned(read_knowledge_folder(folder)[0], knowledge.website.website_id)
        if more is not None:
            raise UserError(
                f"{folder} holds more than what was learned: {more}",
                fix="name another folder, or load it and say --propose instead of --out",
            )
    try:
        write_folder(knowledge, folder)
    except FolderInTheWay as exc:
        raise UserError(str(exc), fix="name a folder that is empty, or one that was learned before") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="name another folder"
        ) from exc


async def _propose(
    opening: Any, website: str | None, found: LearnedScreens, pages: Sequence[SortedPage]
) -> list[Answered]:
    async with opening as stores:
        known = sorted(active.website_id for active in await stores.documents.websites())
        website_id = which_website(website, known)
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
        known_pages = [page for page in pages if page.screen is None or page.screen in knowledge.screens]
        wrong = mistaken(knowledge, known_pages, ())
        wanted = changes(knowledge, found.learned, pages, wrong, f"learn-{fingerprint(pages)}")
        async with desk_client(stores) as client:
            return await propose(client, website_id, wanted)


def _from_sessions(
    folders: Sequence[Path], opening: Any, website: str | None, base_url: str | None, *, as_json: bool
) -> None:
    traces = [trace for trace in read_traces(folders) if trace.steps]
    if not traces:
        raise UserError("the sessions hold no step", fix="`periplus record` and `periplus run` make sessions")

    async def learned() -> tuple[FoundInSessions, list[Answered]]:
        async with opening as stores:
            known = sorted(active.website_id for active in await stores.documents.websites())
            website_id = which_website(website, known)
            found = await found_in_sessions(stores, website_id, base_url, traces)
            async with desk_client(stores) as client:
                return found, await propose(client, website_id, found.wanted)

    found, answered = asyncio.run(learned())
    if as_json:
        told = {"pages": found.pages, "known": found.known, "proposed": _answers(answered),
                "refused": [list(each) for each in found.refused]}  # fmt: skip
        print_json(out, told)
    else:
        _say(f"{len(traces)} sessions, {found.pages} pages: {found.known} of known screens")
        for name, reason in found.refused:
            _say(f"  [yellow]no screen[/] for {_shown(name)}: {_shown(reason)}")
        _show_answers(answered)
    if not any(each.counted for each in answered):
        raise typer.Exit(EXIT_NOTHING)


# -- telling ---------------------------------------------------------------------------------------------


class _Told:
    """What came of sorted pages."""

    def __init__(
        self, found: LearnedScreens, refused: dict[str, str], pages: Sequence[SortedPage],
        wrong: Sequence[Mistaken], answered: Sequence[Answered], folder: Path | None,
    ) -> None:  # fmt: skip
        self._learned = {name: each for name, each in found.learned.items() if name not in refused}
        self._refused = {name: each.reason for name, each in found.refused.items()} | refused
        self._pages, self._wrong, self._answered, self._folder = pages, wrong, answered, folder

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            "screens": {name: _as_json(each) for name, each in self._learned.items()},
            "refused": self._refused,
            "pages": len(self._pages),
            "wrong": [
                {
                    "page": each.name,
                    "screen": each.screen,
                    "taken_for": each.taken_for,
                    "ambiguous": each.ambiguous,
                }
                for each in self._wrong
            ],
            "proposed": _answers(self._answered),
        }

    def show(self) -> None:
        """For people."""
        table = Table(
            "screen", "pages", "held back", "sure", "address", "note", box=SIMPLE_HEAD, header_style="dim"
        )
        for name, each in self._learned.items():
            held = f"{each.held_out - each.missed} of {each.held_out}" if each.held_out else "none"
            table.add_row(
                _shown(name), str(each.pages), held, f"{each.confidence:.2f}",
                _shown(" | ".join(each.url_patterns) or "anywhere"), "" if each.proven else _shown(each.evidence),
            )  # fmt: skip
        out.print(table)
        for name, reason in self._refused.items():
            _say(f"[yellow]not learned[/] {_shown(name)}: {_shown(reason)}")
        wrong = {page.name for page in self._wrong}
        asked = [page for page in self._pages if page.screen not in self._refused]
        right = sum(page.stored.name not in wrong for page in asked)
        left = len(self._pages) - len(asked)
        _say(
            f"[bold]{len(self._learned)}[/] screen{'' if len(self._learned) == 1 else 's'}; {right} of {len(asked)} "
            f"pages told right by all of them together"
            f"{f', {left} are of screens that were not learned' if left else ''}"
        )
        for page in self._wrong[:WRONG_SHOWN]:
            taken = f"{page.taken_for or 'no screen'}{' or another' if page.ambiguous else ''}"
            _say(
                f"  [red]x[/] {_shown(page.name)}: {_shown(page.screen or 'no screen')}, taken for {_shown(taken)}"
            )
        if self._answered:
            _show_answers(self._answered)
        if self._folder is not None:
            _say(
                f"[green]written[/]: {escape(str(self._folder))}; next: periplus kb load {escape(str(self._folder))}"
            )


def _as_json(learned: Learned) -> dict[str, Any]:
    return {
        "url_patterns": list(learned.url_patterns),
        "signature": learned.signature.to_json(),
        "pages": learned.pages,
        "others": learned.others,
        "held_out": learned.held_out,
        "missed": learned.missed,
        "taken_in": learned.taken_in,
        "confidence": learned.confidence,
        "evidence": learned.evidence,
    }


def _answers(answered: Sequence[Answered]) -> list[dict[str, Any]]:
    return [
        {"change": each.about, "proposal_id": each.proposal_id, "runs": runs, "reason": each.reason}
        for each, runs in _each_once(answered)
    ]


def _each_once(answered: Sequence[Answered]) -> list[tuple[Answered, int]]:
    """Each change once, and for how many runs it was taken; where it was for none, with the first reason."""
    found: dict[tuple[str, str], list[Answered]] = {}
    for each in answered:
        found.setdefault((each.about, each.proposal_id), []).append(each)
    return [
        (next((each for each in own if each.counted), own[0]), sum(each.counted for each in own))
        for own in found.values()
    ]


def _show_answers(answered: Sequence[Answered]) -> None:
    for each, runs in _each_once(answered):
        if each.counted:
            _say(
                f"  [green]proposed[/] {_shown(each.about)} ({each.proposal_id}), {counted(runs, 'run')} for it"
            )
        else:
            _say(f"  [yellow]not proposed[/] {_shown(each.about)}: {_shown(each.reason)}")
    if any(each.counted for each in answered):
        _say("next: periplus kb proposals list")
    elif not answered:
        _say("nothing to propose: the knowledge has what was seen")


def _shown(text: str) -> str:
    """What pages, sessions and folders are called, as a part of a line."""
    return escape(one_line(text, LONGEST_SHOWN))


def _say(line: str) -> None:
    out.print(line, soft_wrap=True, highlight=False)


@contextmanager
def _progress() -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda name: bar.update(task, advance=1, description=_shown(name[-40:]))
