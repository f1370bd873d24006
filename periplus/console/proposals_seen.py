"""What the pages looked like that speak for a proposal: pictures of runs and of the website's map, else the kept HTML.

A run names a page that it saw (`Seen`). Its picture lies in the run's own folder, or in the exploration that
`periplus map` left of the website; where neither has one, the page as the run's trace kept it is shown in a frame.
Nothing is taken from anywhere else, and where there is nothing it is said so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb_schema import KnowledgeBase
from kb_schema.proposals import Proposal, Seen, SelectorChange, SignatureChange, TransitionChange
from kb_schema.traces import TraceStep
from kb_schema.urls import path_of
from periplus.console import runs_left
from periplus.console.runs_left import Picture
from periplus.console.runs_words import short
from periplus.console.shell import ConsoleParts, site_path

MOST_SEEN = 12
"""Pages of one proposal that are looked for."""
MOST_TRACES = 3
"""Runs whose traces are read for pages that there is no picture of."""
LONGEST = 120

Shown = tuple[str, Seen]
"""A run and a page that it shows for what it says."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A page that speaks for it: as a picture, or as the HTML that was kept."""

    words: str
    picture: str = ""
    """Where it is; empty: there is none."""
    frame: str = ""
    """Where the page's HTML is."""


@dataclass(frozen=True, slots=True)
class Looks:
    """All there is to see of a proposal."""

    shots: tuple[Shot, ...]
    missing: tuple[str, ...]
    """Pages that nothing is kept of."""


def shown(proposal: Proposal) -> list[Shown]:
    """Pages that runs name, the first few; the same one of several runs once, where none has its own picture."""
    found: dict[tuple[str, ...], Shown] = {}
    for support in proposal.supports:
        for seen in support.seen:
            own = support.run_id if seen.picture or seen.snapshot else ""
            key = (own, seen.picture or "", seen.snapshot or "", seen.when, path_of(seen.url))
            found.setdefault(key, (support.run_id, seen))
    return list(found.values())[:MOST_SEEN]


async def looks(parts: ConsoleParts, proposal: Proposal, knowledge: KnowledgeBase | None) -> Looks:
    """What can be shown, before what follows it."""
    here = site_path(proposal.website_id, "proposals", proposal.proposal_id)
    shots: list[Shot] = []
    missing: list[str] = []
    traces = _Traces(parts)
    for number, (run_id, seen) in enumerate(shown(proposal)):
        place = await picture_file(parts, proposal.website_id, run_id, seen)
        when = seen.when or "seen"
        if place is not None:
            whose = f"in run {run_id}" if place[1] else f"as the map has it: {_address(seen)}"
            shots.append(Shot(f"{when} {whose}", picture=f"{here}/pictures/{number}"))
            continue
        frame = await traces.page(run_id, seen)
        if frame:
            shots.append(Shot(f"{when} in run {run_id}: {_address(seen)}", frame=frame))
        else:
            missing.append(f"{_address(seen)} ({when} in run {run_id})")
    if not shots and isinstance(proposal.change, SelectorChange):
        for support in proposal.supports[:MOST_TRACES]:
            shots = shots or list(await traces.at_element(support.run_id, proposal.change.element_id))
    if not any(shot.picture for shot in shots) and knowledge is not None:
        shots += _of_screens(parts, proposal, knowledge)
    return Looks(tuple(shots), tuple(missing))


async def picture(parts: ConsoleParts, proposal: Proposal, number: int) -> Picture | None:
    """One of the pictures by its number among the pages shown."""
    pages = shown(proposal)
    if number >= len(pages):
        return None
    place = await picture_file(parts, proposal.website_id, *pages[number])
    return (
        None if place is None else await asyncio.to_thread(runs_left.picture, place[0].parent, place[0].name)
    )


async def picture_file(
    parts: ConsoleParts, website: str, run_id: str, seen: Seen
) -> tuple[Path, bool] | None:
    """The file of a page's picture, and whether it is the run's own; None: there is none."""
    names = [each for each in (seen.picture, seen.snapshot and f"{seen.snapshot}.jpg") if each]
    if names:
        for folder in await _folders(parts, run_id):
            own = await asyncio.to_thread(_first, folder, names)
            if own is not None:
                return own, True
    of_map = await asyncio.to_thread(parts.pictures.of_page, website, seen.url, names)
    return None if of_map is None else (of_map, False)


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    found = (runs_left.picture_file(folder, name) for name in names)
    return next((each for each in found if each is not None), None)


async def _folders(parts: ConsoleParts, run_id: str) -> Sequence[Path]:
    """Where files of a run may lie: its own folder among the runs, and the one its trace was left in."""
    root = parts.folder.resolve()
    own = (root / run_id).resolve()
    found = [own] if own.is_relative_to(root) and own != root else []
    for artifact in await parts.runs.artifacts(run_id):
        if artifact.artifact_type == runs_left.TRACE:
            trace = await asyncio.to_thread(runs_left.found, artifact)
            found += [trace.parent] if trace is not None else []
    return found


class _Traces:
    """Finds the pages of runs in their traces; a few traces only, each read once."""

    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._steps: dict[str, Sequence[TraceStep]] = {}

    async def page(self, run_id: str, seen: Seen) -> str:
        """Where the HTML of the page is; empty where it is not kept."""
        there = path_of(seen.url)
        for number, step in enumerate(await self._of(run_id) if seen.url else ()):
            if step.html_before is not None and path_of(step.source_url or "") == there:
                return f"/runs/{run_id}/pages/{number}/before"
        return ""

    async def at_element(self, run_id: str, element_id: str) -> Iterator[Shot]:
        """The page before and after the run first did something with the element."""
        steps = await self._of(run_id)
        number = next(
            (at for at, step in enumerate(steps) if step.metadata.get("element") == element_id), None
        )
        kept = (
            {} if number is None else {"before": steps[number].html_before, "after": steps[number].html_after}
        )
        return (
            Shot(f"{side} it was used in run {run_id}", frame=f"/runs/{run_id}/pages/{number}/{side}")
            for side, html in kept.items()
            if html is not None
        )

    async def _of(self, run_id: str) -> Sequence[TraceStep]:
        if run_id not in self._steps:
            if len(self._steps) >= MOST_TRACES:
                return ()
            artifacts = await self._parts.runs.artifacts(run_id)
            kept = await asyncio.to_thread(runs_left.trace_of, artifacts)
            self._steps[run_id] = () if kept is None else kept.trace.steps
        return self._steps[run_id]


def _of_screens(parts: ConsoleParts, proposal: Proposal, knowledge: KnowledgeBase) -> Iterator[Shot]:
    """Pictures of the screens it is about, where none of the runs has one."""
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
            yield Shot(f"the screen “{screen.name or screen_id}”, as the map has it", picture=where)


def _address(seen: Seen) -> str:
    """Where it was, without the query: what is in one may be a secret."""
    path = path_of(seen.url).partition("?")[0].partition("#")[0]
    return short(path, LONGEST) if seen.url else "a page without an address"
