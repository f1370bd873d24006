"""Runs a demo: site, knowledge base, browser, film, and the files it leaves.

However it ends (last segment, Ctrl-C, an error), the files are completed and kept.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import tempfile
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from agent.errors import AgentError
from agent.events import Event, ScreenSeen
from agent.media.captions import render_srt, render_webvtt
from agent.page.errors import PageError
from agent.presentation.narration.narrator import SpokenUtterance
from agent.presentation.presentation_records import Presentation, build_presentation_ending
from agent.presentation.presentation_report import ScreenVisit, write_report
from agent.run_records.session_trace import SessionTrace
from kb_schema.objectives import Objective
from kb_schema.tool_answers import SiteMap
from periplus.agent_failures import to_user_error
from periplus.demos.demo_environment import DemoEnvironmentSettings, open_demo_environment
from periplus.demos.demo_filming_session import DemoFilmRecorder
from periplus.demos.live_presentation import (
    LivePresentation,
    LivePresentationSettings,
    open_live_presentation,
)
from periplus.demos.website_demo import WebsiteDemo
from periplus.output_folder import SESSION
from periplus.run_store_adapters import end_run_record
from periplus.seed_sites.seed_manifests import Seed
from periplus.session_setup import BrowserOptions
from periplus.signals import on_signals
from periplus.terminal.live_view import RunLiveView

PASSES = 3
"""Attempts to get a consistent film when reused clips turn out to be outdated."""

_KINDS = {
    "demo.mp4": "film",
    "demo-silent.mp4": "film",
    "demo.gif": "film",
    "poster.jpg": "picture",
    "captions.vtt": "captions",
    "captions.srt": "captions",
    "result.json": "result",
    "report.html": "report",
}
"""Files of a demo besides the session's trace, and the kinds they are recorded as."""


@dataclass(frozen=True)
class DemoSettings:
    """Options of the command line."""

    flow: str | None = None
    speed: float = 1.0
    """0: as fast as possible, speech takes no time."""
    headed: bool | None = None
    voice: bool = True
    base_url: str | None = None
    """Base URL of a running site; None: the seed's own site is started."""
    mongodb_url: str | None = field(default=None, repr=False)
    """Store of the knowledge base; None: in the data directory, even if the environment names a store."""
    arangodb_url: str | None = field(default=None, repr=False)
    language: str | None = None
    """Language of narration and voice; None: the flow's own."""
    speaker: str | None = None
    """Voice name of espeak-ng; None: the flow's own for that language."""
    window_s: float | None = None
    """Target duration in seconds; None: the flow's own window."""
    gif: bool = False
    """Whether to make an animated GIF of the film, too."""
    afresh: bool = False
    """Film everything again, without reusing clips."""
    zoom: bool = False
    """Whether the film is enlarged around what is pointed at; everything is filmed again."""
    objective: Objective | None = None
    """By what paths are chosen; None: as the tasks and the settings say."""
    browser: BrowserOptions | None = None
    """The browser to start, or a given one; None: Chromium, as `headed` says."""


