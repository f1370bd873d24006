"""Running a demo: the site, the knowledge, the browser, the film, and what is left on disk.

Whatever ends it - the last segment, Ctrl-C, an error - what there is by then is finished and kept.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import tempfile
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from agent.errors import AgentError
from agent.events import Event, ScreenSeen
from agent.media.captions import to_srt, to_webvtt
from agent.media.mux import Chapter, mux
from agent.media.recorder import ScreenRecorder
from agent.media.tools import MediaError, MediaToolMissing
from agent.media.veil import Veil
from agent.media.voice import SilentVoice, find_voice
from agent.page.errors import PageError
from agent.presenting.narrator import Narrator
from agent.presenting.player import Player
from agent.presenting.records import Presentation, SegmentStatus
from agent.presenting.report import Visit, write_report
from agent.presenting.stage import Stage
from agent.run_log import RunLog, ending_of_presentation
from agent.session import Session
from agent.trace import SessionTrace
from kb_schema.answers import SiteMap
from kb_schema.presentation import PresentationFlow
from kb_store import load_knowledge, open_stores
from kb_store.changing import Keeping, LearnedWouldBeLost
from loaders.files import read_knowledge_folder
from periplus.errors import UserError
from periplus.failures import for_a_person
from periplus.live import LiveView
from periplus.logbook import end_record, open_logbook, recorded
from periplus.outputs import SESSION
from periplus.seeds import Seed
from periplus.signals import on_signals
from periplus.sites import running_site
from periplus.voyage import VIEWPORT, browser_context, open_session

LAST_PICTURE_S = 0.6
"""How long the film shows the end."""

_KINDS = {
    "demo.mp4": "film",
    "demo-silent.mp4": "film",
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


@dataclass
class DemoResult:
    """What a demo left."""

    presentation: Presentation
    folder: Path
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    run_id: str = ""
    """Under which `periplus runs show` has it."""


async def run_demo(
    seed: Seed, settings: DemoSettings, *, data_dir: Path, out: Path, console: Console
) -> DemoResult:
    """Run a seed's flow from start to end. Raises `UserError` for what a person can put right."""
    knowledge, _ = await asyncio.to_thread(read_knowledge_folder, seed.knowledge_folder)
    flow = _flow(seed, settings.flow, knowledge.flows)
    values = dict(seed.context)
    if seed.files:
        values["files"] = str(seed.folder / seed.files)
    async with AsyncExitStack() as stack:
        base_url = settings.base_url or await stack.enter_async_context(running_site(seed))
        stores = await stack.enter_async_context(
            open_stores(data_dir, mongodb_url=settings.mongodb_url, arangodb_url=settings.arangodb_url)
        )
        try:
            keeping = Keeping(stores.proposals, knowledge)
            await load_knowledge(stores.documents, stores.graph, knowledge, check=keeping)
        except LearnedWouldBeLost as exc:
            console.print(f"the store's own knowledge is used: it has {len(exc.lost)} accepted changes more")
        browser = await stack.enter_async_context(browser_context(headed=settings.headed))
        runs = await stack.enter_async_context(open_logbook(settings.mongodb_url, data_dir=data_dir))
        website_id = knowledge.website.website_id
        session = await stack.enter_async_context(
            open_session(stores, browser, website_id, base_url=base_url, values=values, runs=runs)
        )
        log = await stack.enter_async_context(
            recorded(nullcontext(runs), session, kind="demo", subject=flow.flow_id)
        )
        return await _Show(session, flow, settings, out, console, data_dir, log).run()


