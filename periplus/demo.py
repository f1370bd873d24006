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
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from agent.errors import AgentError
from agent.events import Event, ScreenSeen
from agent.media.captions import to_srt, to_webvtt
from agent.media.mux import Chapter, mux
from agent.media.recorder import ScreenRecorder
from agent.media.tools import MediaError, MediaToolMissing
from agent.media.voice import SilentVoice, find_voice
from agent.page.errors import PageError
from agent.presenting.narrator import Narrator
from agent.presenting.player import Player
from agent.presenting.records import Presentation, SegmentStatus
from agent.presenting.report import Visit, write_report
from agent.presenting.stage import Stage
from agent.session import Session
from agent.trace import SessionTrace
from kb_schema.presentation import PresentationFlow
from kb_store import load_knowledge, open_stores
from loaders.files import read_knowledge_folder
from periplus.errors import UserError
from periplus.live import LiveView
from periplus.seeds import Seed
from periplus.sites import running_site
from periplus.voyage import VIEWPORT, browser_context, open_session, user_error

LAST_PICTURE_S = 0.6
"""How long the film shows the end."""


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


@dataclass
class DemoResult:
    """What a demo left."""

    presentation: Presentation
    folder: Path
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
        stores = await stack.enter_async_context(open_stores(data_dir))
        await load_knowledge(stores.documents, stores.graph, knowledge)
        browser = await stack.enter_async_context(browser_context(headed=settings.headed))
        session = await stack.enter_async_context(
            open_session(stores, browser, knowledge.website.website_id, base_url=base_url, values=values)
        )
        return await _Show(session, flow, settings, out, console, data_dir).run()


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
    ) -> None:
        self._session, self._flow, self._settings, self._out = session, flow, settings, out
        self._console, self._data_dir = console, data_dir
        self._began = time.monotonic()
        self._recorder: ScreenRecorder | None = None
        self._visits: list[Visit] = []
        self._result = DemoResult(Presentation(flow.flow_id, flow.name), out)
        self._instant = settings.speed == 0
        self._failure: UserError | None = None

    async def run(self) -> DemoResult:
        """Play, then leave everything on disk."""
        self._out.mkdir(parents=True, exist_ok=True)
        session, speed = self._session, self._settings.speed or 1.0
        trace = SessionTrace(
            self._out / "session", website_id=session.website.website_id, context=session.context
        )
        session.bus.listen(trace)
        session.bus.listen(self._note_screen)
        expected = self._flow.duration.estimated
        view = LiveView(
            self._console,
            self._flow.name,
            expected_s=expected / speed if expected and not self._instant else None,
        )
        session.bus.listen(view)
        with tempfile.TemporaryDirectory(prefix="periplus-film-") as scratch:
            film = Path(scratch) / "film.mp4"
            with view:
                narrator = await self._play(film, speed)
            await asyncio.shield(self._finish(film, narrator, trace))
        if self._failure is not None:
            raise self._failure
        return self._result

    async def _play(self, film: Path, speed: float) -> Narrator:
        """The show itself; ended early by Ctrl-C, or by an error that is told once all is on disk."""
        session = self._session
        await self._roll(film)
        stage = Stage(session.page, speed=speed)
        voice = find_voice(
            self._settings.voice and not self._instant, folder=self._data_dir / "voice", speed=speed
        )
        if self._settings.voice and not self._instant and isinstance(voice, SilentVoice):
            self._result.notes.append("no voice: espeak-ng is not installed (apt-get install espeak-ng)")
        narrator = Narrator(
            voice,
            self._clock,
            speed=speed,
            silent=self._instant,
            show=None if self._instant else stage.caption,
        )
        player = Player(
            session,
            narrator,
            clock=self._clock,
            stage=None if self._instant else stage,
            speed=speed,
            instant=self._instant,
        )
        task = asyncio.create_task(player.play(self._flow.flow_id))
        async with _ctrl_c(task.cancel):
            try:
                await task
            except asyncio.CancelledError:
                player.presentation.interrupted = True
            except AgentError as exc:
                self._failure = user_error(exc)
            except (PageError, PlaywrightError) as exc:
                self._failure = UserError(
                    f"the browser went away: {_first_line(exc)}", fix="start the demo again"
                )
            finally:
                stage.close()
                narrator.close()
        presentation = player.presentation
        for segment in presentation.segments:
            segment.end_s = segment.end_s or self._clock()
        presentation.duration_s = self._clock()
        presentation.interrupted = presentation.interrupted or self._failure is not None
        self._result.presentation = presentation
        return narrator

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

    async def _finish(self, film: Path, narrator: Narrator, trace: SessionTrace) -> None:
        session, presentation = self._session, self._result.presentation
        html = None
        with suppress(PageError, PlaywrightError):
            html = (await session.snapshot()).html
        trace.close(html)
        has_film = await self._film(film, narrator)
        self._write("captions.vtt", to_webvtt(narrator.cues()))
        self._write("captions.srt", to_srt(narrator.cues()))
        self._write("result.json", json.dumps(_summary(presentation), indent=2, ensure_ascii=False))
        write_report(
            self._out / "report.html",
            presentation,
            site=await session.knowledge.site_map(),
            visits=self._visits,
            spoken=narrator.spoken,
            film="demo.mp4" if has_film else None,
            made_at=datetime.now().astimezone(),
        )
        self._result.files += ["report.html", "session/"]

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


@asynccontextmanager
async def _ctrl_c(stop: Callable[[], object]) -> AsyncIterator[None]:
    """Ctrl-C and SIGTERM call `stop` once instead of raising; a second Ctrl-C raises."""
    loop = asyncio.get_running_loop()

    def once() -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(name)
        stop()

    installed = True
    try:
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, once)
    except (NotImplementedError, RuntimeError, ValueError):
        installed = False  # not in the main thread: whoever is will cancel us
    try:
        yield
    finally:
        if installed:
            for name in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(name)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


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