@dataclass
class DemoResult:
    """The result of a demo."""

    presentation: Presentation
    folder: Path
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Segments whose clips were reused."""
    stale: list[str] = field(default_factory=list)
    """Reused segments whose page differed from the film."""
    run_id: str = ""
    """Run id for `periplus runs show`."""


async def run_demo(
    seed: Seed | WebsiteDemo, settings: DemoSettings, *, data_dir: Path, out: Path, console: Console
) -> DemoResult:
    """Run a flow of a seed, or of a loaded website, from start to end. Raises `UserError` for errors that the user can fix."""
    place = DemoEnvironmentSettings(
        data_dir,
        settings.base_url,
        settings.mongodb_url,
        settings.arangodb_url,
        settings.headed,
        settings.objective,
        settings.browser,
    )
    presentation_settings = LivePresentationSettings(
        speed=settings.speed,
        voice=settings.voice,
        language=settings.language,
        speaker=settings.speaker,
        window_s=settings.window_s,
        filmed=True,
        zoom=settings.zoom,
    )
    passes = 1
    while True:
        async with (
            open_demo_environment(seed, place, flow=settings.flow, tell=console.print) as environment,
            open_live_presentation(environment, presentation_settings) as show,
        ):
            clip_store = (
                None if settings.afresh or settings.zoom else data_dir / "film" / environment.website_id
            )
            result = await _FilmedDemo(
                show, presentation_settings, out, console, clip_store, gif=settings.gif
            ).run()
        changed = ", ".join(result.stale)
        if not changed or result.presentation.interrupted:
            return result
        # A site that was already running cannot be reset for another attempt.
        if passes == PASSES or settings.base_url is not None or isinstance(seed, WebsiteDemo):
            result.notes.append(
                f"{changed}: the film shows the page as it was before; run the demo again to film it anew"
            )
            return result
        console.print(
            f"page differs from the reused clip: {changed}; filming again from the start", style="yellow"
        )
        await asyncio.to_thread(shutil.rmtree, out / SESSION)  # of an attempt that is discarded
        passes += 1


class _FilmedDemo:
    """One filmed presentation."""

    def __init__(
        self,
        show: LivePresentation,
        settings: LivePresentationSettings,
        out: Path,
        console: Console,
        clip_store: Path | None,
        *,
        gif: bool,
    ) -> None:
        """`clip_store`: clips of earlier films."""
        self._show, self._settings, self._out, self._console = show, settings, out, console
        self._session, self._flow, self._clip_store, self._gif = show.session, show.flow, clip_store, gif
        self._visits: list[ScreenVisit] = []
        self._result = DemoResult(show.presentation, out, notes=list(show.notes))
        self._failure: Exception | None = None

    async def run(self) -> DemoResult:
        """Play the flow, then write all files."""
        session, speed = self._session, self._settings.pace
        try:
            site = await session.knowledge.site_map()  # ask now, the browser may be gone later
        except AgentError as exc:
            raise to_user_error(exc, session.context) from exc
        trace = SessionTrace(
            self._out / SESSION, website_id=session.website.website_id, context=session.context
        )
        session.bus.listen(trace, pages=True)
        session.bus.listen(self._note_screen)
        expected = self._flow.duration.estimated
        view = RunLiveView(
            self._console,
            self._flow.name,
            expected_s=expected / speed if expected and not self._settings.instant else None,
        )
        session.bus.listen(view)
        interrupt = _DemoInterrupt(self._console)
        with (
            tempfile.TemporaryDirectory(prefix="periplus-film-") as scratch,
            on_signals(interrupt, signal.SIGINT, signal.SIGTERM),
        ):
            filming = DemoFilmRecorder(self._show, self._settings, Path(scratch), self._clip_store)
            try:
                with view:
                    await self._play(filming, interrupt)
                await self._finish(filming, trace, site)
            finally:
                await filming.close()
        if self._failure is not None:
            raise self._failure
        return self._result

    async def _play(self, filming: DemoFilmRecorder, interrupt: _DemoInterrupt) -> None:
        """Play the flow. Ctrl-C ends it early; an error is raised after all files were written."""
        show, ended_early = self._show, False
        try:
            await filming.start()
            await interrupt.watch(show.play())
            await filming.linger()
        except asyncio.CancelledError:
            ended_early = True
        except Exception as exc:  # noqa: BLE001 - boundary of the demo: kept, and raised after `_finish`
            self._failure = to_user_error(exc, show.session.context)
        finally:
            interrupt.over = True
            show.close()
        self._result.presentation = show.presentation
        self._result.presentation.interrupted = ended_early or self._failure is not None
        self._result.presentation.end(show.clock())

    def _note_screen(self, event: Event) -> None:
        if isinstance(event, ScreenSeen):
            self._visits.append(
                ScreenVisit(self._show.clock(), event.screen_id, event.name, event.confidence)
            )

    # -- files -----------------------------------------------------------------------------------

    async def _finish(self, filming: DemoFilmRecorder, trace: SessionTrace, site: SiteMap) -> None:
        """Write all files. The film comes last, because it takes longest and may fail."""
        presentation, narrator = self._result.presentation, self._show.narrator
        last = None
        with suppress(PageError, PlaywrightError):
            last = await self._session.snapshot()
        html, url = (None, None) if last is None else (last.html, last.url)
        trace.close(html, complete=not presentation.interrupted, url_after=url)
        cues = narrator.cues(leave_out=self._session.context.personal.within)
        self._write("captions.vtt", render_webvtt(cues))
        self._write("captions.srt", render_srt(cues))
        self._write(
            "result.json", json.dumps(_summary(presentation, narrator.spoken), indent=2, ensure_ascii=False)
        )
        self._report(site, film=None)
        self._result.files += ["report.html", f"{SESSION}/"]
        made = await filming.finish(self._out, presentation.segments, gif=self._gif)
        self._result.files[:0] = made.files
        self._result.notes += made.notes
        self._result.kept, self._result.stale = filming.taken, filming.stale
        if made.name is not None:
            self._report(site, film=made.name)
        self._result.run_id = self._show.log.run_id
        files = {name: (_KINDS.get(name, "trace"), self._out / name) for name in self._result.files}
        ending = build_presentation_ending(presentation)
        if self._failure is not None:
            ending = ending.model_copy(update={"error": self._session.context.redact(str(self._failure))})
        note = await end_run_record(self._show.log, ending, files)
        self._result.notes += [note] if note else []

    def _report(self, site: SiteMap, *, film: str | None) -> None:
        write_report(
            self._out / "report.html",
            self._result.presentation,
            site=site,
            visits=self._visits,
            spoken=self._show.narrator.spoken,
            film=film,
            made_at=datetime.now().astimezone(),
            clean=self._session.context.redact_kept,
        )

    def _write(self, name: str, text: str) -> None:
        text = self._session.context.redact_kept(text)
        (self._out / name).write_text(text, encoding="utf-8")
        self._result.files.append(name)


class _DemoInterrupt:
    """Handles Ctrl-C and SIGTERM: the first one ends the demo, later ones print that it is finishing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._show: asyncio.Task[object] | None = None
        self._arrived = self._told = False
        self.over = False
        """The presentation has ended: signals interrupt nothing any more."""

    def __call__(self) -> None:
        """Handle a signal."""
        if not (self._arrived or self.over):
            self._arrived = True
            if self._show is not None:
                self._show.cancel()
        elif not self._told:
            self._told = True
            self._console.print("finishing: writing the files of the demo so far", style="yellow")

    async def watch(self, show: Coroutine[Any, Any, object]) -> None:
        """Run the presentation to its end. Raises `CancelledError` if it was interrupted."""
        self._show = asyncio.create_task(show)
        if self._arrived:
            self._show.cancel()
        await self._show


def _summary(presentation: Presentation, spoken: Sequence[SpokenUtterance]) -> dict[str, object]:
    return {
        "flow_id": presentation.flow_id,
        "succeeded": presentation.succeeded,
        "interrupted": presentation.interrupted,
        "segments_shown": presentation.shown_count,
        "segments_total": presentation.total,
        "duration_s": round(presentation.duration_s, 2),
        "window_s": presentation.window,
        "tempo": round(presentation.tempo, 3),
        "ended_by_visitor": presentation.ended_by_visitor,
        "spoken": [
            {"text": s.text, "start_s": round(s.start_s, 3), "duration_s": round(s.duration_s, 3)}
            for s in spoken
        ],
        "segments": [
            {
                "segment_id": s.segment_id,
                "status": s.status,
                "reason": s.reason,
                "required": s.required,
                "aside": s.aside,
                "depth": s.depth,
                "note": s.note,
                "violations": s.violations,
                "start_s": round(s.start_s, 2),
                "end_s": round(s.end_s, 2),
                "screens": list(dict.fromkeys(s.screens)),
                "result": s.run.model_dump(mode="json") if s.run else None,
            }
            for s in presentation.segments
        ],
    }
