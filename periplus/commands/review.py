"""`periplus review`: decide what is doubtful in a map, the most valuable first."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, cast

import click
import typer
from rich.markup import escape

from kb_schema import KnowledgeBase, KnowledgeError
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit
from loaders.files.folder_changes import write_new_knowledge
from loaders.map_review.map_doubts import Doubt, list_doubts
from loaders.map_review.review_decisions import Decision, decide
from loaders.markup_escapes import one_line
from periplus.commands.command_options import StoredWebsite, choose_import_budget
from periplus.commands.command_output import format_count, print_json
from periplus.console.screen_pictures import ScreenPictures
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.map_folder import MAPS
from periplus.foreign_input import read_foreign
from periplus.knowledge_edits import store_edit
from periplus.run_store_adapters import open_run_store
from periplus.runs.tried_tasks import list_tried_tasks
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, get_store_urls, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

KEYS = {"k": "keep", "r": "rename", "m": "merge", "d": "delete", "s": "skip", "q": "quit"}
LONGEST = 200

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
out = CommandConsole()


@app.command()
def review(
    *,
    website: StoredWebsite = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Review the files of this knowledge base instead of the store.",
            show_default=False,
        ),
    ] = None,
    only_list: Annotated[bool, typer.Option("--list", help="Print the list and ask nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON and ask nothing.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Review a map: what is doubtful, the most valuable first, with one key for each decision.

    Example: [cyan]periplus review --website shop[/]

    Screens that may be one page, names made of data, tasks that were drafted and never run, screens from which no
    way leads back. Each decision is written at once; the next review goes on with what is left.
    If the terminal is not interactive, the list is printed.
    """
    if website is not None and folder is not None:
        raise UserError("--website and --folder cannot be combined", fix="give one of them")
    subject = (
        _FolderSubject(folder) if folder is not None else _open_store(website, mongodb_url, arangodb_url)
    )
    knowledge, doubts = subject.read()
    if as_json:
        print_json(out, [{**asdict(each), "picture": subject.picture(knowledge, each)} for each in doubts])
        return
    if not doubts:
        out.print("[green]nothing is doubtful[/]")
        return
    if only_list or not (sys.stdin.isatty() and sys.stdout.isatty()):
        for number, each in enumerate(doubts, start=1):
            _print_doubt(each, f"{number}", subject.picture(knowledge, each))
        return
    _ask_all(subject, knowledge, doubts)


# -- what is reviewed --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _FolderSubject:
    """The files of a knowledge base."""

    folder: Path

    def read(self) -> tuple[KnowledgeBase, list[Doubt]]:
        budget = choose_import_budget(None, None)
        knowledge, _ = read_foreign(self.folder, budget, read_knowledge_folder, self.folder)
        return knowledge, list_doubts(knowledge)

    def apply(self, doubt: Doubt, decision: Decision, answer: str | None) -> KnowledgeEdit:
        knowledge, _ = read_knowledge_folder(self.folder)
        edit = decide(knowledge, doubt, decision, answer)
        write_new_knowledge(self.folder, knowledge, edit.knowledge, edit.renamed)
        return edit

    def picture(self, knowledge: KnowledgeBase, doubt: Doubt) -> str | None:
        map_folder = self.folder.resolve().parent
        return _find_picture(map_folder.parent, map_folder.name, knowledge, doubt)


@dataclass(frozen=True, slots=True)
class _StoreSubject:
    """A website in the store."""

    website_id: str
    mongodb_url: str | None
    arangodb_url: str | None

    def read(self) -> tuple[KnowledgeBase, list[Doubt]]:
        knowledge, tried = asyncio.run(self._read())
        return knowledge, list_doubts(knowledge, tried)

    def apply(self, doubt: Doubt, decision: Decision, answer: str | None) -> KnowledgeEdit:
        async def work() -> KnowledgeEdit:
            async with open_selected_stores(self.mongodb_url, self.arangodb_url) as stores:
                return (
                    await store_edit(
                        stores, self.website_id, lambda known: decide(known, doubt, decision, answer)
                    )
                )[0]

        return asyncio.run(work())

    def picture(self, knowledge: KnowledgeBase, doubt: Doubt) -> str | None:
        return _find_picture(load_settings().data_dir / MAPS, self.website_id, knowledge, doubt)

    async def _read(self) -> tuple[KnowledgeBase, frozenset[str]]:
        async with open_selected_stores(self.mongodb_url, self.arangodb_url) as stores:
            knowledge, _ = await read_knowledge(stores.documents, stores.graph, self.website_id)
        async with open_run_store(get_store_urls(self.mongodb_url, None)[0]) as runs:
            return knowledge, await list_tried_tasks(runs, self.website_id)


