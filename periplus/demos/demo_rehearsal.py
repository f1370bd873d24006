"""Rehearses a flow on the running site (`periplus demo --rehearse`): finds risks, and measures each segment.

The passes of a rehearsal take every branch of the flow, without speech. Each pass has a site, a browser
context and a session of its own, so that no pass depends on another. On a running site (`--base-url`) they
share the site's data, and a note says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from playwright.async_api import Error as PlaywrightError
from pydantic import TypeAdapter

from agent.errors import AgentError
from agent.events import Event
from agent.execution.task_runner import TaskRunner
from agent.page.errors import PageError
from agent.presentation.narration.narrator import PAUSE_S
from agent.presentation.page_visibility import find_missing_targets
from agent.presentation.presentation_records import Presentation, SegmentStarted, SegmentStatus
from agent.presentation.rehearsal.presentation_risks import (
    CompletedPass,
    PresentationRisk,
    find_flow_risks,
    find_pass_risks,
    merge_risks,
)
from agent.presentation.rehearsal.rehearsal_observations import RehearsalObserver
from agent.presentation.rehearsal.rehearsal_passes import RehearsalPass, plan_passes
from kb_schema.objectives import Objective
from kb_schema.presentation_flows import PresentationFlow
from kb_store.errors import LoadConflict
from periplus.demos.demo_environment import DemoEnvironment, DemoEnvironmentSettings, open_demo_environment
from periplus.demos.demo_measurements import ADDED_UP, keep_measurements
from periplus.demos.live_presentation import (
    LivePresentation,
    LivePresentationSettings,
    open_live_presentation,
)
from periplus.demos.rehearsal_report import write_rehearsal_page
from periplus.demos.rehearsal_result import RehearsalResult, measure_segments
from periplus.demos.website_demo import WebsiteDemo
from periplus.seed_sites.seed_manifests import Seed

TABLE, PAGE = "rehearsal.json", "rehearsal.html"
GO_ON = {"en": "go on", "de": "weiter machen"}
LOADS, LOADING_S = 120, 0.5
"""Attempts to load the knowledge base while another pass loads it, and the seconds between them."""


@dataclass(frozen=True)
class RehearsalSettings:
    """Options of the command line."""

    flow: str | None = None
    speed: float = 0.0
    """0: as fast as possible. Otherwise with speech, and durations are measured rather than computed."""
    headed: bool | None = None
    base_url: str | None = None
    mongodb_url: str | None = field(default=None, repr=False)
    arangodb_url: str | None = field(default=None, repr=False)
    language: str | None = None
    """Language of the rehearsal; None: the flow's own, and all translations are checked for completeness."""
    workers: str = "1"
    """Number of concurrent passes and their location, as in `--workers`."""
    objective: Objective | None = None
    """By what paths are chosen; None: as the tasks and the settings say."""


@dataclass(slots=True)
class RehearsedPass:
    """A pass that was carried out separately, with its flow and its observations."""

    flow: PresentationFlow
    """The flow as read from the knowledge server."""
    rehearsed: CompletedPass
    notes: list[str] = field(default_factory=list)


REHEARSED_PASS_ADAPTER = TypeAdapter(RehearsedPass)
"""Serialises it for transport, without pictures."""


class RehearsalWorkers(Protocol):
    """Runs passes in parallel on other workers (`periplus.demos.rehearsal_jobs`)."""

    async def run_pass(self, number: int) -> RehearsedPass:
        """Carry out the pass with that number, from 0."""


async def rehearse_one_pass(
    seed: Seed | WebsiteDemo, settings: RehearsalSettings, *, data_dir: Path, number: int
) -> RehearsedPass:
    """Carry out one pass of a rehearsal, by its number from 0, on a site of its own. Raises `UserError`."""
    notes: list[str] = []
    async with AsyncExitStack() as stack:
        environment = await _open_environment_in_turn(
            stack,
            lambda: open_demo_environment(
                seed, _build_environment_settings(settings, data_dir), flow=settings.flow, tell=notes.append
            ),
        )
        show = await stack.enter_async_context(
            open_live_presentation(environment, _build_presentation_settings(settings, environment))
        )
        rehearsal_pass = plan_passes(show.flow)[number]
        rehearsed = await _run_pass(show, rehearsal_pass, settings.speed or None)
        await keep_measurements(show.log, _estimates(rehearsed) if settings.speed == 0 else {})
        for segment in rehearsed.presentation.segments:
            segment.picture = None
        return RehearsedPass(show.flow, rehearsed, notes)


