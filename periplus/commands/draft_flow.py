"""`periplus draft-flow`: write a demo of a website from its knowledge base, for a person to edit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent.inferencer import InferenceFailed
from agent.sentences.goal_sentences import list_requests
from kb_schema import KnowledgeBase
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.text_similarity import is_destructive
from kb_store import read_knowledge
from loaders import read_knowledge_folder
from loaders.edits.knowledge_edit import EditRefused
from loaders.edits.renaming import slug_of
from loaders.files.folder_writer import to_canonical
from loaders.files.yaml_files import to_yaml, write_whole
from loaders.flow_drafts.flow_draft import draft_flow
from loaders.flow_drafts.sample_inputs import list_made_up, list_missing_inputs
from mcp_server.search.search_index import SearchIndex
from periplus.commands.command_options import StoredWebsite, choose_import_budget
from periplus.demos.narration_wording import reword_narration
from periplus.errors import UserError
from periplus.foreign_input import read_foreign
from periplus.language_model import load_inferencer
from periplus.runs.sentence_tasks import find_meaning
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website

MOST_NAMED = 12
"""Tasks that are named where none fits the goal."""
MOST_MENTIONS = 2
"""Screens of the goal that the tour shows first if no task fits."""
HEAD = """\
# A draft. Change the narration, the order of the segments and the values of inputs as you like; delete what you do
# not want to show. [[at:NAME]] marks the word at which the pointer is on that control. All fields: docs/presenting.md,
# and `periplus kb schema presentation_flow`. Play it:
#   periplus demo --website {website} --flow {file}
"""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
console = CommandConsole()


@app.command()
def draft_flow_(
    *,
    website: StoredWebsite = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Read this knowledge base folder instead of the store.",
            show_default=False,
        ),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(
            help='What to show besides the tour: "show how an issue is reported".', show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write; default: FLOW.yaml.", show_default=False),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option("--flow", metavar="ID", help="The flow's id; default: from website and goal."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL", help="A language model that words the narration.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Draft a demo of a website: welcome, a tour of its menu, one task with proof, a close.

    Example: [cyan]periplus draft-flow --website shop --goal "show how an order is placed"[/]

    The narration is made of the website's own words. The file plays at once:
    [cyan]periplus demo --website shop --flow shop_order.yaml[/]
    Without --goal, and if no task fits the goal, nothing is changed on the website when it plays.
    """
    knowledge = _read(website, source, mongodb_url, arangodb_url)
    website_id = knowledge.website.website_id
    flow_id = flow or _make_flow_id(website_id, goal)
    file = out or Path(f"{flow_id}.yaml")
    if file.exists() and not force:
        raise UserError(f"{file} already exists", fix="name another file with --out, or use --force")
    work, mentions = _find_work(knowledge, goal)
    made = draft_flow(knowledge, flow_id, work=work, mentions=mentions)
    if model is not None:
        made = _reword(made, knowledge, model)
    text = HEAD.format(website=website_id, file=file) + _to_text(made, knowledge)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text)
    except OSError as exc:
        raise UserError(f"{file} cannot be written: {exc.strerror or exc}", fix="name another file") from exc
    console.print(
        f"[green]wrote[/] {len(made.segments)} segments, about {made.duration.estimated:.0f} s, to {escape(str(file))}",
        soft_wrap=True, highlight=False,
    )  # fmt: skip
    _print_made_up(made)
    _print_notes(knowledge, goal, work)
    given = "".join(f" -i {name}=..." for name in _list_given_inputs(made, knowledge, work))
    console.print(
        f"play it: periplus demo --website {escape(website_id)} --flow {escape(str(file))}{escape(given)}",
        soft_wrap=True, highlight=False,
    )  # fmt: skip


def _print_made_up(flow: PresentationFlow) -> None:
    """Say which values of the flow a person has to look at before it is played."""
    names = [name for segment in flow.segments for name in list_made_up(segment.input_mapping)]
    if names:
        console.print(
            f"[yellow]made up[/]: {escape(', '.join(names))}; put values into the file that the website has, or accepts",
            soft_wrap=True, highlight=False,
        )  # fmt: skip


def _read(
    website: str | None, source: Path | None, mongodb_url: str | None, arangodb_url: str | None
) -> KnowledgeBase:
    if website is not None and source is not None:
        raise UserError("--website and --folder cannot be combined", fix="give one of them")
    if source is not None:
        return read_foreign(source, choose_import_budget(None, None), read_knowledge_folder, source)[0]

    async def read() -> KnowledgeBase:
        async with open_selected_stores(mongodb_url, arangodb_url) as stores:
            website_id = select_website(website, await list_websites(stores))
            return (await read_knowledge(stores.documents, stores.graph, website_id))[0]

    return asyncio.run(read())