class _Show:
    """One run of one flow."""

    def __init__(
        self,
        session: Session,
        flow: PresentationFlow,
        settings: DemoSettings,
        out: Path,
        console: Console,
        data_dir: Path,
        log: RunLog,
    ) -> None:
        self._session, self._flow, self._settings, self._out = session, flow, settings, out
        self._console, self._data_dir, self._log = console, data_dir, log
        self._began = time.monotonic()
        self._recorder: ScreenRecorder | None = None
        self._narrator: Narrator | None = None
        self._visits: list[Visit] = []
        self._result = DemoResult(Presentation(flow.flow_id, flow.name, len(flow.segments)), out)
        self._instant = settings.speed == 0
        self._failure: Exception | None = None

    async def run(self) -> DemoResult:
        """Play, then leave everything on disk."""
        session, speed = self._session, self._settings.speed or 1.0
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
            expected_s=expected / speed if expected and not self._instant else None,
        )
        session.bus.listen(view)
        interrupt = _Interrupt(self._console)
        with (
            tempfile.TemporaryDirectory(prefix="periplus-film-") as scratch,
            on_signals(interrupt, signal.SIGINT, signal.SIGTERM),
        ):
            film = Path(scratch) / "film.mp4"
            with view:
                await self._play(film, speed, interrupt)
            await self._finish(film, trace, site)
        if self._failure is not None:
            raise self._failure
        return self._result

    async def _play(self, film: Path, speed: float, interrupt: _Interrupt) -> None:
        """The show itself; ended early by Ctrl-C, or by an error that is told once all is on disk."""
        session, stage, player = self._session, None, None
        try:
            session.veil = Veil(session.page, session.context.secrets)
            await self._roll(film)
            stage = None if self._instant else Stage(session.page, speed=speed)
            self._narrator = self._narrate(stage, speed)
            player = Player(
                session,
                self._narrator,
                clock=self._clock,
                stage=stage,
                speed=speed,
                instant=self._instant,
            )
            await interrupt.watch(player.play(self._flow.flow_id))
        except asyncio.CancelledError:
            self._result.presentation.interrupted = True
        except Exception as exc:  # noqa: BLE001 - the show's boundary: kept, and raised after `_finish`
            self._failure = for_a_person(exc, session.context)
        finally:
            interrupt.over = True
            if stage is not None:
                stage.close()
            if self._narrator is not None:
                self._narrator.close()
        ended_early = self._result.presentation.interrupted or self._failure is not None
        if player is not None and player.presentation.flow_id:
            self._result.presentation = player.presentation
        self._result.presentation.interrupted = ended_early
        self._result.presentation.end(self._clock())

    def _narrate(self, stage: Stage | None, speed: float) -> Narrator:
        wanted = self._settings.voice and not self._instant
        voice = find_voice(wanted, folder=self._data_dir / "voice", speed=speed)
        if wanted and isinstance(voice, SilentVoice):
            self._result.notes.append("no voice: espeak-ng is not installed (apt-get install espeak-ng)")
        return Narrator(
            voice,
            self._clock,
            speed=speed,
            silent=self._instant,
            show=None if stage is None else stage.caption,
        )

    async def _roll(self, film: Path) -> None:
        """Start filming; without ffmpeg the show goes on without a film."""
        recorder = ScreenRecorder()
        try:
            await recorder.start(self._session.page, film, size=VIEWPORT)
        except MediaToolMissing as exc:
            self._result.notes.append(f"no film: {exc}")
            return
        self._recorder = recorder

    def _clock(self) -> float:
        return self._recorder.now() if self._recorder is not None else time.monotonic() - self._began

    def _note_screen(self, event: Event) -> None:
        if isinstance(event, ScreenSeen):
            self._visits.append(Visit(self._clock(), event.screen_id, event.name, event.confidence))

    # -- what is left --------------------------------------------------------------------------------

    async def _finish(self, film: Path, trace: SessionTrace, site: SiteMap) -> None:
        """Everything onto disk, the film last: it takes longest, and whatever becomes of it the rest
        is there.
        """
        presentation, narrator = self._result.presentation, self._narrator
        html = None
        with suppress(PageError, PlaywrightError):
            html = (await self._session.snapshot()).html
        trace.close(html, complete=not presentation.interrupted)
        cues = narrator.cues() if narrator is not None else []
        self._write("captions.vtt", to_webvtt(cues))
        self._write("captions.srt", to_srt(cues))
        self._write("result.json", json.dumps(_summary(presentation), indent=2, ensure_ascii=False))
        self._report(site, film=None)
        self._result.files += ["report.html", f"{SESSION}/"]
        if narrator is not None and await self._film(film, narrator):
            self._report(site, film="demo.mp4")
        self._result.run_id = self._log.run_id
        files = {name: (_KINDS.get(name, "trace"), self._out / name) for name in self._result.files}
        ending = ending_of_presentation(presentation)
        if self._failure is not None:
            ending = ending.model_copy(update={"error": self._session.context.redact(str(self._failure))})
        note = await end_record(self._log, ending, files)
        self._result.notes += [note] if note else []

    def _report(self, site: SiteMap, *, film: str | None) -> None:
        write_report(
            self._out / "report.html",
            self._result.presentation,
            site=site,
            visits=self._visits,
            spoken=self._narrator.spoken if self._narrator is not None else [],
            film=film,
            made_at=datetime.now().astimezone(),
        )

    async def _film(self, film: Path, narrator: Narrator) -> bool:
        """Finish the film and put voice, captions and chapters to it."""
        if self._recorder is None:
            return False
        if not self._result.presentation.interrupted:
            await asyncio.sleep(LAST_PICTURE_S)  # a film that ends with its last word feels cut off
        chapters = [
            Chapter(s.start_s, s.title)
            for s in self._result.presentation.segments
            if s.status is not SegmentStatus.SKIPPED
        ]
        try:
            await self._recorder.stop()
            await mux(
                film,
                self._out / "demo.mp4",
                utterances=narrator.utterances(),
                cues=narrator.cues(),
                chapters=chapters,
                title=self._flow.name,
            )
        except MediaError as exc:
            self._result.notes.append(f"the film could not be finished: {exc}")
            if _kept(film, self._out / "demo-silent.mp4"):
                self._result.files.append("demo-silent.mp4")
            return False
        self._result.files.insert(0, "demo.mp4")
        return True

    def _write(self, name: str, text: str) -> None:
        (self._out / name).write_text(text, encoding="utf-8")
        self._result.files.append(name)


def _kept(film: Path, target: Path) -> bool:
    """Copy what was filmed, where anything was."""
    if not film.is_file() or film.stat().st_size == 0:
        return False
    shutil.copyfile(film, target)
    return True


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


def _flow(seed: Seed, wanted: str | None, flows: dict[str, PresentationFlow]) -> PresentationFlow:
    name = wanted or seed.default_flow or next(iter(sorted(flows)), None)
    if name is None or name not in flows:
        known = ", ".join(sorted(flows)) or "none"
        raise UserError(f"the demo {seed.name!r} has no flow {name!r}", fix=f"--flow with one of: {known}")
    return flows[name]


def _summary(presentation: Presentation) -> dict[str, object]:
    return {
        "flow_id": presentation.flow_id,
        "succeeded": presentation.succeeded,
        "interrupted": presentation.interrupted,
        "segments_shown": presentation.shown_count,
        "segments_total": presentation.total,
        "duration_s": round(presentation.duration_s, 2),
        "segments": [
            {
                "segment_id": s.segment_id,
                "status": s.status,
                "reason": s.reason,
                "required": s.required,
                "start_s": round(s.start_s, 2),
                "end_s": round(s.end_s, 2),
                "screens": list(dict.fromkeys(s.screens)),
                "result": s.run.model_dump(mode="json") if s.run else None,
            }
            for s in presentation.segments
        ],
    }
