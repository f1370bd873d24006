"""`periplus demo --rehearse`: every branch of a flow on the running site, without words, before anybody
watches it; what is at risk, and how long each part takes.

Every walk has a site, a browser context and a session of its own, so that none lives on what another left
there. On a site that runs already (`--base-url`) they share what is in it, and that is said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from playwright.async_api import Error as PlaywrightError
from pydantic import TypeAdapter
from rich.console import Console

from agent.engine.engine import Engine
from agent.errors import AgentError
from agent.events import Event
from agent.page.errors import PageError
from agent.presenting.narrator import PAUSE_S
from agent.presenting.noticing import Noticing
from agent.presenting.records import Presentation, SegmentStarted, SegmentStatus
from agent.presenting.rehearsing import Walk, plan_walks
from agent.presenting.risks import Rehearsed, Risk, flow_risks, merged, walk_risks
from agent.presenting.visible import not_shown
from kb_schema.presentation import PresentationFlow
from kb_store.errors import LoadConflict
from periplus.errors import UserError
from periplus.fleet.home import Shelf
from periplus.fleet.opening import open_fleet
from periplus.fleet.workers import Workers, read_workers
from periplus.presenting.show import Show, ShowSettings, open_show
from periplus.presenting.venue import Venue, VenueSettings, open_venue
from periplus.presenting_events import ADDED_UP, keep_measurements
from periplus.rehearsal_report import print_rehearsal, write_page
from periplus.seeds import Seed

TABLE, PAGE = "rehearsal.json", "rehearsal.html"
GO_ON = {"en": "go on", "de": "weiter machen"}
ONE = Workers("contexts", 1)
LOADS, LOADING_S = 120, 0.5
"""How often, and after how many seconds, a walk looks again whether another one still loads its knowledge."""
DIFFERENT = 0.15
"""A measured duration is told from the authored one by more than this share of it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How long one segment takes."""

    segment_id: str
    title: str
    required: bool
    authored_s: float | None
    told_s: float
    """Words and work at the same time, at speed 1."""
    work_s: float

    @property
    def proposed_s(self) -> float | None:
        """What the flow should say instead; None: it is right."""
        told = max(1.0, round(self.told_s))
        off = self.authored_s is None or abs(told - self.authored_s) > max(1.0, self.authored_s * DIFFERENT)
        return told if off else None


@dataclass(slots=True)
class Rehearsal:
    """What a rehearsal found."""

    flow_id: str
    name: str
    folder: Path
    walks: list[Rehearsed] = field(default_factory=list)
    risks: tuple[Risk, ...] = ()
    measured: tuple[Measured, ...] = ()
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def serious(self) -> tuple[Risk, ...]:
        """Risks with which the demo should not be given."""
        return tuple(risk for risk in self.risks if risk.serious)

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "flow_id": self.flow_id,
            "name": self.name,
            "ready": not self.serious,
            "risks": [risk.to_json() for risk in self.risks],
            "walks": [_walk_json(each) for each in self.walks],
            "durations": [
                {
                    "segment_id": m.segment_id,
                    "required": m.required,
                    "authored_s": m.authored_s,
                    "told_s": round(m.told_s, 2),
                    "work_s": round(m.work_s, 2),
                    "proposed_s": m.proposed_s,
                }
                for m in self.measured
            ],
            "notes": self.notes,
        }


@dataclass(frozen=True)
class RehearsalSettings:
    """What the command line says."""

    flow: str | None = None
    speed: float = 0.0
    """0: as fast as it goes. Else words take their time, and durations are measured rather than added up."""
    headed: bool | None = None
    base_url: str | None = None
    mongodb_url: str | None = field(default=None, repr=False)
    arangodb_url: str | None = field(default=None, repr=False)
    language: str | None = None
    """In which it is told; None: its own, and whether all it has are whole is checked."""
    workers: str = "1"
    """How many walks at a time, and where, as `--workers` says."""


@dataclass(slots=True)
class Walked:
    """One walk that was done by itself: what it was of, and what was found."""

    flow: PresentationFlow
    """As the desk told it."""
    rehearsed: Rehearsed
    notes: list[str] = field(default_factory=list)


WALKED = TypeAdapter(Walked)
"""How it travels: without pictures."""


class Walker(Protocol):
    """Does walks elsewhere, several at a time (`periplus.fleet.walking`)."""

    async def walk(self, number: int) -> Walked:
        """The walk of that number, from 0."""


async def walk_alone(seed: Seed, settings: RehearsalSettings, *, data_dir: Path, number: int) -> Walked:
    """One walk of a rehearsal, by its number from 0, on a site of its own. Raises `UserError`."""
    notes: list[str] = []
    async with AsyncExitStack() as stack:
        venue = await _in_turn(
            stack, lambda: open_venue(seed, _place(settings, data_dir), flow=settings.flow, tell=notes.append)
        )
        show = await stack.enter_async_context(open_show(venue, _of_a_show(settings, venue)))
        walk = plan_walks(show.flow)[number]
        rehearsed = await _carried_out(show, walk, settings.speed or None)
        await keep_measurements(show.log, _estimates(rehearsed) if settings.speed == 0 else {})
        for segment in rehearsed.presentation.segments:
            segment.picture = None
        return Walked(show.flow, rehearsed, notes)


async def _in_turn(stack: AsyncExitStack, venue: Callable[[], AbstractAsyncContextManager[Venue]]) -> Venue:
    """Opened once no other walk loads the same knowledge. Raises `LoadConflict` where that takes too long."""
    for _ in range(LOADS):
        with suppress(LoadConflict):
            return await stack.enter_async_context(venue())
        await asyncio.sleep(LOADING_S)
    return await stack.enter_async_context(venue())


def _place(settings: RehearsalSettings, data_dir: Path) -> VenueSettings:
    return VenueSettings(
        data_dir, settings.base_url, settings.mongodb_url, settings.arangodb_url, settings.headed
    )


def _of_a_show(settings: RehearsalSettings, venue: Venue) -> ShowSettings:
    return ShowSettings(venue.default_flow, settings.speed, voice=False, language=settings.language)


async def rehearse(
    seed: Seed,
    settings: RehearsalSettings,
    *,
    data_dir: Path,
    out: Path,
    tell: Callable[[str], None] = lambda _line: None,
    walker: Walker | None = None,
) -> Rehearsal:
    """Go through all walks, and leave what was found in `out`. Raises `UserError` for what a person can put
    right before it begins; what goes wrong on a walk is a risk. With a `walker` they are done elsewhere.
    """
    place = _place(settings, data_dir)
    course = _Course(settings, out, tell)
    if walker is not None:
        await course.walk_elsewhere(walker)
        return course.end()
    if settings.base_url is not None:
        course.note("all walks were on one site: what one leaves there, the next one finds")
    while not course.over:
        async with open_venue(seed, place, flow=settings.flow, tell=course.note) as venue:
            await course.walk(venue)
            while settings.base_url is not None and not course.over:
                await course.walk(venue)
    return course.end()


async def run_rehearsal(
    seed: Seed, settings: RehearsalSettings, data_dir: Path, out: Path, console: Console
) -> bool:
    """Rehearse, tell what was found, and whether the demo can be given: nothing required is at risk."""
    workers = read_workers(settings.workers)
    async with AsyncExitStack() as stack:
        walker: Walker | None = None
        if workers != ONE:
            walker = await stack.enter_async_context(_walker(workers, seed, settings, data_dir))
        rehearsal = await rehearse(
            seed, settings, data_dir=data_dir, out=out, walker=walker,
            tell=lambda line: console.print(line, style="dim"),
        )  # fmt: skip
    print_rehearsal(console, rehearsal)
    return not rehearsal.serious


@asynccontextmanager
async def _walker(
    workers: Workers, seed: Seed, settings: RehearsalSettings, data_dir: Path
) -> AsyncIterator[Walker]:
    """Raises `UserError` where walks at the same time would be in each other's way, or cannot reach the store."""
    from periplus.fleet.walking import FleetWalks  # noqa: PLC0415 - it needs what is here

    if settings.base_url is not None:
        raise UserError(
            "walks on one site must be done one after the other",
            fix="leave out --base-url (each walk then has a site of its own) or --workers",
        )
    if settings.headed:
        raise UserError("workers have no window", fix="leave out --headed or --workers")
    if workers.elsewhere and settings.mongodb_url is None:
        raise UserError(
            f"workers at {workers.address} cannot reach the embedded store in {data_dir}",
            fix="name a MongoDB that all of them reach: --mongodb-url",
        )
    async with open_fleet(workers) as fleet:
        yield FleetWalks(fleet, seed, settings, _shelf(settings, data_dir))


