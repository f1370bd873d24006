"""The pages that support a proposal: screenshots of runs and of the website's map, else stored HTML.

A run names a page that it saw (`PageReference`). The screenshot is in the run's folder, or in the folder of
`periplus map`. If neither has one, the HTML from the run's trace is shown in a frame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb_schema import KnowledgeBase
from kb_schema.execution_traces import TraceStep, element_id_of
from kb_schema.proposals import (
    PageReference,
    Proposal,
    SelectorChange,
    SignatureChange,
    StepTargetChange,
    TransitionChange,
)
from kb_schema.url_patterns import path_of
from periplus.console import run_artifacts
from periplus.console.console_framework import ConsoleContext, site_path
from periplus.console.run_artifacts import ArtifactPicture
from periplus.console.run_labels import shorten_value

MOST_SEEN = 12
"""Maximum number of pages per proposal."""
MOST_TRACES = 3
"""Maximum number of runs whose traces are read for pages without a screenshot."""
LONGEST = 120

NamedPage = tuple[str, PageReference]
"""A run and a page that it shows for what it says."""


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """A page that supports the proposal: a screenshot or stored HTML."""

    words: str
    picture: str = ""
    """The screenshot's path; empty if there is none."""
    frame: str = ""
    """The path of the page's HTML."""


@dataclass(frozen=True, slots=True)
class ProposalEvidence:
    """All pages that support a proposal."""

    shots: tuple[EvidencePage, ...]
    missing: tuple[str, ...]
    """Pages with neither a screenshot nor HTML."""


def list_named_pages(proposal: Proposal) -> list[NamedPage]:
    """Return the first pages that runs name; a page of several runs only once unless it has its own screenshots."""
    found: dict[tuple[str, ...], NamedPage] = {}
    for support in proposal.supports:
        for seen in support.seen:
            own = support.run_id if seen.picture or seen.snapshot else ""
            key = (own, seen.picture or "", seen.snapshot or "", seen.when, path_of(seen.url))
            found.setdefault(key, (support.run_id, seen))
    return list(found.values())[:MOST_SEEN]


async def collect_evidence(
    parts: ConsoleContext, proposal: Proposal, knowledge: KnowledgeBase | None
) -> ProposalEvidence:
    """Return the pages to show, those before an action first."""
    here = site_path(proposal.website_id, "proposals", proposal.proposal_id)
    shots: list[EvidencePage] = []
    missing: list[str] = []
    traces = _TracePageFinder(parts)
    for number, (run_id, seen) in enumerate(list_named_pages(proposal)):
        place = await find_evidence_picture(parts, proposal.website_id, run_id, seen)
        when = seen.when or "seen"
        if place is not None:
            whose = f"in run {run_id}" if place[1] else f"from the map: {_address(seen)}"
            shots.append(EvidencePage(f"{when} {whose}", picture=f"{here}/pictures/{number}"))
            continue
        frame = await traces.page(run_id, seen)
        if frame:
            shots.append(EvidencePage(f"{when} in run {run_id}: {_address(seen)}", frame=frame))
        else:
            missing.append(f"{_address(seen)} ({when} in run {run_id})")
    if not shots and isinstance(proposal.change, SelectorChange | StepTargetChange):
        for support in proposal.supports[:MOST_TRACES]:
            shots = shots or list(await traces.at_element(support.run_id, proposal))
    if not any(shot.picture for shot in shots) and knowledge is not None:
        shots += _list_screen_pictures(parts, proposal, knowledge)
    return ProposalEvidence(tuple(shots), tuple(missing))


async def read_evidence_picture(
    parts: ConsoleContext, proposal: Proposal, number: int
) -> ArtifactPicture | None:
    """Return a screenshot by its number among the named pages."""
    pages = list_named_pages(proposal)
    if number >= len(pages):
        return None
    place = await find_evidence_picture(parts, proposal.website_id, *pages[number])
    return (
        None
        if place is None
        else await asyncio.to_thread(run_artifacts.picture, place[0].parent, place[0].name)
    )


