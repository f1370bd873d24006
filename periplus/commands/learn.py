"""`periplus learn`: learn screen signatures from labelled pages or from sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from kb_schema import KnowledgeBase
from kb_schema.url_patterns import is_web_address
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from loaders.files.folder_layout import WEBSITE_STEM
from loaders.files.folder_writer import TargetFolderOccupied, write_folder
from loaders.markup_escapes import one_line
from loaders.screen_learner.signature_learner import (
    LearnedScreens,
    LearnedSignature,
    learn_joined_signatures,
    learn_signatures,
)
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.commands.command_output import format_count, print_json
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.foreign_input import ImportBudget, read_foreign
from periplus.knowledge_server import connect_knowledge_client
from periplus.learned_screens.learned_knowledge import (
    MisidentifiedPage,
    build_knowledge_base,
    find_authored_content,
    find_misidentified_pages,
)
from periplus.learned_screens.learning_proposals import SubmittedProposal, derive_changes, submit_proposals
from periplus.learned_screens.session_findings import SessionFindings, find_in_sessions
from periplus.learned_screens.sorted_pages import (
    SortedPage,
    choose_base_url,
    hash_sorted_pages,
    read_sorted_pages,
)
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.synthesis.workflow_synthesis import read_traces
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website, suggest_website_id

"""Nothing was learned."""
WRONG_SHOWN = 20
LONGEST_SHOWN = 500
"""Characters of a name or a reason."""

out = CommandConsole()
err = CommandConsole(stderr=True)
app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def learn(
    sessions: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SESSIONS]...", help="Folders of recordings and runs, or folders that contain them."
        ),
    ] = None,
    *,
    snapshots: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Stored pages: NAME.html with NAME.json; subfolders are read too."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='The screen of each page: {"NAME": "screen_id"}; null: the page belongs to no screen.',
        ),
    ] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the learned screens as a knowledge base."),
    ] = None,
    proposing: Annotated[
        bool,
        typer.Option("--propose", help="Submit what was learned as proposals to the website in the store."),
    ] = False,
    website: Annotated[
        str | None, typer.Option("--website", "-w", metavar="ID", help="The website's id.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The site's base URL when the pages were stored.")
    ] = None,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Learn screen signatures from a few labelled pages of each screen, or from sessions on a site.

    Example: [cyan]periplus learn --snapshots pages/ --labels pages/labels.json --out kb/[/]

    From labelled pages, every screen gets a signature. It is tested on pages
    that were held out while it was chosen. From sessions, the command proposes
    new screens, transitions between them, and better signatures for known
    screens that were not identified.
    Exit codes: 0 something was learned, 1 nothing was learned, 2 an error to correct first.
    """
    if base_url is not None and not is_web_address(base_url):
        raise UserError(
            f"--base-url {base_url} is not a web address", fix="start it with http:// or https://"
        )
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    opening = open_selected_stores(mongodb_url, arangodb_url)
    if sessions:
        if snapshots or labels or out_folder:
            raise UserError(
                "SESSIONS cannot be combined with --snapshots, --labels or --out",
                fix="give either SESSIONS, or --snapshots with --labels",
            )
        _learn_from_sessions(sessions, budget, opening, website, base_url, as_json=as_json)
        return
    if snapshots is None or labels is None:
        raise UserError("no input to learn from", fix="give SESSIONS, or --snapshots DIR and --labels FILE")
    if out_folder is not None and proposing:
        raise UserError("--out and --propose cannot be combined", fix="choose one of them")
    with _progress() as on_page:
        pages = read_sorted_pages(snapshots, labels, base_url, budget, on_page)
    observed = [page.observed for page in pages]
    found = learn_signatures(observed) if proposing else learn_joined_signatures(observed)
    site = choose_base_url(pages, base_url)
    knowledge, refused = build_knowledge_base(found.learned, website or suggest_website_id(site), site)
    wrong = find_misidentified_pages(knowledge, pages, {*refused, *found.refused})
    answered: list[SubmittedProposal] = []
    if out_folder is not None:
        _write(knowledge, out_folder, budget)
    elif proposing:
        answered = asyncio.run(_propose(opening, website, found, pages))
    told = _LearnReport(found, refused, pages, wrong, answered, out_folder)
    if as_json:
        print_json(out, told.as_json())
    else:
        told.show()
    if not knowledge.screens:
        raise typer.Exit(ExitCode.FAILED)