def _shelf(settings: RehearsalSettings, data_dir: Path) -> Shelf:
    return Shelf(
        data_dir=str(data_dir.absolute()),
        mongodb_url=settings.mongodb_url,
        arangodb_url=settings.arangodb_url,
    )


class _Course:
    """The walks of one rehearsal, one after the other."""

    def __init__(self, settings: RehearsalSettings, out: Path, tell: Callable[[str], None]) -> None:
        self._settings, self._tell = settings, tell
        self._rehearsal = Rehearsal("", "", out)
        self._flow: PresentationFlow | None = None
        self._walks: tuple[Walk, ...] = ()
        self._risks: list[Risk] = []

    def note(self, note: str) -> None:
        """Something its owner should know, once."""
        if note not in self._rehearsal.notes:
            self._rehearsal.notes.append(note)

    @property
    def over(self) -> bool:
        """Whether every walk was done."""
        return self._flow is not None and len(self._rehearsal.walks) >= len(self._walks)

    async def walk(self, venue: Venue) -> None:
        """The next one. The first asks the desk for the flow, and plans all."""
        speed = self._settings.speed
        async with open_show(venue, _of_a_show(self._settings, venue)) as show:
            if self._flow is None:
                self._plan(show.flow)
            number = len(self._rehearsal.walks)
            walk = self._walks[number]
            self._tell(f"walk {number + 1} of {len(self._walks)}: {walk.name} ({len(walk.shows)} segments)")
            rehearsed = await _carried_out(show, walk, speed or None)
            self._rehearsal.walks.append(rehearsed)
            await keep_measurements(show.log, _estimates(rehearsed) if speed == 0 else {})

    async def walk_elsewhere(self, walker: Walker) -> None:
        """All of them: the first tells the flow, then the others at once."""
        first = await walker.walk(0)
        self._plan(first.flow)
        walks = self._walks
        self._tell(f"walk 1 of {len(walks)}: {walks[0].name} ({len(walks[0].shows)} segments)")

        async def one(number: int) -> Walked:
            walked = await walker.walk(number)
            walk = walks[number]
            self._tell(f"walk {number + 1} of {len(walks)}: {walk.name} ({len(walk.shows)} segments)")
            return walked

        rest = await asyncio.gather(*(one(number) for number in range(1, len(walks))))
        for walked in (first, *rest):
            self._rehearsal.walks.append(walked.rehearsed)
            for note in walked.notes:
                self.note(note)

    def _plan(self, flow: PresentationFlow) -> None:
        """From the flow as the desk tells it: with what was accepted since it was authored."""
        self._flow = flow
        self._rehearsal.flow_id, self._rehearsal.name = flow.flow_id, flow.name
        self._walks = plan_walks(flow)
        language = self._settings.language
        self._risks += flow_risks(flow, () if language is None else (language,))

    def end(self) -> Rehearsal:
        """All that was found, also on disk."""
        flow, rehearsal = self._flow, self._rehearsal
        if flow is not None:
            self._risks += [risk for each in rehearsal.walks for risk in walk_risks(flow, each)]
            rehearsal.risks = merged(self._risks)
            rehearsal.measured = _measured(flow, rehearsal.walks)
        _leave(rehearsal)
        return rehearsal