def _make_flow_id(website_id: str, goal: str | None) -> str:
    try:
        return slug_of(f"{website_id} {goal or 'tour'}")[:60].rstrip("_")
    except EditRefused:
        return f"{website_id}_tour"


def _find_work(knowledge: KnowledgeBase, goal: str | None) -> tuple[str | None, list[str]]:
    """Return the task or workflow that the goal means, or None; and the screens that fit it.

    What deletes or pays is shown only if the goal says that it does. Raises `UserError` if several may be meant.
    """
    if not goal:
        return None, []
    for request in list_requests(goal):
        meaning = find_meaning(request, knowledge)
        found = [
            each.task_id
            for each in ((meaning.task,) if meaning.task is not None else meaning.similar)
            if each.task_id != knowledge.website.login_task_id
            and (is_destructive(request) or not _deletes(knowledge, each.task_id))
        ]
        if len(found) > 1:
            names = ", ".join(_name_of(knowledge, each) for each in found)
            raise UserError(
                f"the goal may mean more than one task: {names}", fix="use the words of one name in --goal"
            )
        if found:
            return found[0], []
    hits = SearchIndex(knowledge).hits(goal, MOST_MENTIONS, kinds=("screen",)).hits
    return None, [hit.id for hit in hits]


def _name_of(knowledge: KnowledgeBase, work_id: str) -> str:
    work = knowledge.tasks.get(work_id) or knowledge.workflows.get(work_id)
    return repr(work.name if work is not None and work.name else work_id)


def _deletes(knowledge: KnowledgeBase, work_id: str) -> bool:
    """Return whether a task presses what deletes or pays: its name says so, or the element that a step uses."""
    task = knowledge.tasks.get(work_id)
    if task is None:
        return is_destructive(work_id.replace("_", " "))
    targets = {str(step.action.target) for step in task.steps}
    pressed = (
        element
        for screen_id in knowledge.screens
        for element in knowledge.elements(screen_id).values()
        if element.element_id in targets
    )
    return is_destructive(task.name) or any(
        each.destructive for element in pressed for each in element.affordances
    )


def _reword(flow: PresentationFlow, knowledge: KnowledgeBase, model: str) -> PresentationFlow:
    inferencer = load_inferencer("narrate", model)
    if inferencer is None:
        return flow
    try:
        return asyncio.run(reword_narration(flow, knowledge.website, inferencer))
    except InferenceFailed as exc:
        raise UserError(str(exc), fix=exc.hint or "leave out --model, or name another one") from exc


def _to_text(flow: PresentationFlow, knowledge: KnowledgeBase) -> str:
    """Return the flow as YAML, with an empty line before each segment."""
    data = to_canonical(flow, knowledge)
    for segment in data["segments"]:
        segment.pop("order", None)
        for mapping in segment.get("input_mapping", {}).values():
            mapping["source"] = "|".join(mapping["source"])
    return to_yaml(data).replace("\n- segment_id:", "\n\n- segment_id:")


def _list_given_inputs(flow: PresentationFlow, knowledge: KnowledgeBase, work: str | None) -> list[str]:
    """Return the inputs that a person gives when the flow plays: those for signing in, then secrets and files of the task."""
    login = knowledge.tasks.get(knowledge.website.login_task_id or "")
    signs_in = login is not None and any(each.task_id == login.task_id for each in flow.segments)
    found = [
        each.name
        for each in (login.io_spec.inputs if login is not None and signs_in else ())
        if each.required and each.default is None
    ]
    shown = knowledge.tasks.get(work or "") or knowledge.workflows.get(work or "")
    return list(dict.fromkeys((*found, *(list_missing_inputs(shown) if shown is not None else ()))))


def _print_notes(knowledge: KnowledgeBase, goal: str | None, work: str | None) -> None:
    if goal and work is None:
        login = knowledge.website.login_task_id
        named = [
            _name_of(knowledge, each) for each in (*knowledge.workflows, *knowledge.tasks) if each != login
        ]
        there = f"; there are: {', '.join(named[:MOST_NAMED])}" if named else ""
        console.print(
            "[yellow]no task or workflow fits the goal[/]: the tour shows the screens of the goal first; record the "
            f"task with `periplus record`, or use the words of a task, then draft again{escape(there)}",
            soft_wrap=True, highlight=False,
        )  # fmt: skip
    shown = knowledge.tasks.get(work or "") or knowledge.workflows.get(work or "")
    if shown is not None:
        console.print(f"shows {escape(shown.local_id)}", highlight=False)
