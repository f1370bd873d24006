"""Runs `periplus map --update`: opens the known screens again, explores what is new, and tells what has changed.

The exploration of the map is copied to `update/` and goes on there, so that an update that is not applied leaves the map
as it was, and the next one says the same again. `loaders.map_updates` compares, words and applies.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playwright.async_api import Browser
from rich.console import Console
from rich.text import Text

from agent.exploration.website_exploration import StartNotOpened
from kb_schema import KnowledgeBase
from kb_schema.exploration_folder import REVISITS_FILE, ExplorationFolder
from kb_schema.explorations import MapLimits
from kb_schema.graph_documents import Transition
from kb_schema.proposals import ReportedSupport, ScreenChange, TransitionChange
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_store import Stores, read_knowledge
from loaders.diffs.diff_summary import to_plain_text
from loaders.edits.knowledge_edit import KnowledgeEdit
from loaders.exploration_import import ExploredKnowledge, build_knowledge
from loaders.exploration_import.explored_pages import OUTSIDE, ExploredSite
from loaders.files.folder_changes import write_new_knowledge
from loaders.map_updates.applied_changes import apply_map_changes
from loaders.map_updates.map_changes import compare_maps, list_revisited_pages, read_revisits
from loaders.map_updates.update_report import UpdateReport, list_lines, to_html, to_json, to_markdown
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.knowledge.proposal_service import ProposalService
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.ended_work import WorkEnded, run_until_signal
from periplus.exploration.map_folder import EXPLORATION, SIGNED_OUT, MapFolder
from periplus.exploration.map_knowledge_base import is_unedited, note_generated
from periplus.exploration.map_run import (
    NO_SESSION,
    MapRunPlan,
    SignInFunction,
    explore_website,
    stop_exploring,
)
from periplus.exploration.map_run import OUTSIDE as OUTSIDE_LIMITS
from periplus.exploration.map_view import MapView, format_plain_text
from periplus.signals import on_signals

UPDATE = "update"
"""The folder of the last update in that of the map: its exploration and its report."""
REPORT = "report"
MOST_LINES = 40
"""The most changes that the terminal shows."""


@dataclass(frozen=True, slots=True)
class MapUpdate:
    """A finished update: its report, and the knowledge before and after it."""

    report: UpdateReport
    folder: MapFolder
    """The map."""
    before: KnowledgeBase
    edit: KnowledgeEdit

    @property
    def updated(self) -> MapFolder:
        """The folder of the update."""
        return MapFolder(self.folder.path / UPDATE)


async def update_map(
    browser: Browser,
    plan: MapRunPlan,
    before: KnowledgeBase,
    sign_in: SignInFunction | None,
    view: MapView,
) -> tuple[MapUpdate, bool]:
    """Explore what is new against the map in the plan's folder; return the update and whether it was stopped.

    `before`: the website's knowledge. Raises `UserError`, `KnowledgeError`, and `OSError` if the folder cannot be
    written.
    """
    updated = _copy_exploration(plan.folder, before)
    pages = list_revisited_pages(before, _site(updated))
    plan = replace(plan, limits=_with_room(plan, updated))
    stop = asyncio.Event()
    signed = None
    if sign_in is not None:
        view.say("signing in")
        signed = await sign_in(browser)
        if signed is None:
            view.say(NO_SESSION)
    every = dict.fromkeys(page_id for page_ids in pages.values() for page_id in page_ids)
    inside = [each for each in every if not each.startswith(OUTSIDE)]
    outside = [each.removeprefix(OUTSIDE) for each in every if each.startswith(OUTSIDE)]
    with on_signals(lambda: stop_exploring(stop, view), signal.SIGINT, signal.SIGTERM):
        view.say("opening the known screens again")
        there = replace(plan, folder=updated)
        await explore_website(
            browser, there, signed, view, stop, None, revisit=_openable_first(updated, inside)
        )
        if outside and not stop.is_set():
            view.say("opening the known screens again without sign-in")
            await _revisit_signed_out(browser, there, outside, view, stop)
    view.say("comparing")
    try:
        update = await run_until_signal(lambda: _finish(plan, before, updated))
    except WorkEnded as exc:
        raise UserError(
            f"stopped before the update was compared; the map in {plan.folder.path} is as it was",
            fix="start the update again",
            code=ExitCode.INTERRUPTED,
        ) from exc
    return update, stop.is_set()


def _copy_exploration(folder: MapFolder, knowledge: KnowledgeBase) -> MapFolder:
    updated = MapFolder(folder.path / UPDATE)
    if updated.path.exists():
        shutil.rmtree(updated.path)
    for source, name in ((folder.exploration, EXPLORATION), (folder.signed_out, SIGNED_OUT)):
        if source.exists:
            shutil.copytree(source.path, updated.path / name)
            _forget_revisits(ExplorationFolder(updated.path / name), knowledge)
    return updated


def _forget_revisits(copied: ExplorationFolder, knowledge: KnowledgeBase) -> None:
    """Remove what earlier updates said, but for the pages of screens that are gone and are in the knowledge no more."""
    prefix = OUTSIDE if copied.path.name == SIGNED_OUT else ""
    there = {str(each.metadata.get("seen_as", "")) for each in knowledge.screens.values()}
    gone = [
        each
        for each in copied.revisits()
        if each.outcome == "gone" and f"{prefix}{each.page_id}" not in there
    ]
    (copied.path / REVISITS_FILE).unlink(missing_ok=True)
    for each in gone:
        copied.add_revisit(each)


def _site(folder: MapFolder) -> ExploredSite:
    return ExploredSite(folder.exploration, folder.signed_out if folder.signed_out.exists else None)


def _with_room(plan: MapRunPlan, updated: MapFolder) -> MapLimits:
    """Return the limits with room for as many new pages as a first map may have."""
    known = len(updated.exploration.pages())
    return plan.limits.model_copy(update={"states": plan.limits.states + known})


def _openable_first(updated: MapFolder, pages: list[str]) -> list[str]:
    """Return the pages, those on which something lies last: the way to them is compared before."""
    layered = {page.page_id for page in updated.exploration.pages() if page.layer or page.openable is False}
    return sorted(pages, key=lambda each: each in layered)


async def _revisit_signed_out(
    browser: Browser, plan: MapRunPlan, pages: list[str], view: MapView, stop: asyncio.Event
) -> None:
    limits = OUTSIDE_LIMITS.model_copy(
        update={"states": OUTSIDE_LIMITS.states + len(plan.folder.signed_out.pages())}
    )
    bare = replace(plan, limits=limits, allowed=(), hints=())
    try:
        await explore_website(browser, bare, None, view, stop, None, revisit=pages, name=SIGNED_OUT)
    except StartNotOpened as exc:
        view.say(str(exc))


def _finish(plan: MapRunPlan, before: KnowledgeBase, updated: MapFolder) -> MapUpdate:
    """Compare, and write the report."""
    signed_out = updated.signed_out if updated.signed_out.exists else None
    built = build_knowledge(updated.exploration, signed_out=signed_out, name=plan.name)
    revisits = read_revisits(updated.exploration, signed_out)
    comparison = compare_maps(before, _site(plan.folder), _site(updated), revisits, built)
    gone = any(each.kind == "screen_gone" for each in comparison.changes)
    drafts = _draft_again(plan.folder) if gone else {}
    edit = apply_map_changes(before, comparison, built, drafts)
    ended = updated.exploration.exploration
    report = UpdateReport(
        website_id=before.website.website_id,
        name=before.website.name,
        url=ended.base_url,
        mapped_at=plan.folder.exploration.exploration.ended_at or ended.started_at,
        updated_at=datetime.now(UTC),
        finished=ended.ended_by == "done",
        comparison=comparison,
        names=_name_screens(before, built),
        left=edit.left,
    )
    for ending, text in (
        ("md", to_markdown(report)),
        ("html", to_html(report)),
        ("json", json.dumps(to_json(report), indent=1)),
    ):
        (updated.path / f"{REPORT}.{ending}").write_text(text, encoding="utf-8")
    return MapUpdate(report, plan.folder, before, edit)


def _draft_again(folder: MapFolder) -> Mapping[str, Task]:
    """Return the tasks as they were drafted for the map, by id."""
    signed_out = folder.signed_out if folder.signed_out.exists else None
    return build_knowledge(folder.exploration, signed_out=signed_out).knowledge.tasks


def _name_screens(before: KnowledgeBase, built: ExploredKnowledge) -> dict[str, str]:
    new = {each.screen_id: each.name for each in built.knowledge.screens.values()}
    return new | {each.screen_id: each.name for each in before.screens.values()}


# -- what becomes of the changes -------------------------------------------------------------------------


def apply_update(update: MapUpdate) -> None:
    """Write the changes into the files of the map's knowledge, and make the update the map's exploration.

    Raises `UserError` if a file cannot be written.
    """
    folder = update.folder
    generated = is_unedited(folder)
    try:
        write_new_knowledge(folder.knowledge, update.before, update.edit.knowledge, update.edit.renamed)
        if generated:  # else `--redraw` would overwrite what people edited
            note_generated(folder)
        for name in (EXPLORATION, SIGNED_OUT):
            new = update.updated.path / name
            if new.exists():
                shutil.rmtree(folder.path / name, ignore_errors=True)
                new.rename(folder.path / name)
                _forget_revisits(ExplorationFolder(folder.path / name), update.edit.knowledge)
    except OSError as exc:
        raise UserError(
            f"{folder.path} cannot be written: {exc.strerror or exc}", fix="look at its permissions"
        ) from exc


async def propose_update(update: MapUpdate, stores: Stores) -> int:
    """Store new and changed screens and transitions as proposals; return their number.

    The same change of a later update is the same proposal with one more support. What cannot be proposed, such as a
    screen that is gone, is in the report only. Raises the errors of the stores.
    """
    knowledge, generation = await read_knowledge(
        stores.documents, stores.graph, update.before.website.website_id
    )
    view, service = compile_view(knowledge, str(generation)), ProposalService(stores.proposals)
    told = to_plain_text(update.report.headline)[:1_000]
    run_id = f"map-update-{update.report.updated_at:%Y%m%dT%H%M%S}"
    support = ReportedSupport(run_id=run_id, note=told, at=update.report.updated_at)
    made = 0
    for each in _list_proposals(update):
        with suppress(
            BadRequest, UnknownName
        ):  # another change, which cannot be proposed, would have to be made first
            await service.propose(view, each, support)
            made += 1
    return made


def _list_proposals(update: MapUpdate) -> list[ScreenChange | TransitionChange]:
    new = update.edit.knowledge
    screens = [
        _keep_triggers(each, update.before)
        for each in new.screens.values()
        if update.before.screens.get(each.screen_id) != each
    ]
    edges = [
        _without_measurements(each)
        for each in new.transitions.values()
        if update.before.transitions.get(each.local_id) != each
    ]
    return [
        *(ScreenChange(type="screen", screen=each) for each in screens),
        *(TransitionChange(type="transition", transition=each) for each in edges),
    ]


def _without_measurements(edge: Transition) -> Transition:
    """Return the transition as every update proposes it: how long it took differs each time."""
    stated = edge.to_json()
    return Transition.model_validate(
        {
            key: value
            for key, value in stated.items()
            if key not in ("cost", "duration", "reliability_metrics")
        }
    )


def _keep_triggers(screen: Screen, before: KnowledgeBase) -> Screen:
    """Return the screen with the elements that transitions name: that a transition is gone cannot be proposed."""
    named = {
        str(each.triggered_by.target)
        for each in before.transitions.values()
        if each.from_screen == screen.screen_id
    }
    known = before.screens.get(screen.screen_id)
    there = {each.element_id for each in screen.ui_elements}
    kept = [
        each
        for each in (() if known is None else known.ui_elements)
        if each.element_id in named and each.element_id not in there
    ]
    return screen.model_copy(update={"ui_elements": (*screen.ui_elements, *kept)})


def print_update(console: Console, update: MapUpdate, *, applied: bool, proposed: int | None) -> None:
    """Print the report."""
    report = update.report
    console.print(Text(to_plain_text(report.headline, format_plain_text), style="bold"), soft_wrap=True)
    shown = 0
    for heading, lines in list_lines(report, format_plain_text):
        console.print(Text(f"{heading} ({len(lines)})", style="dim"))
        for line in lines[: max(0, MOST_LINES - shown)]:
            console.print(Text(f"  {line}"), soft_wrap=True)
        shown += len(lines)
    for line in report.left if applied else ():
        console.print(
            Text(f"  ! not changed in the knowledge: {format_plain_text(line)}", style="yellow"),
            soft_wrap=True,
        )
    console.print(f"report       {update.updated.path / REPORT}.md, .html, .json", soft_wrap=True)
    if applied:
        console.print(f"knowledge    {update.folder.knowledge}", soft_wrap=True)
    elif proposed is not None:
        console.print(
            f"proposals    {proposed}: periplus kb proposals list --website {report.website_id}",
            soft_wrap=True,
        )