async def _carried_out(show: Show, walk: Walk, speed: float | None) -> Rehearsed:
    """One walk, and what there was to notice."""
    session = show.session
    session.knowledge.know(walk.flow)
    noticing = Noticing(walk.flow, session.context)
    session.bus.listen(noticing)
    if walk.kind == "interrupted":
        session.bus.listen(lambda event: _interrupt(show, event))
    error: str | None = None
    try:
        presentation = await show.play()
    except (AgentError, PageError, PlaywrightError) as exc:
        presentation, error = show.presentation, session.context.redact(str(exc))
    presentation.end(show.clock())
    lasts = {
        spoken.text: spoken.speech.duration_s * (speed or 1.0) + PAUSE_S for spoken in show.narrator.spoken
    }
    speaking = {
        segment_id: sum(lasts.get(text, 0.0) for text in noticed.said)
        for segment_id, noticed in noticing.segments.items()
    }
    rehearsed = Rehearsed(walk, presentation, noticing.segments, speaking, pace=speed, error=error)
    if error is None and walk.kind == "branches":
        rehearsed.missing_highlights = await _missing_highlights(show, walk, presentation)
    return rehearsed


def _interrupt(show: Show, event: Event) -> None:
    """What the visitor of a rehearsal does: speak up, and let the story go on."""
    if isinstance(event, SegmentStarted):
        language = (show.player.flow or show.flow).language.partition("-")[0]
        show.floor.hear(GO_ON.get(language, GO_ON["en"]), by="button")