async def _open_environment_in_turn(
    stack: AsyncExitStack, environment: Callable[[], AbstractAsyncContextManager[DemoEnvironment]]
) -> DemoEnvironment:
    """Open the environment when no other pass loads the same knowledge base. Raises `LoadConflict` after too
    many attempts.
    """
    for _ in range(LOADS):
        with suppress(LoadConflict):
            return await stack.enter_async_context(environment())
        await asyncio.sleep(LOADING_S)
    return await stack.enter_async_context(environment())


def _build_environment_settings(settings: RehearsalSettings, data_dir: Path) -> DemoEnvironmentSettings:
    return DemoEnvironmentSettings(
        data_dir,
        settings.base_url,
        settings.mongodb_url,
        settings.arangodb_url,
        settings.headed,
        settings.objective,
    )


def _build_presentation_settings(
    settings: RehearsalSettings, environment: DemoEnvironment
) -> LivePresentationSettings:
    return LivePresentationSettings(
        environment.default_flow, settings.speed, voice=False, language=settings.language
    )


async def rehearse_demo(
    seed: Seed | WebsiteDemo,
    settings: RehearsalSettings,
    *,
    data_dir: Path,
    out: Path,
    tell: Callable[[str], None] = lambda _line: None,
    rehearsal_workers: RehearsalWorkers | None = None,
) -> RehearsalResult:
    """Carry out all passes and write the results to `out`. With `workers`, the passes run elsewhere.

    Raises `UserError` for errors that the user can fix before it begins; failures during a pass become risks.
    """
    place = _build_environment_settings(settings, data_dir)
    passes = _RehearsalPasses(settings, out, tell)
    if rehearsal_workers is not None:
        await passes.run_elsewhere(rehearsal_workers)
        return passes.end()
    if settings.base_url is not None:
        passes.note("all passes used one site, so each pass sees the data that earlier passes left")
    while not passes.over:
        async with open_demo_environment(seed, place, flow=settings.flow, tell=passes.note) as environment:
            await passes.run_next(environment)
            while settings.base_url is not None and not passes.over:
                await passes.run_next(environment)
    return passes.end()


class _RehearsalPasses:
    """The passes of one rehearsal, one after the other."""

    def __init__(self, settings: RehearsalSettings, out: Path, tell: Callable[[str], None]) -> None:
        self._settings, self._tell = settings, tell
        self._rehearsal = RehearsalResult("", "", out)
        self._flow: PresentationFlow | None = None
        self._passes: tuple[RehearsalPass, ...] = ()
        self._risks: list[PresentationRisk] = []

    def note(self, note: str) -> None:
        """Add a note for the user, once."""
        if note not in self._rehearsal.notes:
            self._rehearsal.notes.append(note)

    @property
    def over(self) -> bool:
        """Whether every pass was carried out."""
        return self._flow is not None and len(self._rehearsal.passes) >= len(self._passes)

    async def run_next(self, environment: DemoEnvironment) -> None:
        """Carry out the next pass. The first one reads the flow from the knowledge server and plans the
        others.
        """
        speed = self._settings.speed
        async with open_live_presentation(
            environment, _build_presentation_settings(self._settings, environment)
        ) as show:
            if self._flow is None:
                self._plan(show.flow)
            number = len(self._rehearsal.passes)
            rehearsal_pass = self._passes[number]
            self._tell(
                f"pass {number + 1} of {len(self._passes)}: {rehearsal_pass.name} ({len(rehearsal_pass.shows)} segments)"
            )
            rehearsed = await _run_pass(show, rehearsal_pass, speed or None)
            self._rehearsal.passes.append(rehearsed)
            await keep_measurements(show.log, _estimates(rehearsed) if speed == 0 else {})

    async def run_elsewhere(self, rehearsal_workers: RehearsalWorkers) -> None:
        """Carry out all passes: the first one to read the flow, then the others concurrently."""
        first = await rehearsal_workers.run_pass(0)
        self._plan(first.flow)
        passes = self._passes
        self._tell(f"pass 1 of {len(passes)}: {passes[0].name} ({len(passes[0].shows)} segments)")

        async def one(number: int) -> RehearsedPass:
            completed = await rehearsal_workers.run_pass(number)
            rehearsal_pass = passes[number]
            self._tell(
                f"pass {number + 1} of {len(passes)}: {rehearsal_pass.name} ({len(rehearsal_pass.shows)} segments)"
            )
            return completed

        rest = await asyncio.gather(*(one(number) for number in range(1, len(passes))))
        for completed in (first, *rest):
            self._rehearsal.passes.append(completed.rehearsed)
            for note in completed.notes:
                self.note(note)

    def _plan(self, flow: PresentationFlow) -> None:
        """Plan the passes of the flow as the knowledge server returns it, including changes accepted after it
        was authored.
        """
        self._flow = flow
        self._rehearsal.flow_id, self._rehearsal.name = flow.flow_id, flow.name
        self._passes = plan_passes(flow)
        language = self._settings.language
        self._risks += find_flow_risks(flow, () if language is None else (language,))

    def end(self) -> RehearsalResult:
        """Return the result, after writing it to disk."""
        flow, rehearsal = self._flow, self._rehearsal
        if flow is not None:
            self._risks += [risk for each in rehearsal.passes for risk in find_pass_risks(flow, each)]
            rehearsal.risks = merge_risks(self._risks)
            rehearsal.measured = measure_segments(flow, rehearsal.passes)
        _write_rehearsal(rehearsal)
        return rehearsal