async def find_evidence_picture(
    parts: ConsoleContext, website: str, run_id: str, seen: PageReference
) -> tuple[Path, bool] | None:
    """Return the file of a page's screenshot and whether it is the run's own; None if there is none."""
    names = [each for each in (seen.picture, seen.snapshot and f"{seen.snapshot}.jpg") if each]
    if names:
        for folder in await _folders(parts, run_id):
            own = await asyncio.to_thread(_find_first_picture, folder, names)
            if own is not None:
                return own, True
    of_map = await asyncio.to_thread(parts.pictures.of_page, website, seen.url, names)
    return None if of_map is None else (of_map, False)


def _find_first_picture(folder: Path, names: Sequence[str]) -> Path | None:
    found = (run_artifacts.picture_file(folder, name) for name in names)
    return next((each for each in found if each is not None), None)


async def _folders(parts: ConsoleContext, run_id: str) -> Sequence[Path]:
    """Return the folders with a run's files: its folder in the runs' folder, and the one with its trace."""
    root = parts.folder.resolve()
    own = (root / run_id).resolve()
    found = [own] if own.is_relative_to(root) and own != root else []
    for artifact in await parts.runs.artifacts(run_id):
        if artifact.artifact_type == run_artifacts.TRACE:
            trace = await asyncio.to_thread(run_artifacts.find_artifact, artifact)
            found += [trace.parent] if trace is not None else []
    return found


class _TracePageFinder:
    """Finds pages of runs in their traces; reads each trace once, and only a few of them."""

    def __init__(self, parts: ConsoleContext) -> None:
        self._parts = parts
        self._steps: dict[str, Sequence[TraceStep]] = {}

    async def page(self, run_id: str, seen: PageReference) -> str:
        """Return the path of the page's HTML; empty if it is not stored."""
        there = path_of(seen.url)
        for number, step in enumerate(await self._of(run_id) if seen.url else ()):
            if step.html_before is not None and path_of(step.source_url or "") == there:
                return f"/runs/{run_id}/pages/{number}/before"
        return ""

    async def at_element(self, run_id: str, proposal: Proposal) -> Iterator[EvidencePage]:
        """Yield the pages before and after the run's first action on the proposal's element."""
        steps = await self._of(run_id)
        number = next((at for at, step in enumerate(steps) if _is_about(step, proposal)), None)
        kept = (
            {} if number is None else {"before": steps[number].html_before, "after": steps[number].html_after}
        )
        return (
            EvidencePage(f"{side} it was used in run {run_id}", frame=f"/runs/{run_id}/pages/{number}/{side}")
            for side, html in kept.items()
            if html is not None
        )

    async def _of(self, run_id: str) -> Sequence[TraceStep]:
        if run_id not in self._steps:
            if len(self._steps) >= MOST_TRACES:
                return ()
            artifacts = await self._parts.runs.artifacts(run_id)
            kept = await asyncio.to_thread(run_artifacts.read_trace, artifacts)
            self._steps[run_id] = () if kept is None else kept.trace.steps
        return self._steps[run_id]


def _is_about(step: TraceStep, proposal: Proposal) -> bool:
    """Whether a run's step acted on the element whose selector would change."""
    match proposal.change:
        case SelectorChange() as change:
            return element_id_of(step.metadata) == change.element_id
        case _:
            return bool(step.target == proposal.before)


def _list_screen_pictures(
    parts: ConsoleContext, proposal: Proposal, knowledge: KnowledgeBase
) -> Iterator[EvidencePage]:
    """Yield screenshots of the proposal's screens, if no run has one."""
    change = proposal.change
    if isinstance(change, SelectorChange | SignatureChange):
        about = [change.screen_id]
    elif isinstance(change, TransitionChange):
        about = [change.transition.from_screen, change.transition.to_screen]
    else:
        return
    for screen_id in dict.fromkeys(about):
        screen = knowledge.screens.get(screen_id)
        if screen is not None and parts.pictures.of(proposal.website_id, screen) is not None:
            where = site_path(proposal.website_id, "screens", screen_id, "picture")
            yield EvidencePage(f"the screen “{screen.name or screen_id}”, from the map", picture=where)


def _address(seen: PageReference) -> str:
    """Return the page's address without its query, which may contain a secret."""
    path = path_of(seen.url).partition("?")[0].partition("#")[0]
    return shorten_value(path, LONGEST) if seen.url else "a page without an address"