_Subject = _FolderSubject | _StoreSubject


def _open_store(website: str | None, mongodb_url: str | None, arangodb_url: str | None) -> _StoreSubject:
    async def known() -> list[str]:
        async with open_selected_stores(mongodb_url, arangodb_url) as stores:
            return await list_websites(stores)

    return _StoreSubject(select_website(website, asyncio.run(known())), mongodb_url, arangodb_url)


def _find_picture(maps: Path, website: str, knowledge: KnowledgeBase, doubt: Doubt) -> str | None:
    screen = knowledge.screens.get(doubt.name)
    found = None if screen is None else ScreenPictures(maps).of(website, screen)
    return None if found is None else str(found)


# -- asking ------------------------------------------------------------------------------------------


def _ask_all(subject: _Subject, knowledge: KnowledgeBase, doubts: Sequence[Doubt]) -> None:
    """Ask for one decision after the other; each is written before the next is asked."""
    skipped: set[tuple[str, str]] = set()
    decided = 0
    try:
        while left := [each for each in doubts if (each.name, each.mark) not in skipped]:
            doubt = left[0]
            _print_doubt(doubt, f"{len(left)} left", subject.picture(knowledge, doubt))
            key = _ask_key(doubt)
            if key == "q":
                break
            if key == "s":
                skipped.add((doubt.name, doubt.mark))
                continue
            if _apply(subject, doubt, cast("Decision", KEYS[key])):
                decided += 1
                knowledge, doubts = subject.read()
    except (KeyboardInterrupt, click.Abort):
        out.print(f"\n[yellow]stopped[/]: {format_count(decided, 'decision')} written")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    out.print(f"{format_count(decided, 'decision')} written, {len(doubts)} left")


def _ask_key(doubt: Doubt) -> str:
    offered = [key for key, word in KEYS.items() if word in (*doubt.choices, "skip", "quit")]
    out.print("  " + "  ".join(f"[bold]{key}[/] {KEYS[key]}" for key in offered), highlight=False)
    while True:
        key = click.getchar().lower()
        if key in offered:
            return key
        if key in ("\x03", "\x04", ""):
            raise KeyboardInterrupt


def _apply(subject: _Subject, doubt: Doubt, decision: Decision) -> bool:
    """Carry out a decision; return whether it was made."""
    answer = None
    if decision == "rename":
        answer = typer.prompt("  new name", default=doubt.suggestion or "")
    if decision == "merge":
        answer = typer.prompt("  the same screen as", default=doubt.other or "")
    try:
        edit = subject.apply(doubt, decision, answer)
    except EditRefused as exc:
        out.print(f"  [red]{escape(exc.message)}[/] [green]-> {escape(exc.fix)}[/]", soft_wrap=True)
        return False
    except KnowledgeError as exc:
        out.print(f"  [red]{escape(str(exc).splitlines()[-1].strip())}[/]", soft_wrap=True, highlight=False)
        return False
    for each in edit.left:
        out.print(f"  [yellow]look at[/] {escape(one_line(each, LONGEST))}", soft_wrap=True, highlight=False)
    return True


def _print_doubt(doubt: Doubt, number: str, picture: str | None) -> None:
    out.print(
        f"[bold]{number}[/]  {escape(one_line(doubt.words, LONGEST))}  [dim]{escape(doubt.name)}[/]",
        soft_wrap=True,
        highlight=False,
    )
    if doubt.suggestion:
        out.print(f"  better: {escape(one_line(doubt.suggestion, LONGEST))}", soft_wrap=True, highlight=False)
    if picture is not None:
        out.print(f"  [dim]{escape(picture)}[/]", soft_wrap=True, highlight=False)
