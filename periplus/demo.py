"""Running a demo: the site, the knowledge, the browser, the film, and what is left on disk.

Whatever ends it - the last segment, Ctrl-C, an error - what there is by then is finished and kept.
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
from agent.media.captions import to_srt, to_webvtt
from agent.page.errors import PageError
from agent.presenting.narrator import Spoken
from agent.presenting.records import Presentation
from agent.presenting.report import Visit, write_report
from agent.run_log import ending_of_presentation
from agent.trace import SessionTrace
from kb_schema.answers import SiteMap
from periplus.failures import for_a_person
from periplus.live import LiveView
from periplus.logbook import end_record
from periplus.outputs import SESSION
from periplus.presenting.filming import Filming
from periplus.presenting.show import Show, ShowSettings, open_show
from periplus.presenting.venue import VenueSettings, open_venue
from periplus.seeds import Seed
from periplus.signals import on_signals

PASSES = 3
"""How often a demo is shown where a film that was put together from earlier ones turned out not to fit."""

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
"""What a demo leaves, beside the session's trace, and what it is recorded as."""


@dataclass(frozen=True)
class DemoSettings:
    """What the command line says."""

    flow: str | None = None
    speed: float = 1.0
    """0: as fast as it goes, without words taking time."""
    headed: bool | None = None
    voice: bool = True
    base_url: str | None = None
    """Of a site that already runs; None: the seed's own is started."""
    mongodb_url: str | None = field(default=None, repr=False)
    """Where its knowledge is kept; None: in the data directory, whatever the environment says."""
    arangodb_url: str | None = field(default=None, repr=False)
    language: str | None = None
    """Of narration and voice; None: the flow's own."""
    speaker: str | None = None
    """The voice, as espeak-ng names it; None: the flow's own for that language."""
    window_s: float | None = None
    """Seconds it is to take; None: the flow's own window."""
    gif: bool = False
    """Whether the film is made into an animated GIF, too."""
    afresh: bool = False
    """Film everything, whatever has been filmed before."""


@dataclass
class DemoResult:
    """What a demo left."""

    presentation: Presentation
    folder: Path
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Segments whose film was there already."""
    stale: list[str] = field(default_factory=list)
    """Of those, the ones that came out otherwise than on film."""
    run_id: str = ""
    """Under which `periplus runs show` has it."""


async def run_demo(
    seed: Seed, settings: DemoSettings, *, data_dir: Path, out: Path, console: Console
) -> DemoResult:
    """Run a seed's flow from start to end. Raises `UserError` for what a person can put right."""
    place = VenueSettings(
        data_dir, settings.base_url, settings.mongodb_url, settings.arangodb_url, settings.headed
    )
    told = ShowSettings(
        speed=settings.speed,
        voice=settings.voice,
        language=settings.language,
        speaker=settings.speaker,
        window_s=settings.window_s,
        filmed=True,
    )
    passes = 1
    while True:
        async with (
            open_venue(seed, place, flow=settings.flow, tell=console.print) as venue,
            open_show(venue, told) as show,
        ):
            shelf = None if settings.afresh else data_dir / "film" / venue.website_id
            result = await _Demo(show, told, out, console, shelf, gif=settings.gif).run()
        changed = ", ".join(result.stale)
        if not changed or result.presentation.interrupted:
            return result
        if passes == PASSES or settings.base_url is not None:  # a site of others stays as the demo left it
            result.notes.append(f"{changed}: the film shows how it was before; another demo films it anew")
            return result
        console.print(f"not as it was filmed before: {changed}; once more, from the start", style="yellow")
        await asyncio.to_thread(shutil.rmtree, out / SESSION)  # of a show that nobody will see
        passes += 1