async def _run_pass(
    show: LivePresentation, rehearsal_pass: RehearsalPass, speed: float | None
) -> CompletedPass:
    """Carry out one pass and return its observations."""
    session = show.session
    session.knowledge.know(rehearsal_pass.flow)
    noticing = RehearsalObserver(rehearsal_pass.flow, session.context)
    session.bus.listen(noticing)
    if rehearsal_pass.kind == "interrupted":
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
    rehearsed = CompletedPass(
        rehearsal_pass, presentation, noticing.segments, speaking, pace=speed, error=error
    )
    if error is None and rehearsal_pass.kind == "branches":
        rehearsed.missing_highlights = await _missing_highlights(show, rehearsal_pass, presentation)
    return rehearsed


def _interrupt(show: LivePresentation, event: Event) -> None:
    """Interrupt as the visitor of a rehearsal, and let the flow continue."""
    if isinstance(event, SegmentStarted):
        language = (show.player.flow or show.flow).language.partition("-")[0]
        show.turns.hear(GO_ON.get(language, GO_ON["en"]), by="button")


async def _missing_highlights(
    show: LivePresentation, rehearsal_pass: RehearsalPass, presentation: Presentation
) -> Mapping[str, Sequence[str]]:
    guide, missing = TaskRunner(show.session).guide, dict[str, Sequence[str]]()
    for segment in rehearsal_pass.flow.ordered_segments:
        if segment.type != "explanation" or not presentation.was_shown(segment.segment_id):
            continue
        try:
            missing[segment.segment_id] = await find_missing_targets(show.session, guide, segment)
        except (AgentError, PageError, PlaywrightError):
            continue  # it was just shown, so the error is not the segment's
    return missing


def _estimates(rehearsed: CompletedPass) -> dict[str, float]:
    """Return the expected durations with speech, of segments that were shown without, for the schedule of the
    next demo.
    """
    shown = [each for each, noticed in rehearsed.noticed.items() if noticed.status is SegmentStatus.SHOWN]
    return {f"{ADDED_UP}{each}": round(rehearsed.told_s(each), 2) for each in shown}


def _write_rehearsal(rehearsal: RehearsalResult) -> None:
    rehearsal.folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rehearsal.to_json(), indent=2, ensure_ascii=False)
    (rehearsal.folder / TABLE).write_text(text, encoding="utf-8")
    write_rehearsal_page(rehearsal.folder / PAGE, rehearsal.to_json())
    rehearsal.files = [TABLE, PAGE]
