"""Films a demo and assembles the files of the film."""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.browser.browser_profile import VIEWPORT
from agent.media.film_assembly import FilmChapter, join_clips, mux_film
from agent.media.film_stills import GifLimits, make_gif, make_poster
from agent.media.film_zoom import PointedBox, zoom_film
from agent.media.media_tools import MediaError, MediaToolMissing
from agent.media.screen_recorder import ScreenRecorder
from agent.presentation import page_overlay
from agent.presentation.film.clip_store import ClipStore
from agent.presentation.film.film_builder import FilmBuilder, FilmStyle
from agent.presentation.film.film_player import FilmPlayer
from agent.presentation.presentation_records import SegmentRecord, SegmentStatus
from periplus.demos.live_presentation import LivePresentation, LivePresentationSettings

LAST_PICTURE_S = 0.6
"""Seconds of the last picture at the end of the film."""
POSTER_AT = 0.7
"""Position of the poster's frame within its segment, when the content is visible."""


@dataclass(slots=True)
class DemoFilm:
    """The files of a film."""

    files: list[str] = field(default_factory=list)
    """Names in the folder; the film comes first."""
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str | None:
        """Size of the film in pixels, if there is one."""
        return next((name for name in self.files if name == FILM), None)


FILM, SILENT, POSTER, GIF = "demo.mp4", "demo-silent.mp4", "poster.jpg", "demo.gif"


class DemoFilmRecorder:
    """Films one presentation, whose player is a `FilmPlayer`; without ffmpeg there is no film."""

    def __init__(
        self,
        show: LivePresentation,
        settings: LivePresentationSettings,
        scratch: Path,
        clip_store: Path | None,
    ) -> None:
        """`scratch`: folder for new clips. `clip_store`: clips of earlier films; None: everything is filmed in one
        piece and no clip is kept.
        """
        self._show, self._scratch = show, scratch
        # Without speech time, clips would be empty.
        self._clip_store = (
            None if clip_store is None or settings.instant else ClipStore(clip_store / show.flow.flow_id)
        )
        self._style = FilmStyle(VIEWPORT, voice=show.voice_name, drawn=_hash_overlay_script())
        self._film: FilmBuilder | None = None
        self._zoom, self._pointed = settings.zoom, list[PointedBox]()
        self.notes: list[str] = []

    async def start(self) -> None:
        """Start filming, and make the film's clock the clock of the presentation."""
        show = self._show
        film = FilmBuilder(
            show.session,
            show.narrator,
            ScreenRecorder(),
            self._scratch,
            style=self._style,
            clip_store=self._clip_store,
        )
        try:
            await film.start()
        except MediaToolMissing as exc:
            self.notes.append(f"no film: {exc}")
            return
        self._film = film
        show.clock.follow(film.now)
        if self._zoom and show.overlay is not None:
            show.overlay.on_point = lambda box: self._pointed.append(PointedBox(film.now(), **box))
        if isinstance(show.player, FilmPlayer):
            show.player.film = film
        if self._clip_store is not None:
            # Generated names are the same in every film; otherwise clips would not fit together.
            show.session.context.rng = random.Random(show.flow.flow_id)  # noqa: S311 - not used for security

    @property
    def stale(self) -> list[str]:
        """Segments whose page differed from their clips; these clips are deleted."""
        return [] if self._film is None else self._film.stale

    @property
    def taken(self) -> list[str]:
        """Segments whose clips were reused."""
        return [] if self._film is None else self._film.taken

    async def linger(self) -> None:
        """Film the last picture for a moment at the end."""
        if self._film is not None:
            await asyncio.sleep(LAST_PICTURE_S)
            if isinstance(self._show.player, FilmPlayer):
                await self._show.player.wrap_up()

    async def finish(self, out: Path, segments: Sequence[SegmentRecord], *, gif: bool = False) -> DemoFilm:
        """Assemble video, speech, captions and chapters in `out`. Failures become notes."""
        made = DemoFilm(notes=list(self.notes))
        if self._film is None:
            return made
        if self._show.session.context.personal:
            await self.close()
            made.notes.append("no film is kept, because it would contain a visitor's words")
            return made
        narrator = self._show.narrator
        joined = self._scratch / "joined.mp4"
        try:
            await join_clips(await self._film.finish(), joined)
            if self._zoom:
                cues, fps = narrator.cues(), self._style.fps
                joined = await zoom_film(joined, self._scratch / "zoomed.mp4", self._pointed, cues, fps=fps)
            await mux_film(
                joined,
                out / FILM,
                utterances=narrator.utterances(),
                cues=narrator.cues(),
                chapters=_chapters(segments),
                title=self._show.flow.name,
            )
            made.files.append(FILM)
            await make_poster(out / FILM, _poster_at(segments), out / POSTER)
            made.files.append(POSTER)
            if gif:
                await make_gif(out / FILM, out / GIF, GifLimits())
                made.files.append(GIF)
        except (MediaError, OSError) as exc:
            made.notes.append(f"could not finish the film: {exc}")
            if FILM not in made.files and await asyncio.to_thread(
                _copy_longest_piece, self._scratch, out / SILENT
            ):
                made.files.append(SILENT)
        return made

    async def close(self) -> None:
        """Stop filming. May be called again."""
        if self._film is not None:
            await self._film.close()


def _chapters(segments: Sequence[SegmentRecord]) -> list[FilmChapter]:
    return [FilmChapter(s.start_s, s.title) for s in segments if s.status is not SegmentStatus.SKIPPED]


def _poster_at(segments: Sequence[SegmentRecord]) -> float:
    """Return the second of the film for the poster: late in the first segment with a task, otherwise in the
    first one shown.
    """
    shown = [s for s in segments if s.status is SegmentStatus.SHOWN and s.end_s > s.start_s]
    best = next((s for kind in ("explanation", "task_execution") for s in shown if s.type == kind), None)
    best = best or next(iter(shown), None)
    return 0.0 if best is None else best.start_s + POSTER_AT * (best.end_s - best.start_s)


def _copy_longest_piece(scratch: Path, target: Path) -> bool:
    """Copy the longest clip, if there is any."""
    takes = sorted(scratch.glob("take-*.mp4"), key=lambda take: take.stat().st_size)
    if not takes or takes[-1].stat().st_size == 0:
        return False
    shutil.copyfile(takes[-1], target)
    return True


def _hash_overlay_script() -> str:
    """Return a hash of the script that draws over the page."""
    source = Path(page_overlay.__file__).with_suffix(".js").read_bytes()
    return hashlib.sha256(source).hexdigest()[:12]
