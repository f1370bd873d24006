"""A show on film: from the first picture to the files that are left of it."""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.media.joining import join
from agent.media.mux import Chapter, mux
from agent.media.recorder import ScreenRecorder
from agent.media.stills import GifLimits, make_gif, make_poster
from agent.media.tools import MediaError, MediaToolMissing
from agent.presenting import stage
from agent.presenting.film.clips import ClipShelf
from agent.presenting.film.player import FilmPlayer
from agent.presenting.film.reel import Manner, Reel
from agent.presenting.records import SegmentRecord, SegmentStatus
from periplus.presenting.show import Show, ShowSettings
from periplus.voyage import VIEWPORT

LAST_PICTURE_S = 0.6
"""How long the film shows the end: one that ends with its last word feels cut off."""
POSTER_AT = 0.7
"""Of the segment that the poster is of: by then it shows what it is about."""


@dataclass(slots=True)
class Filmed:
    """What there is of a film."""

    files: list[str] = field(default_factory=list)
    """Names in the folder, the film itself first."""
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str | None:
        """Of the film, where there is one."""
        return next((name for name in self.files if name == FILM), None)


FILM, SILENT, POSTER, GIF = "demo.mp4", "demo-silent.mp4", "poster.jpg", "demo.gif"


class Filming:
    """Films one show, whose player is a `FilmPlayer`; without ffmpeg the show goes on without a film."""

    def __init__(self, show: Show, settings: ShowSettings, scratch: Path, shelf: Path | None) -> None:
        """`scratch`: for what is filmed now. `shelf`: where clips of earlier films are; None: all is filmed
        from start to end, and nothing is kept for another time.
        """
        self._show, self._scratch = show, scratch
        # Words that take no time would make clips without any.
        self._shelf = None if shelf is None or settings.instant else ClipShelf(shelf / show.flow.flow_id)
        self._manner = Manner(VIEWPORT, voice=show.voice_name, drawn=_drawn())
        self._reel: Reel | None = None
        self.notes: list[str] = []

    async def start(self) -> None:
        """From now on, the show's clock is the film's."""
        show = self._show
        reel = Reel(
            show.session,
            show.narrator,
            ScreenRecorder(),
            self._scratch,
            manner=self._manner,
            shelf=self._shelf,
        )
        try:
            await reel.start()
        except MediaToolMissing as exc:
            self.notes.append(f"no film: {exc}")
            return
        self._reel = reel
        show.clock.follow(reel.now)
        if isinstance(show.player, FilmPlayer):
            show.player.reel = reel
        if self._shelf is not None:
            # Names that are made up are the same in every film: else clips would not fit together.
            show.session.context.rng = random.Random(show.flow.flow_id)  # noqa: S311 - no secret

    @property
    def stale(self) -> list[str]:
        """Segments that came out otherwise than the clips of them, which are gone now."""
        return [] if self._reel is None else self._reel.stale

    @property
    def taken(self) -> list[str]:
        """Segments that were not filmed again."""
        return [] if self._reel is None else self._reel.taken

    async def linger(self) -> None:
        """The show has ended well: its last picture stays for a moment."""
        if self._reel is not None:
            await asyncio.sleep(LAST_PICTURE_S)
            if isinstance(self._show.player, FilmPlayer):
                await self._show.player.wrap_up()

    async def finish(self, out: Path, segments: Sequence[SegmentRecord], *, gif: bool = False) -> Filmed:
        """Put picture, voice, captions and chapters together in `out`. Whatever goes wrong is a note."""
        made = Filmed(notes=list(self.notes))
        if self._reel is None:
            return made
        if self._show.session.context.personal:
            await self.close()
            made.notes.append("no film is kept: it would have what a visitor said in picture and sound")
            return made
        narrator = self._show.narrator
        joined = self._scratch / "joined.mp4"
        try:
            await join(await self._reel.finish(), joined)
            await mux(
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
            made.notes.append(f"the film could not be finished: {exc}")
            if FILM not in made.files and await asyncio.to_thread(_kept, self._scratch, out / SILENT):
                made.files.append(SILENT)
        return made

    async def close(self) -> None:
        """Film no more. May be called again."""
        if self._reel is not None:
            await self._reel.close()


def _chapters(segments: Sequence[SegmentRecord]) -> list[Chapter]:
    return [Chapter(s.start_s, s.title) for s in segments if s.status is not SegmentStatus.SKIPPED]


def _poster_at(segments: Sequence[SegmentRecord]) -> float:
    """Late in the first segment that shows work, else in the first that was shown; seconds of film."""
    shown = [s for s in segments if s.status is SegmentStatus.SHOWN and s.end_s > s.start_s]
    best = next((s for kind in ("explanation", "task_execution") for s in shown if s.type == kind), None)
    best = best or next(iter(shown), None)
    return 0.0 if best is None else best.start_s + POSTER_AT * (best.end_s - best.start_s)


def _kept(scratch: Path, target: Path) -> bool:
    """Copy the longest piece of what was filmed, where anything was."""
    takes = sorted(scratch.glob("take-*.mp4"), key=lambda take: take.stat().st_size)
    if not takes or takes[-1].stat().st_size == 0:
        return False
    shutil.copyfile(takes[-1], target)
    return True


def _drawn() -> str:
    """What draws into the picture, as a hash."""
    source = Path(stage.__file__).with_suffix(".js").read_bytes()
    return hashlib.sha256(source).hexdigest()[:12]