def _write(knowledge: KnowledgeBase, folder: Path, budget: ImportBudget) -> None:
    if (folder / f"{WEBSITE_STEM}.yaml").exists():
        there, _ = read_foreign(folder, budget, read_knowledge_folder, folder)
        more = find_authored_content(there, knowledge.website.website_id)
        if more is not None:
            raise UserError(
                f"{folder} contains content that was not learned: {more}",
                fix="name another folder, or load this one and use --propose instead of --out",
            )
    try:
        write_folder(knowledge, folder)
    except TargetFolderOccupied as exc:
        raise UserError(str(exc), fix="name an empty folder, or one that this command wrote before") from exc
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="name another folder"
        ) from exc


async def _propose(
    opening: Any, website: str | None, found: LearnedScreens, pages: Sequence[SortedPage]
) -> list[SubmittedProposal]:
    async with opening as stores:
        known = await list_websites(stores)
        website_id = select_website(website, known)
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
        known_pages = [page for page in pages if page.screen is None or page.screen in knowledge.screens]
        wrong = find_misidentified_pages(knowledge, known_pages, ())
        wanted = derive_changes(knowledge, found.learned, pages, wrong, f"learn-{hash_sorted_pages(pages)}")
        async with connect_knowledge_client(stores) as client:
            return await submit_proposals(client, website_id, wanted)


def _learn_from_sessions(
    folders: Sequence[Path],
    budget: ImportBudget,
    opening: Any,
    website: str | None,
    base_url: str | None,
    *,
    as_json: bool,
) -> None:
    traces = [trace for trace in read_foreign(folders, budget, read_traces, folders) if trace.steps]
    if not traces:
        raise UserError(
            "the sessions contain no steps", fix="create sessions with `periplus record` or `periplus run`"
        )

    async def learned() -> tuple[SessionFindings, list[SubmittedProposal]]:
        async with opening as stores:
            known = await list_websites(stores)
            website_id = select_website(website, known)
            found = await find_in_sessions(stores, website_id, base_url, traces)
            async with connect_knowledge_client(stores) as client:
                return found, await submit_proposals(client, website_id, found.wanted)

    found, answered = asyncio.run(learned())
    if as_json:
        told = {
            "pages": found.pages,
            "known": found.known,
            "proposed": _answers(answered),
            "refused": [list(each) for each in found.refused],
        }
        print_json(out, told)
    else:
        _say(f"{len(traces)} sessions, {found.pages} pages: {found.known} show known screens")
        for name, reason in found.refused:
            _say(f"  [yellow]no screen[/] for {_format_name(name)}: {_format_name(reason)}")
        _show_answers(answered)
    if not any(each.counted for each in answered):
        raise typer.Exit(ExitCode.FAILED)


# -- output ----------------------------------------------------------------------------------------------