async def _missing_highlights(
    show: Show, walk: Walk, presentation: Presentation
) -> Mapping[str, Sequence[str]]:
    guide, missing = Engine(show.session).guide, dict[str, Sequence[str]]()
    for segment in walk.flow.ordered_segments:
        if segment.type != "explanation" or not presentation.was_shown(segment.segment_id):
            continue
        try:
            missing[segment.segment_id] = await not_shown(show.session, guide, segment)
        except (AgentError, PageError, PlaywrightError):
            continue  # it was shown a moment ago: what is wrong now is not the segment's
    return missing


def _estimates(rehearsed: Rehearsed) -> dict[str, float]:
    """Of what was shown without words: how long it should take with them, for the next show's schedule."""
    shown = [each for each, noticed in rehearsed.noticed.items() if noticed.status is SegmentStatus.SHOWN]
    return {f"{ADDED_UP}{each}": round(rehearsed.told_s(each), 2) for each in shown}


def _measured(flow: PresentationFlow, walks: Sequence[Rehearsed]) -> tuple[Measured, ...]:
    """By the longest of the walks that showed it: it should fit even then."""
    measured = []
    for segment in flow.ordered_segments:
        shown = [w for w in walks if w.presentation.was_shown(segment.segment_id)]
        if not shown:
            continue
        longest = max(shown, key=lambda walk: walk.told_s(segment.segment_id))
        measured.append(
            Measured(
                segment.segment_id,
                segment.title or segment.segment_id,
                segment.required,
                segment.duration,
                longest.told_s(segment.segment_id),
                longest.work_s(segment.segment_id),
            )
        )
    return tuple(measured)


def _leave(rehearsal: Rehearsal) -> None:
    rehearsal.folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rehearsal.to_json(), indent=2, ensure_ascii=False)
    (rehearsal.folder / TABLE).write_text(text, encoding="utf-8")
    write_page(rehearsal.folder / PAGE, rehearsal.to_json())
    rehearsal.files = [TABLE, PAGE]


def _walk_json(each: Rehearsed) -> dict[str, Any]:
    return {
        "name": each.walk.name,
        "kind": each.walk.kind,
        "sides": [side.told for side in each.walk.sides],
        "error": each.error,
        "segments": [
            {
                "segment_id": s.segment_id,
                "status": s.status,
                "reason": s.reason,
                "work_s": round(s.end_s - s.start_s, 2),
                "made_to_fail": s.segment_id == each.walk.fails,
            }
            for s in each.presentation.segments
        ],
    }
