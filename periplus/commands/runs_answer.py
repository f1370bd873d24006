"""`periplus runs answer`: answer a visitor's question in the flow that it was asked in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from kb_schema import KnowledgeBase
from loaders.edits.answer_edit import add_answer
from loaders.edits.knowledge_edit import KnowledgeEdit
from periplus.commands.command_output import AsJson
from periplus.commands.kb_edit import DryRun, run_edit
from periplus.demos.demo_measurements import UnansweredRequest, list_unanswered
from periplus.errors import UserError
from periplus.run_store_adapters import open_run_store
from periplus.store_selection import ArangoUrl, MongoUrl


def answer(
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="Its number in `periplus runs questions`, or its words.",
            show_default=False,
        ),
    ],
    text: Annotated[str, typer.Argument(metavar="ANSWER", help="What the presenter says.", show_default=False)],
    *,
    flow: Annotated[
        str | None,
        typer.Option("--flow", metavar="ID", help="The flow; for a number, the one it was asked in.", show_default=False),
    ] = None,
    website: Annotated[
        str | None, typer.Option("--website", "-w", metavar="ID", help="Only questions of this website, as for `questions`.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Edit the files of this knowledge base instead of the store.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:  # fmt: skip
    """Answer a visitor's question: the answer becomes part of the flow.

    Example: [cyan]periplus runs answer 1 "It depends on your calls."[/]

    The same question in other words is answered with it, too.
    """
    words = question
    if question.isdigit():
        asked = asyncio.run(_find(int(question), website, mongodb_url))
        if asked.words is None:
            raise UserError(
                f"the words of question {question} are not stored",
                fix="give the question itself, or set PERIPLUS_VISITOR_RETENTION_DAYS for the next demos",
            )
        words, flow = asked.words, flow or asked.flow_id
        website = website or (asked.website_id if folder is None else None)
    elif flow is None:
        raise UserError("--flow is missing", fix="name the flow that answers: periplus flows")
    wanted = flow

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        return add_answer(knowledge, wanted or "", words, text)

    run_edit(make, website, folder, mongodb_url, arangodb_url, dry_run=dry_run, as_json=as_json)


async def _find(number: int, website: str | None, mongodb_url: str | None) -> UnansweredRequest:
    async with open_run_store(mongodb_url) as store:
        found = await list_unanswered(store, website)
    if not 1 <= number <= len(found):
        raise UserError(
            f"there is no question {number}: {len(found)} are listed", fix="look at: periplus runs questions"
        )
    return found[number - 1]