class _LearnReport:
    """The result of learning from labelled pages, as JSON or as text."""

    def __init__(
        self,
        found: LearnedScreens,
        refused: dict[str, str],
        pages: Sequence[SortedPage],
        wrong: Sequence[MisidentifiedPage],
        answered: Sequence[SubmittedProposal],
        folder: Path | None,
    ) -> None:
        self._learned = {name: each for name, each in found.learned.items() if name not in refused}
        self._refused = {name: each.reason for name, each in found.refused.items()} | refused
        self._pages, self._wrong, self._answered, self._folder = pages, wrong, answered, folder

    def as_json(self) -> dict[str, Any]:
        """Return the whole result for --json."""
        return {
            "screens": {name: _learned_json(each) for name, each in self._learned.items()},
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
        """Print the result for people."""
        table = Table(
            "screen", "pages", "held out", "confidence", "URL", "note", box=SIMPLE_HEAD, header_style="dim"
        )
        joined: list[str] = []
        for name, each in self._learned.items():
            held = f"{each.held_out - each.missed} of {each.held_out}" if each.held_out else "none"
            table.add_row(
                _format_name(name),
                str(each.pages),
                held,
                f"{each.confidence:.2f}",
                _format_name(" | ".join(each.url_patterns) or "anywhere"),
                "" if each.proven else _format_name(each.evidence),
            )
            if each.ambiguous_of:
                joined.append(
                    f"[yellow]one screen[/] {_format_name(name)}: nothing tells {_format_name(' and '.join(each.ambiguous_of))} apart"
                )
        out.print(table)
        for line in joined:
            _say(line)
        for name, reason in self._refused.items():
            _say(f"[yellow]not learned[/] {_format_name(name)}: {_format_name(reason)}")
        wrong = {page.name for page in self._wrong}
        asked = [page for page in self._pages if page.screen not in self._refused]
        right = sum(page.stored.name not in wrong for page in asked)
        left = len(self._pages) - len(asked)
        _say(
            f"[bold]{len(self._learned)}[/] screen{'' if len(self._learned) == 1 else 's'}; {right} of {len(asked)} "
            f"pages identified correctly with all signatures"
            f"{f'; {left} pages belong to screens that were not learned' if left else ''}"
        )
        for page in self._wrong[:WRONG_SHOWN]:
            taken = f"{page.taken_for or 'no screen'}{' or another' if page.ambiguous else ''}"
            _say(
                f"  [red]x[/] {_format_name(page.name)}: {_format_name(page.screen or 'no screen')}, taken for {_format_name(taken)}"
            )
        if self._answered:
            _show_answers(self._answered)
        if self._folder is not None:
            _say(
                f"[green]written[/]: {escape(str(self._folder))}; next: periplus kb load {escape(str(self._folder))}"
            )


def _learned_json(learned: LearnedSignature) -> dict[str, Any]:
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
        "ambiguous_of": list(learned.ambiguous_of),
    }


def _answers(answered: Sequence[SubmittedProposal]) -> list[dict[str, Any]]:
    return [
        {"change": each.about, "proposal_id": each.proposal_id, "runs": runs, "reason": each.reason}
        for each, runs in _unique_lines(answered)
    ]


def _unique_lines(answered: Sequence[SubmittedProposal]) -> list[tuple[SubmittedProposal, int]]:
    """Return each change once, with the number of runs that support it; with the first reason if none do."""
    found: dict[tuple[str, str], list[SubmittedProposal]] = {}
    for each in answered:
        found.setdefault((each.about, each.proposal_id), []).append(each)
    return [
        (next((each for each in own if each.counted), own[0]), sum(each.counted for each in own))
        for own in found.values()
    ]


def _show_answers(answered: Sequence[SubmittedProposal]) -> None:
    for each, runs in _unique_lines(answered):
        if each.counted:
            _say(
                f"  [green]proposed[/] {_format_name(each.about)} ({each.proposal_id}), supported by {format_count(runs, 'run')}"
            )
        else:
            _say(f"  [yellow]not proposed[/] {_format_name(each.about)}: {_format_name(each.reason)}")
    if any(each.counted for each in answered):
        _say("next: periplus kb proposals list")
    elif not answered:
        _say("nothing to propose: the knowledge base already covers these sessions")


def _format_name(text: str) -> str:
    """Return a name as escaped markup for part of a line, shortened to `LONGEST_SHOWN` characters."""
    return escape(one_line(text, LONGEST_SHOWN))


def _say(line: str) -> None:
    out.print(line, soft_wrap=True, highlight=False)


@contextmanager
def _progress() -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda name: bar.update(task, advance=1, description=_format_name(name[-40:]))
