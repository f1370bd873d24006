"""The film of one show while it is made: what has been filmed of it, and what is taken from the shelf."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.media.recorder import Recording, ScreenRecorder
from agent.media.tools import MediaError
from agent.presenting.film.clips import Clip, ClipShelf
from agent.presenting.film.keys import key_of, needs_of, still_so
from agent.presenting.film.looks import look_of
from agent.presenting.narrator import Narrator, Spoken
from agent.session import Session
from kb_schema.base import Document
from kb_schema.presentation import PresentationFlow, Segment

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Take:
    """One segment of the film."""

    segment: Segment
    key: str
    start_s: float
    """Second of the film."""
    clip: Clip | None = None
    """From the shelf; None: it is being filmed."""
    said_before: int = 0
    """Utterances of the show when it began."""
    read: dict[tuple[str, str], Document] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manner:
    """How the film is made; another manner makes other clips."""

    size: tuple[int, int]
    fps: int = 25
    voice: str = ""
    """Which one speaks, in which language, how fast."""
    drawn: str = ""
    """What is drawn around the page: a hash."""

    def told(self) -> dict[str, Any]:
        """As part of a key."""
        return {"size": list(self.size), "fps": self.fps, "voice": self.voice, "drawn": self.drawn}


class Reel:
    """Films one session's page in clips, or once from start to end where there is no shelf.

    The show's clock is `now`: it stands still where nothing is filmed, and goes on by the length of a clip
    that is taken from the shelf.
    """

    def __init__(
        self,
        session: Session,
        narrator: Narrator,
        recorder: ScreenRecorder,
        folder: Path,
        *,
        manner: Manner,
        shelf: ClipShelf | None = None,
    ) -> None:
        """`folder`: for what is filmed now. `shelf` None: everything is filmed, and nothing kept."""
        self._session, self._narrator, self._recorder = session, narrator, recorder
        self._folder, self._manner, self._shelf = folder, manner, shelf
        self._take: Take | None = None
        self._number = 0
        self.clips: list[Recording] = []
        """The film by now."""
        self.taken: list[str] = []
        """Segments that were not filmed again."""
        self.stale: list[str] = []
        """Of those, the ones that turned out to be others than the clip shows: they are to be filmed anew."""

        self._of_no_use: list[Take] = []
        self.broken: MediaError | None = None
        """Why there is no film from here on; the show goes on without."""
        self._broke_at = (0.0, 0.0)

    def now(self) -> float:
        """Seconds of film; of the show, where the film broke off."""
        if self.broken is None:
            return self._recorder.now()
        film_s, then = self._broke_at
        return film_s + time.monotonic() - then

    async def start(self) -> None:
        """Begin. Raises `MediaToolMissing` where nothing can be filmed."""
        first = None if self._shelf is not None else self._file()
        await self._recorder.start(self._session.page, first, size=self._manner.size, fps=self._manner.fps)

    async def begin(self, flow: PresentationFlow, segment: Segment, values: Mapping[str, Any]) -> bool:
        """A segment is about to be told; whether nobody will see it, since the clip of it is still good.

        Whatever came before is ended with `end`.
        """
        if self._shelf is None or self.broken is not None:
            return False
        look = await self._look()
        key = key_of(flow, segment, manner=self._manner.told(), look=look, values=self._plain(values))
        clip = await asyncio.to_thread(self._shelf.find, segment.segment_id, key) if look else None
        if clip is not None and not await still_so(clip.record.needs, self._session.knowledge):
            clip = None
        take = self._take = Take(segment, key, self.now(), clip, len(self._narrator.spoken))
        if clip is None:
            await self._cut(self._file())
            self._session.knowledge.on_read = lambda read: take.read.update(
                {(read.kind, read.local_id): read}
            )
            return False
        self._recorder.lay(clip.recording.duration_s)
        self._narrator.spoken += clip.spoken(take.start_s)
        self.clips.append(clip.recording)
        self.taken.append(segment.segment_id)
        return True

    async def end(self, *, shown: bool, said: Collection[str]) -> None:
        """The segment that was begun last is over, and so is what leads to the next one.

        `shown`: it came out well. `said`: the words of a segment that nobody saw.
        """
        take, self._take = self._take, None
        if take is None or self._shelf is None:
            return
        self._session.knowledge.on_read = None
        if take.clip is not None:
            # Only words: what fills a silence or bridges a wait is said where time passes, on film.
            same = shown and set(said) <= {each.text for each in take.clip.record.speech}
            if not same or await self._look() != take.clip.record.ends_as:
                self.stale.append(take.segment.segment_id)
                self._of_no_use.append(take)
            return
        await self._narrator.finished()
        recording = await self._cut(None)
        if recording is not None and shown:
            await self._keep(self._shelf, take, recording)

    async def _cut(self, path: Path | None) -> Recording | None:
        """Where the film breaks off, the show goes on."""
        film_s = self.now()
        try:
            recording = await self._recorder.cut(path)
        except MediaError as exc:
            self.broken, self._broke_at = self.broken or exc, (film_s, time.monotonic())
            return None
        if recording is not None:
            self.clips.append(recording)
        return recording

    async def _keep(self, shelf: ClipShelf, take: Take, recording: Recording) -> None:
        spoken = [
            _at(each, each.start_s - take.start_s) for each in self._narrator.spoken[take.said_before :]
        ]
        own = self._session.context.personal.redact
        if any(each.stop_s is not None or own(each.text) != each.text for each in spoken):
            return  # a visitor was part of it: no other show goes like this, and it is nobody else's business
        known = {"needs": needs_of(take.read.values()), "ends_as": await self._look()}
        try:
            await asyncio.to_thread(shelf.keep, take.segment.segment_id, take.key, recording, spoken, **known)
        except OSError as exc:
            LOG.warning("the clip of %s is not kept: %s", take.segment.segment_id, exc)

    async def finish(self) -> list[Recording]:
        """End the film where it is; its clips in order. Raises `MediaError` where it broke off: `clips` has
        what came before.
        """
        self._session.knowledge.on_read = None
        self._take = None
        await self._cut(None)
        if self.broken is not None:
            raise self.broken
        return self.clips

    async def close(self) -> None:
        """Film no more, and let go of clips that are out of date: until now the film needed them. May be
        called again.
        """
        while self._shelf is not None and self._of_no_use:
            take = self._of_no_use.pop()
            self._shelf.drop(take.segment.segment_id, take.key)
        try:
            await self._recorder.stop()
        except MediaError as exc:
            LOG.debug("the film was over already: %s", exc)

    def _file(self) -> Path:
        self._number += 1
        return self._folder / f"take-{self._number}.mp4"

    def _plain(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Without secrets, and without what differs from show to show by itself."""
        own = {"run_id", "now", "today", "base_url", "current_url"}
        return {name: self._session.context.redact(each) for name, each in values.items() if name not in own}

    async def _look(self) -> str:
        brought = [str(each) for each in self._session.context.session.values() if isinstance(each, str)]
        return await look_of(self._session.page, brought)


def _at(spoken: Spoken, start_s: float) -> Spoken:
    return Spoken(spoken.text, start_s, spoken.duration_s, spoken.speech, spoken.stop_s)
