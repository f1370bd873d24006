"""`periplus kb diff`: compare a knowledge folder with the store, or with another folder."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.tree import Tree

from kb_schema import KnowledgeBase
from kb_store import NoSuchWebsite, Stores, read_knowledge
from loaders import read_knowledge_folder
from loaders.diffs.diff_markdown import to_markdown
from loaders.diffs.diff_summary import DiffEntry, DiffSummary, summarise_diff, to_plain_text
from loaders.diffs.knowledge_diff import ValueChange, diff_knowledge
from loaders.markup_escapes import one_line
from periplus.commands.command_options import (
    ImportMemory,
    ImportSeconds,
    KnowledgeFolder,
    choose_import_budget,
)
from periplus.commands.command_output import AsJson, format_change, print_json
from periplus.exit_codes import ExitCode
from periplus.foreign_input import ImportBudget, read_foreign
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole

LONGEST_WORDS = 300
"""Maximum number of characters of one difference."""


class DiffForm(StrEnum):
    """The output formats of `kb diff`."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


out = CommandConsole()


def diff_(
    folder: KnowledgeFolder,
    *,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Compare with this folder instead of the store.", show_default=False
        ),
    ] = None,
    form: Annotated[
        DiffForm, typer.Option("--format", help="[bold]markdown[/]: for a pull request.", show_default=True)
    ] = DiffForm.TEXT,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with code 1 if there are differences.")
    ] = False,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show the differences between a folder and the store, or another folder.

    Example: [cyan]periplus kb diff seeds/spadeworks/kb[/]

    Each difference is described in a sentence, followed by the changed values. The exit code is 0;
    with --exit-code it is 1 if there are differences.
    """
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    new, _ = read_foreign(folder, budget, read_knowledge_folder, folder)
    website_id = new.website.website_id
    old = _load_compared_knowledge(website_id, against, budget, mongodb_url, arangodb_url)
    found = diff_knowledge(old, new)
    words = summarise_diff(found, old, new)
    if as_json or form is DiffForm.JSON:
        print_json(out, _diff_json(website_id, words))
    elif form is DiffForm.MARKDOWN:
        typer.echo(to_markdown(words, website_id), nl=False)
    elif not found:
        whose = "the store" if against is None else str(against)
        out.print(
            f"[green]no difference[/]: {escape(whose)} has the same knowledge of [bold]{escape(website_id)}[/]",
            soft_wrap=True,
        )
    else:
        out.print(_diff_tree(website_id, words, new_website=old is None), highlight=False)
    if exit_code and found:
        raise typer.Exit(ExitCode.FAILED)


def _load_compared_knowledge(
    website_id: str,
    against: Path | None,
    budget: ImportBudget,
    mongodb_url: str | None,
    arangodb_url: str | None,
) -> KnowledgeBase | None:
    """Return the knowledge to compare with; None if there is none yet."""
    if against is not None:
        return read_foreign(against, budget, read_knowledge_folder, against)[0]
    try:
        return asyncio.run(_read(website_id, open_selected_stores(mongodb_url, arangodb_url)))[0]
    except NoSuchWebsite:
        return None


async def _read(website_id: str, opening: AbstractAsyncContextManager[Stores]) -> tuple[KnowledgeBase, int]:
    async with opening as stores:
        return await read_knowledge(stores.documents, stores.graph, website_id)


def _diff_json(website_id: str, words: DiffSummary) -> dict[str, Any]:
    return {
        "website_id": website_id,
        "headline": to_plain_text(words.headline),
        "entries": [
            {
                "change": told.what,
                "kind": told.kind,
                "id": told.local_id,
                "words": to_plain_text(told.words),
                **({"changes": [_change_json(each) for each in told.changes]} if told.changes else {}),
            }
            for told in words.entries
        ],
    }


def _change_json(change: ValueChange) -> dict[str, Any]:
    return {"path": change.path, "before": change.before, "after": change.after}


_MARKS = {"added": ("green", "+"), "removed": ("red", "-"), "changed": ("yellow", "~")}


def _diff_tree(website_id: str, words: DiffSummary, *, new_website: bool) -> Tree:
    state = " (not in the store yet)" if new_website else ""
    tree = Tree(f"[bold]{escape(website_id)}[/]{state}: {escape(to_plain_text(words.headline, one_line))}")
    kinds: dict[str, list[DiffEntry]] = {}
    for told in words.entries:
        kinds.setdefault(told.kind, []).append(told)
    for kind, entries in kinds.items():
        branch = tree.add(f"{kind} ({len(entries)})")
        for told in entries:
            colour, mark = _MARKS[told.what]
            said = one_line(to_plain_text(told.words, one_line), LONGEST_WORDS)
            same = said == told.local_id
            leaf = branch.add(
                f"[{colour}]{mark} {escape(told.local_id)}[/]{'' if same else f'  {escape(said)}'}"
            )
            for change in told.changes:
                leaf.add(format_change(change))
    return tree