class _Demo:
    """One show, filmed."""

    def __init__(
        self,
        show: Show,
        settings: ShowSettings,
        out: Path,
        console: Console,
        shelf: Path | None,
        *,
        gif: bool,
    ) -> None:
        """`shelf`: where clips of earlier films are."""
        self._show, self._settings, self._out, self._console = show, settings, out, console
        self._session, self._flow, self._shelf, self._gif = show.session, show.flow, shelf, gif
        self._visits: list[Visit] = []
        self._result = DemoResult(show.presentation, out, notes=list(show.notes))
        self._failure: Exception | None = None

    async def run(self) -> DemoResult:
        """Play, then leave everything on disk."""
        session, speed = self._session, self._settings.pace
        try:
            site = await session.knowledge.site_map()  # now: later nobody may be there to ask
        except AgentError as exc:
            raise for_a_person(exc, session.context) from exc
        trace = SessionTrace(
            self._out / SESSION, website_id=session.website.website_id, context=session.context
        )
        session.bus.listen(trace, pages=True)
        session.bus.listen(self._note_screen)
        expected = self._flow.duration.estimated
        view = LiveView(
            self._console,
            self._flow.name,
            expected_s=expected / speed if expected and not self._settings.instant else None,
        )
        session.bus.listen(view)
        interrupt = _Interrupt(self._console)
        with (
            tempfile.TemporaryDirectory(prefix="periplus-film-") as scratch,
            on_signals(interrupt, signal.SIGINT, signal.SIGTERM),
        ):
            filming = Filming(self._show, self._settings, Path(scratch), self._shelf)
            try:
                with view:
                    await self._play(filming, interrupt)
                await self._finish(filming, trace, site)
            finally:
                await filming.close()
        if self._failure is not None:
            raise self._failure
        return self._result

    async def _play(self, filming: Filming, interrupt: _Interrupt) -> None:
        """The show itself; ended early by Ctrl-C, or by an error that is told once all is on disk."""
        show, ended_early = self._show, False
        try:
            await filming.start()
            await interrupt.watch(show.play())
            await filming.linger()
        except asyncio.CancelledError:
            ended_early = True
        except Exception as exc:  # noqa: BLE001 - the show's boundary: kept, and raised after `_finish`
            self._failure = for_a_person(exc, show.session.context)
        finally:
            interrupt.over = True
            show.close()
        self._result.presentation = show.presentation
        self._result.presentation.interrupted = ended_early or self._failure is not None
        self._result.presentation.end(show.clock())

    def _note_screen(self, event: Event) -> None:
        if isinstance(event, ScreenSeen):
            self._visits.append(Visit(self._show.clock(), event.screen_id, event.name, event.confidence))

    # -- what is left --------------------------------------------------------------------------------

    async def _finish(self, filming: Filming, trace: SessionTrace, site: SiteMap) -> None:
        """Everything onto disk, the film last: it takes longest, and whatever becomes of it the rest
        is there.
        """
        presentation, narrator = self._result.presentation, self._show.narrator
        html = None
        with suppress(PageError, PlaywrightError):
            html = (await self._session.snapshot()).html
        trace.close(html, complete=not presentation.interrupted)
        cues = narrator.cues(leave_out=self._session.context.personal.within)
        self._write("captions.vtt", to_webvtt(cues))
        self._write("captions.srt", to_srt(cues))
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
        ending = ending_of_presentation(presentation)
        if self._failure is not None:
            ending = ending.model_copy(update={"error": self._session.context.redact(str(self._failure))})
        note = await end_record(self._show.log, ending, files)
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


class _Interrupt:
    """Ctrl-C and SIGTERM: the first ends the show; whatever comes later hears that it is finishing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._show: asyncio.Task[object] | None = None
        self._arrived = self._told = False
        self.over = False
        """The show has ended: nothing is left to interrupt."""

    def __call__(self) -> None:
        """A signal arrived."""
        if not (self._arrived or self.over):
            self._arrived = True
            if self._show is not None:
                self._show.cancel()
        elif not self._told:
            self._told = True
            self._console.print("finishing: what there is so far is being written", style="yellow")

    async def watch(self, show: Coroutine[Any, Any, object]) -> None:
        """Run the show to its end. Raises `CancelledError` where it was interrupted."""
        self._show = asyncio.create_task(show)
        if self._arrived:
            self._show.cancel()
        await self._show


def _summary(presentation: Presentation, spoken: Sequence[Spoken]) -> dict[str, object]:
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
